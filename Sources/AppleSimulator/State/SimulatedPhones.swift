// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation

/// An error of App Attest as an app sees it, by the name of its `DCError` code.
struct PhoneError: Error, Sendable, Equatable {
    let name: String
    /// The status with which the phone's interface reports it.
    let status: Int

    static let featureUnsupported = PhoneError(name: "featureUnsupported", status: 403)
    static let invalidInput = PhoneError(name: "invalidInput", status: 400)
    static let invalidKey = PhoneError(name: "invalidKey", status: 409)
    static let serverUnavailable = PhoneError(name: "serverUnavailable", status: 503)
    /// Not an error of App Attest: there is no such phone, or too many.
    static let unknownDevice = PhoneError(name: "unknownDevice", status: 404)
    static let tooManyDevices = PhoneError(name: "tooManyDevices", status: 507)
}

/// A key in the secure hardware of a virtual phone.
struct PhoneKey: Sendable {
    let id: String
    let app: String
    let environment: SimulatedEnvironment
    /// Whether an App Clip made it: a clip attests as its full app, and takes its keys with it when it goes.
    let clip: Bool
    let key: P256.Signing.PrivateKey
    /// The hash that Apple certified the key with; nil until then.
    var attestedHash: [UInt8]?
    /// How many assertions the key has signed.
    var counter: UInt32 = 0
}

/// A virtual phone. Its identity is known to Apple and survives an erase; its keys survive neither an erase nor a reinstall.
struct Phone: Sendable {
    let id: String
    /// The version of iOS, for example `17.6`.
    var os: String
    /// What `isSupported` says.
    var isSupported: Bool
    var keys: [String: PhoneKey] = [:]
    var keysMade = 0

    /// The major number of the version.
    var major: Int { Int(os.prefix { $0 != "." }) ?? 0 }
}

/// The virtual phones.
struct SimulatedPhones: Sendable {
    private(set) var phones: [String: Phone] = [:]
    private let seed: Seed
    private let limit: Int
    private var made = 0

    init(seed: Seed, limit: Int) {
        self.seed = seed
        self.limit = limit
    }

    /// Makes a phone, or changes the one with this id.
    mutating func make(id: String?, os: String, isSupported: Bool) throws -> Phone {
        guard phones.count < limit else { throw PhoneError.tooManyDevices }
        made += 1
        let name = id ?? "device-\(made)"
        guard SimulatedPhones.isName(name), SimulatedPhones.isVersion(os) else { throw PhoneError.invalidInput }
        var phone = phones[name] ?? Phone(id: name, os: os, isSupported: isSupported)
        phone.os = os
        phone.isSupported = isSupported
        phones[name] = phone
        return phone
    }

    func phone(_ id: String) throws -> Phone {
        guard let phone = phones[id] else { throw PhoneError.unknownDevice }
        return phone
    }

    /// Makes a key for an app. The key exists on the phone only, until Apple certifies it.
    mutating func makeKey(
        _ device: String,
        app: String,
        environment: SimulatedEnvironment,
        clip: Bool
    ) throws -> PhoneKey {
        var phone = try phone(device)
        guard phone.isSupported else { throw PhoneError.featureUnsupported }
        guard AppId.isValid(app), phone.keys.count < 10_000 else { throw PhoneError.invalidInput }
        phone.keysMade += 1
        let key = seed.signingKey("phone \(device) \(phone.keysMade)")
        let id = Data(SHA256.hash(data: key.publicKey.x963Representation)).base64EncodedString()
        let made = PhoneKey(id: id, app: app, environment: environment, clip: clip, key: key)
        phone.keys[id] = made
        phones[device] = phone
        return made
    }

    /// The key with this id, if it is still on the phone.
    func key(_ id: String, on device: String) throws -> PhoneKey {
        let phone = try phone(device)
        guard phone.isSupported else { throw PhoneError.featureUnsupported }
        guard let key = phone.keys[id] else { throw PhoneError.invalidKey }
        return key
    }

    /// Puts a changed key back.
    mutating func keep(_ key: PhoneKey, on device: String) { phones[device]?.keys[key.id] = key }

    /// Removes the keys of an app, or only those that its App Clip made: what a reinstall or the end of a clip does.
    mutating func remove(app: String, clipOnly: Bool, from device: String) throws {
        var phone = try phone(device)
        phone.keys = phone.keys.filter { $0.value.app != app || (clipOnly && !$0.value.clip) }
        phones[device] = phone
    }

    /// Removes every key: what erasing the phone does.
    mutating func erase(_ device: String) throws {
        var phone = try phone(device)
        phone.keys = [:]
        phones[device] = phone
    }

    private static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.unicodeScalars.allSatisfy {
                $0.isASCII
                    && ($0.properties.isAlphabetic || ("0"..."9").contains($0) || "-_.".unicodeScalars.contains($0))
            }
    }

    private static func isVersion(_ os: String) -> Bool {
        let parts = os.split(separator: ".", omittingEmptySubsequences: false)
        return (1...3).contains(parts.count) && parts.allSatisfy { UInt8($0) != nil }
    }
}
