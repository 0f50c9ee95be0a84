// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Formats
import FoundationEssentials
import Vocabulary

/// The public keys of one issuer: fetched when first needed, kept, and fetched again before they are old.
///
/// A key that is not among them may be a new one, so it is asked for, but at most once a minute: anybody can invent key identifiers.
actor TokenKeys {
    /// What is known of a key identifier.
    enum Answer {
        case key(P256.Signing.PublicKey)
        case unknown
        /// The set could not be fetched when it was last asked for, so the key may be a new one; or not for so long that it does not count any
        /// more.
        case unavailable
    }

    /// How long keys count without a successful renewal.
    static let staleLimit = Duration.seconds(3600)
    /// Between two questions, if the last one was answered.
    static let pause = Duration.seconds(60)
    /// Between two questions, if there never was an answer.
    static let firstPause = Duration.seconds(1)
    /// The most keys of a set; more are refused with the whole set.
    static let limit = 64

    private let url: String
    private let lifetime: Duration
    private let transport: any GateTransport
    private let uptime: @Sendable () -> Duration
    private var keys: [UTF8Key: P256.Signing.PublicKey] = [:]
    private var fetchedAt: Duration?
    private var askedAt: Duration?
    /// Whether the last question had no answer.
    private var isUnanswered = false
    private var fetching: Task<Void, Never>?

    init(url: String, lifetime: Duration, transport: any GateTransport, uptime: @escaping @Sendable () -> Duration) {
        self.url = url
        self.lifetime = lifetime
        self.transport = transport
        self.uptime = uptime
    }

    func key(_ identifier: String) async -> Answer {
        let now = uptime()
        if let fetchedAt, now - fetchedAt < TokenKeys.staleLimit, let key = keys[UTF8Key(identifier)] {
            // Old keys serve while new ones are fetched.
            if now - fetchedAt >= lifetime { begin(at: now) }
            return .key(key)
        }
        await begin(at: now)?.value
        guard let fetchedAt, uptime() - fetchedAt < TokenKeys.staleLimit else { return .unavailable }
        return keys[UTF8Key(identifier)].map(Answer.key) ?? (isUnanswered ? .unavailable : .unknown)
    }

    /// The question that is under way, or a new one if enough time has passed.
    @discardableResult private func begin(at now: Duration) -> Task<Void, Never>? {
        if let fetching { return fetching }
        let pause = fetchedAt == nil ? TokenKeys.firstPause : TokenKeys.pause
        if let askedAt, now - askedAt < pause { return nil }
        askedAt = now
        let task = Task { await fetch() }
        fetching = task
        return task
    }

    private func fetch() async {
        defer { fetching = nil }
        isUnanswered = true
        guard let answer = try? await transport.send(.get(url)), answer.status == 200,
            let read = TokenKeys.read(answer.body)
        else { return }
        keys = read
        fetchedAt = uptime()
        isUnanswered = false
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
