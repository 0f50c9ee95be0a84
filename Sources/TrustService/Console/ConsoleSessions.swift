// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import HTTPService
import Logging
import Synchronization
import Vocabulary

/// Who is signed in at the console: kept in memory, known by the hash of what the browser sends.
///
/// A session stands for its credential and is worth no more: whoever uses it is asked again what the credential permits now, so that an
/// end, or a removal at SIGHUP, ends the session as well.
final class ConsoleSessions: Sendable {
    /// The most sessions of a node.
    static let limit = 64
    /// The most sessions of one credential, so that nobody signs others out.
    static let perCredential = 8
    /// Without a request of a person for so long a session ends, seconds.
    static let idle: TimeInterval = 1800
    /// So long after the sign-in a session ends, seconds.
    static let longest: TimeInterval = 8 * 3600

    /// Why a session ended, for the metrics.
    enum End: String, CaseIterable {
        case signedOut = "signed-out"
        case ended
        case expired
        case credential
        case replaced
    }

    /// A session as a page shows it.
    struct Listed: Sendable {
        /// Says which one it is, and opens nothing.
        let name: String
        let credential: [UInt8]
        /// The address that signed in.
        let address: String
        let openedAt: Date
        let usedAt: Date
        fileprivate let digest: [UInt8]
    }

    private struct Session {
        let credential: [UInt8]
        let address: String
        let openedAt: Date
        var usedAt: Date

        func isOver(at now: Date) -> Bool {
            // A clock that was put back ends sessions instead of making them longer.
            let (age, pause) = (now.timeIntervalSince(openedAt), now.timeIntervalSince(usedAt))
            return !(-60..<ConsoleSessions.longest ~= age && -60..<ConsoleSessions.idle ~= pause)
        }
    }

    private let sessions = Mutex<[[UInt8]: Session]>([:])
    private let observer: RequestObserver

    init(observer: RequestObserver) {
        self.observer = observer
        for end in End.allCases { observer.count(.consoleSessionsEnded, [("reason", end.rawValue)], by: 0) }
    }

    /// Opens a session of a credential.
    ///
    /// - Parameters:
    ///   - digest: by what the credential is known.
    ///   - address: where it was signed in from.
    ///   - secret: 32 random bytes that were never used before, for the cookie.
    func open(credential digest: [UInt8], from address: String, secret: ConsoleSecret, at now: Date) {
        let (expired, replaced, count) = sessions.withLock { sessions -> (Int, Int, Int) in
            let before = sessions.count
            sessions = sessions.filter { !$0.value.isOver(at: now) }
            let expired = before - sessions.count
            var replaced = 0
            func replaceOldest(_ isCounted: (Session) -> Bool) {
                let oldest = sessions.filter { isCounted($0.value) }.min { $0.value.usedAt < $1.value.usedAt }
                if let oldest {
                    sessions[oldest.key] = nil
                    replaced += 1
                }
            }
            if sessions.values.count(where: { $0.credential == digest }) >= ConsoleSessions.perCredential {
                replaceOldest { $0.credential == digest }
            }
            if sessions.count >= ConsoleSessions.limit { replaceOldest { _ in true } }
            sessions[secret.digest] = Session(
                credential: digest, address: address, openedAt: now, usedAt: now)
            return (expired, replaced, sessions.count)
        }
        ended(.expired, expired, left: count)
        ended(.replaced, replaced, left: count)
        if replaced > 0 {
            observer.log.notice(
                "A console session was ended to make room for another one.",
                metadata: ["limit": "\(ConsoleSessions.limit)", "perCredential": "\(ConsoleSessions.perCredential)"])
        }
    }

    /// The digest of the credential of a session, which is used now; nil if it is over or unknown.
    func credential(of secret: ConsoleSecret, at now: Date) -> [UInt8]? {
        let (digest, hasEnded, count) = sessions.withLock { sessions -> ([UInt8]?, Bool, Int) in
            guard var session = sessions[secret.digest] else { return (nil, false, sessions.count) }
            if session.isOver(at: now) {
                sessions[secret.digest] = nil
                return (nil, true, sessions.count)
            }
            session.usedAt = now
            sessions[secret.digest] = session
            return (session.credential, false, sessions.count)
        }
        if hasEnded { ended(.expired, 1, left: count) }
        return digest
    }

    /// The sessions that are not over, the last used first.
    func list(at now: Date) -> [Listed] {
        sessions.withLock { $0.filter { !$0.value.isOver(at: now) } }.map { digest, session in
            Listed(
                name: ConsoleSecret.name(ofDigest: digest), credential: session.credential, address: session.address,
                openedAt: session.openedAt, usedAt: session.usedAt, digest: digest)
        }.sorted { ($1.usedAt, $0.name) < ($0.usedAt, $1.name) }
    }

    /// Ends a session; whether there was one.
    @discardableResult
    func end(_ secret: ConsoleSecret, because reason: End) -> Bool { end(secret.digest, because: reason) }

    /// Ends one of the list.
    func end(_ session: Listed, because reason: End) { end(session.digest, because: reason) }

    @discardableResult
    private func end(_ digest: [UInt8], because reason: End) -> Bool {
        let (hasEnded, count) = sessions.withLock { sessions in
            (sessions.removeValue(forKey: digest) != nil, sessions.count)
        }
        if hasEnded { ended(reason, 1, left: count) }
        return hasEnded
    }

    /// How many sessions there are.
    var count: Int { sessions.withLock { $0.count } }

    private func ended(_ reason: End, _ number: Int, left: Int) {
        observer.set(.consoleSessions, Double(left))
        if number > 0 { observer.count(.consoleSessionsEnded, [("reason", reason.rawValue)], by: number) }
    }
}

/// The secret of a cookie: 32 random bytes. It is never kept here, only its hash; the token of forms is made from it.
struct ConsoleSecret: Sendable {
    private let bytes: [UInt8]

    static let length = 32

    /// Takes random bytes.
    init(random bytes: [UInt8]) { self.bytes = bytes }

    /// Reads the value of a cookie. Nil for anything that is no such secret.
    init?(cookie text: String) {
        guard text.utf8.count == 43, let bytes = Base64.decodeURL(text), bytes.count == ConsoleSecret.length else {
            return nil
        }
        self.bytes = bytes
    }

    /// The value of the cookie.
    var cookie: String { Base64.encodeURL(bytes) }

    /// SHA-256 of the secret.
    var digest: [UInt8] { Array(SHA256.hash(data: Data(bytes))) }

    /// Names the session without opening it, in the list of sessions and in the audit.
    var name: String { ConsoleSecret.name(ofDigest: digest) }

    static func name(ofDigest digest: [UInt8]) -> String { Array(digest.prefix(8)).hexadecimal() }

    private static let purpose = Data("sealward console form".utf8)

    /// What every form carries: a site that cannot read the cookie cannot make it.
    var formToken: String {
        Base64.encodeURL(
            HMAC<SHA256>.authenticationCode(for: ConsoleSecret.purpose, using: SymmetricKey(data: Data(bytes))))
    }

    /// Whether a form carries the token of this secret; in the same time for every wrong one.
    func made(formToken text: String?) -> Bool {
        guard let text, text.utf8.count == 43, let code = Base64.decodeURL(text) else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(
            Data(code), authenticating: ConsoleSecret.purpose, using: SymmetricKey(data: Data(bytes)))
    }
}
