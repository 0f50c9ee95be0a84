// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Formats
import FoundationEssentials
import Vocabulary

/// The public keys of one issuer: fetched when first needed, kept, and fetched again when they are old.
///
/// A key that is not among them may be a new one, so it is asked for, but at most once a minute: anybody can invent key identifiers.
struct TokenKeys: Sendable {
    enum Answer {
        case key(P256.Signing.PublicKey)
        case unknown
        /// The set could not be fetched when it was last asked for, so the key may be a new one; or not for so long that it does not count any
        /// more.
        case unavailable
    }

    /// How long keys count without a successful renewal.
    static let staleLimit = Duration.seconds(3600)
    /// The most keys of a set; more are refused with the whole set.
    static let limit = 64

    private let document: FetchedDocument<[UTF8Key: P256.Signing.PublicKey]>
    private let uptime: @Sendable () -> Duration

    init(url: String, lifetime: Duration, transport: any GateTransport, uptime: @escaping @Sendable () -> Duration) {
        self.uptime = uptime
        document = FetchedDocument(.get(url), lifetime: lifetime, transport: transport, uptime: uptime) {
            TokenKeys.read($0.body)
        }
    }

    func key(_ identifier: String) async -> Answer {
        let identifier = UTF8Key(identifier)
        let state = await document.state { keys, age in
            keys[identifier] != nil && age < TokenKeys.staleLimit
        }
        guard let keys = state.value, let fetchedAt = state.fetchedAt, uptime() - fetchedAt < TokenKeys.staleLimit
        else {
            return .unavailable
        }
        return keys[identifier].map(Answer.key) ?? (state.isUnanswered ? .unavailable : .unknown)
    }

    /// The P-256 keys of a JSON Web Key Set (RFC 7517); others are passed over. Nil if it is none.
    static func read(_ bytes: [UInt8]) -> [UTF8Key: P256.Signing.PublicKey]? {
        var limits = JSONReader.Limits.outside
        limits.values = 2048
        guard let document = try? JSONReader.read(bytes, limits: limits),
            case .array(let list) = document.member("keys"),
            list.count <= limit
        else { return nil }
        var keys: [UTF8Key: P256.Signing.PublicKey] = [:]
        for entry in list {
            guard entry.member("kty")?.text == "EC", entry.member("crv")?.text == "P-256",
                entry.member("use").map({ $0.text == "sig" }) ?? true,
                let identifier = entry.member("kid")?.text, let x = entry.member("x")?.text.flatMap(Base64.decodeURL),
                let y = entry.member("y")?.text.flatMap(Base64.decodeURL), x.count == 32, y.count == 32,
                let key = try? P256.Signing.PublicKey(rawRepresentation: Data(x + y))
            else { continue }
            // Two keys of one name: nobody could say which is meant.
            guard keys.updateValue(key, forKey: UTF8Key(identifier)) == nil else { return nil }
        }
        return keys
    }
}
