// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

#if canImport(CryptoKit)
    import CryptoKit
#else
    import Crypto
#endif

/// What is kept between launches: one small item under each name. The Keychain (``KeychainStore``), or memory in tests.
///
/// A key identifier is no secret, but it must outlive the process and must not travel to another device with a backup.
public protocol ItemStore: Sendable {
    /// The item, or nil if there is none.
    ///
    /// - Throws: if that cannot be known now, for example before the first unlock. A session then waits; it does not take a key for lost.
    func read(_ name: String) async throws -> Data?
    /// Keeps the item; nil removes it.
    func write(_ item: Data?, _ name: String) async throws
}

/// Items in memory: for tests.
public actor MemoryStore: ItemStore {
    private var items: [String: Data] = [:]

    /// An empty store.
    public init() {}

    /// The names of everything that is kept.
    package var names: [String] { items.keys.sorted() }

    public func read(_ name: String) -> Data? { items[name] }
    public func write(_ item: Data?, _ name: String) { items[name] = item }
}

/// Whose key it is: there is one for each user, environment and group of apps on a device.
public struct KeyScope: Hashable, Sendable {
    /// The environment of App Attest, from the entitlement `com.apple.developer.devicecheck.appattest-environment`. TestFlight and the App
    /// Store always make it production.
    public enum Environment: String, Sendable {
        /// Builds that Xcode installs.
        case development
        /// Everything else.
        case production
    }

    package var app: String
    package var user: String?
    package var environment: Environment
    package var group: String

    /// Makes one from its parts.
    ///
    /// - Parameters:
    ///   - app: the app's `id` in the configuration of the service.
    ///   - user: the account in the app; nil if it has none.
    ///   - environment: keys of one environment are unknown in the other.
    ///   - group: the Keychain group shared by everything that shares keys: an app and its App Clip. An extension has its own keys, so its own group.
    public init(app: String, user: String? = nil, environment: Environment, group: String) {
        self.app = app
        self.user = user
        self.environment = environment
        self.group = group
    }

    /// The name of the key's item. It shows neither user nor app.
    var keyItem: String { "attested-key-" + digest }
    /// The name under which an app leaves its token for extensions.
    var tokenItem: String { "attested-token-" + digest }

    /// The name under which it is kept when the service last asked for another key.
    var replacedItem: String { "attested-replaced-" + digest }

    private var digest: String {
        // Each part with its length, so that no two scopes give the same bytes.
        var bytes: [UInt8] = []
        for part in [app, user.map { "u" + $0 } ?? "", environment.rawValue, group] {
            bytes += Array("\(part.utf8.count):".utf8) + Array(part.utf8)
        }
        return SHA256.hash(data: bytes).map { byte in
            let digits = String(byte, radix: 16)
            return digits.utf8.count == 1 ? "0" + digits : digits
        }.joined()
    }
}

/// A key and how far it came. Written before each step that cannot be taken twice.
struct KeyRecord: Codable, Sendable, Equatable {
    enum Stage: String, Codable {
        /// Made; Apple may have been asked.
        case generated
        /// Certified by Apple; the service does not have it yet, as far as is known.
        case certified
        /// The service has it.
        case registered
    }

    let keyId: String
    var stage = Stage.generated
    /// The challenge that the certificate covers or will cover, base64.
    var challenge: String?
    /// When it came, by the device's clock, and how long it lives.
    var challengeFrom: Date?
    var challengeSeconds: Double?
    /// Apple's certificate, until the service has it.
    var attestation: Data?

    init(keyId: String) { self.keyId = keyId }

    /// Whether Apple may still be asked to sign over the challenge: a fifth of its life is left for the way to the service.
    ///
    /// A clock that was set meanwhile makes it old, which costs a challenge and nothing else.
    func hasFreshChallenge(at now: Date) -> Bool {
        guard challenge != nil, let from = challengeFrom, let seconds = challengeSeconds else { return false }
        let age = now.timeIntervalSince(from)
        return age >= 0 && age < seconds * 0.8
    }
}
