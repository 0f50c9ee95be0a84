// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceSimulator
import FoundationEssentials

/// Why the phone's interface refuses what no service of the phone was asked.
struct PhoneError: Error {
    let name: String
    let status: Int

    static let unknownDevice = PhoneError(name: "unknownDevice", status: 404)
    static let tooManyDevices = PhoneError(name: "tooManyDevices", status: 507)
}

/// A virtual phone: its identity, which Apple knows and which survives an erase, and a simulated device.
struct Phone: Sendable {
    let id: String
    var device: DeviceState
    private(set) var keysMade = 0

    /// Makes a key for an app, which is installed if it is not yet. The key exists on the phone only, until Apple certifies it.
    mutating func makeKey(for app: SimulatedApp, seed: Seed) throws(SimulatedServiceError) -> String {
        try device.checkSupport()
        guard AppId.isValid(app.applicationId), device.keyCount < Phone.keyLimit else { throw .invalidInput }
        device.install(app)
        let (id, number) = (id, keysMade + 1)
        let keyId = try device.generateKey(for: app) { seed.signingKey("phone \(id) \(number)") }
        keysMade = number
        return keyId
    }

    private static let keyLimit = 10_000
}

struct SimulatedPhones: Sendable {
    private var phones: [String: Phone] = [:]
    private var made = 0

    private static let limit = 100_000

    var count: Int { phones.count }

    /// Makes a phone, or changes the one with this id.
    mutating func make(id: String?, os: String, isMac: Bool, isSupported: Bool) throws -> Phone {
        guard phones.count < SimulatedPhones.limit else { throw PhoneError.tooManyDevices }
        made += 1
        let name = id ?? "device-\(made)"
        guard SimulatedPhones.isName(name), SimulatedPhones.isVersion(os) else {
            throw SimulatedServiceError.invalidInput
        }
        let system: SimulatedSystem = isMac ? .macOS(os) : .iOS(os)
        var phone = phones[name] ?? Phone(id: name, device: DeviceState(system: system, isSupported: isSupported))
        phone.device.system = system
        phone.device.isSupported = isSupported
        phones[name] = phone
        return phone
    }

    func phone(_ id: String) throws(PhoneError) -> Phone {
        guard let phone = phones[id] else { throw .unknownDevice }
        return phone
    }

    /// Does something to a phone where it lies.
    mutating func change<Result>(_ id: String, _ act: (inout Phone) throws -> Result) throws -> Result {
        guard let index = phones.index(forKey: id) else { throw PhoneError.unknownDevice }
        return try act(&phones.values[index])
    }

    private static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0.isLetterOrDigit || "-_.".utf8.contains($0) }
    }

    private static func isVersion(_ os: String) -> Bool {
        let parts = os.split(separator: ".", omittingEmptySubsequences: false)
        return (1...3).contains(parts.count) && parts.allSatisfy { UInt8($0) != nil }
    }
}
