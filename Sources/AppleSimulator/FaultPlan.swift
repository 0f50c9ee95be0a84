// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// One of the calls of Apple's side that can be slowed, throttled and broken.
enum Call: String, Sendable, CaseIterable, Codable, CodingKey, CodingKeyRepresentable {
    case attestationData
    case query = "query_two_bits"
    case update = "update_two_bits"
    case validate = "validate_device_token"
    /// The call of a phone that makes Apple certify a key.
    case attest
}

/// Something that goes wrong on purpose.
struct Fault: Sendable, Encodable, KnownMembers, Equatable {
    /// What is wrong with an answer; without one the status is sent with Apple's text for it.
    enum Kind: String, Sendable, Codable {
        /// The status with Apple's text.
        case status
        /// 302 to another place: a client that follows it loses its authorization.
        case redirect
        /// 200 with an HTML page.
        case html
        /// 200 with 70,000 bytes.
        case oversized
        /// 200 with an empty object.
        case emptyObject
        /// 200 with a receipt that is older than the one that was sent.
        case olderReceipt
        /// 200 with the receipt of another app.
        case otherReceipt
        /// 304 with a body that looks like a receipt.
        case notModifiedWithBody
    }

    var call: Call
    var kind: Kind?
    var status: Int?
    /// Replaces Apple's text.
    var body: String?
    var retryAfterSeconds: Int?
    /// How long the answer is held back, in milliseconds; alone it only slows.
    var delayMilliseconds: Int?
    /// How many requests it hits; without a number all of them.
    var count: Int?
    /// The share of requests that it hits, 0 to 1; chosen by the seed, so that a run can be repeated.
    var share: Double?
    /// Where a redirect leads.
    var location: String?

    enum CodingKeys: CodingKey, CaseIterable {
        case call, kind, status, body, retryAfterSeconds, delayMilliseconds, count, share, location
    }

    /// Whether every number is one that the contract (`docs/simulator-openapi.yaml`) allows.
    var isWithinBounds: Bool {
        func holds<Number>(_ range: ClosedRange<Number>, _ number: Number?) -> Bool {
            number.map(range.contains) ?? true
        }
        return holds(200...599, status) && holds(0...86_400, retryAfterSeconds) && holds(0...60_000, delayMilliseconds)
            && holds(0...1_000_000, count) && holds(0...1, share)
    }
}

/// The faults and limits that are set at the moment.
struct FaultPlan: Sendable {
    var faults: [Fault] = []
    /// Requests a second for each call; a call without a number is not limited.
    private(set) var limits: [Call: Double] = [:]
    private var windows: [Call: (second: Int, count: Int)] = [:]
    private var drawn = 0

    /// The most faults that are set at a time.
    static let limit = 64

    mutating func limit(_ limits: [Call: Double]) {
        self.limits = limits
        windows = [:]
    }

    /// The fault that hits this request, if any; a counted one is used up.
    mutating func next(_ call: Call, seed: Seed) -> Fault? {
        for index in faults.indices where faults[index].call == call {
            if let share = faults[index].share {
                drawn += 1
                guard seed.fraction("fault \(drawn)") < share else { continue }
            }
            let fault = faults[index]
            if let count = fault.count {
                if count <= 1 { faults.remove(at: index) } else { faults[index].count = count - 1 }
                if count <= 0 { return nil }
            }
            return fault
        }
        return nil
    }

    /// Whether the limit of a call lets this request pass, counted by whole seconds of the wall clock.
    mutating func admits(_ call: Call, wall: Date) -> Bool {
        guard let limit = limits[call] else { return true }
        let second = Int(wall.timeIntervalSince1970)
        var window = (second: second, count: 0)
        if let current = windows[call], current.second == second { window = current }
        window.count += 1
        windows[call] = window
        return Double(window.count) <= limit
    }
}
