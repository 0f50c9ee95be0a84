// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceCheckBits
import FoundationEssentials

/// The environment that a call belongs to: production at the root of the address, development below `/development`.
enum SimulatedEnvironment: String, Sendable, Codable, Hashable {
    case production
    case development
}

/// Keeps the two bits of each device for each team, as DeviceCheck does: they survive reinstall and erase.
struct BitStore: Sendable {
    private struct Owner: Hashable {
        let team: String
        let device: String
        let environment: SimulatedEnvironment
    }

    private var states: [Owner: DeviceBitState] = [:]

    func state(team: String, device: String, _ environment: SimulatedEnvironment) -> DeviceBitState {
        states[Owner(team: team, device: device, environment: environment)] ?? .neverSet
    }

    /// Writes the bits that are given and keeps the others.
    mutating func write(
        bit0: Bool?, bit1: Bool?, team: String, device: String, _ environment: SimulatedEnvironment, at instant: Date
    ) {
        let owner = Owner(team: team, device: device, environment: environment)
        var bits = states[owner]?.bits ?? .clear
        bits.bit0 = bit0 ?? bits.bit0
        bits.bit1 = bit1 ?? bits.bit1
        states[owner] = .set(bits, lastUpdate: YearMonth(containing: instant))
    }
}

/// A request to DeviceCheck, read from JSON in the order in which Apple complains.
struct BitRequest: Sendable {
    let deviceToken: String
    let bit0: Bool?
    let bit1: Bool?

    /// Why a body is not a request: Apple's text, always with status 400.
    struct Complaint: Error {
        let text: String
    }

    /// - Parameter wall: The time that a timestamp must be near: an hour to either side.
    init(_ body: [UInt8], call: Call, wall: Date) throws {
        guard let object = try? JSONDecoder().decode([String: Member].self, from: Data(body)) else {
            throw Complaint(text: "Missing or badly formatted payload")
        }
        guard case .text(let token)? = object["device_token"], !token.isEmpty else {
            throw Complaint(text: "Missing or badly formatted device token")
        }
        guard case .text(let transaction)? = object["transaction_id"], !transaction.isEmpty else {
            throw Complaint(text: "Missing or badly formatted transaction id")
        }
        guard case .number(let milliseconds)? = object["timestamp"],
            abs(milliseconds / 1000 - wall.timeIntervalSince1970) <= 3600
        else { throw Complaint(text: "Missing or badly formatted timestamp") }
        deviceToken = token
        guard call == .update else {
            bit0 = nil
            bit1 = nil
            return
        }
        bit0 = try BitRequest.bit(object["bit0"])
        bit1 = try BitRequest.bit(object["bit1"])
        if bit0 == nil, bit1 == nil { throw Complaint(text: "Missing or badly formatted bits") }
    }

    private static func bit(_ member: Member?) throws -> Bool? {
        switch member {
        case nil: return nil
        case .flag(let flag): return flag
        default: throw Complaint(text: "Missing or badly formatted bits")
        }
    }

    private enum Member: Decodable {
        case flag(Bool)
        case number(Double)
        case text(String)
        case other

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let flag = try? container.decode(Bool.self) {
                self = .flag(flag)
            } else if let number = try? container.decode(Double.self) {
                self = .number(number)
            } else if let text = try? container.decode(String.self) {
                self = .text(text)
            } else {
                self = .other
            }
        }
    }
}
