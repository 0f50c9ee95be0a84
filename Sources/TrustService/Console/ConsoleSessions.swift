// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPService
import Logging
import Synchronization

/// Who is signed in at the console: kept in memory, known by the hash of what the browser sends.
///
/// A session stands for its credential and is worth no more: whoever uses it is asked again what the credential permits now, so that an
/// end, or a removal at SIGHUP, ends the session as well.
final class ConsoleSessions: Sendable {
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

    struct Session: Sendable {
        /// Says which one it is, and opens nothing.
        let name: String
        /// By what the credential is known.
        let credential: [UInt8]
        let address: String
        let openedAt: Date
        var usedAt: Date

        fileprivate func isOver(at now: Date) -> Bool {
            // A clock that was put back ends sessions instead of making them longer.
            let (age, pause) = (now.timeIntervalSince(openedAt), now.timeIntervalSince(usedAt))
            return !(-60..<ConsoleSessions.longest ~= age && -60..<ConsoleSessions.idle ~= pause)
        }
    }

    private let sessions = Mutex<[[UInt8]: Session]>([:])
    private let observer: RequestObserver

    init(observer: RequestObserver) {
        self.observer = observer
        for end in End.allCases { count(end, 0) }
    }

    /// Opens a session of a credential.
    ///
    /// - Parameters:
    ///   - digest: by what the credential is known.
    ///   - address: where it was signed in from.
    ///   - secret: 32 random bytes that were never used before, for the cookie.
    func open(credential digest: [UInt8], from address: String, secret: ConsoleSecret, at now: Date) {
        let replaced = change(at: now) { sessions in
            let before = sessions.count
            func replaceOldest(_ isCounted: (Session) -> Bool) {
                let oldest = sessions.filter { isCounted($0.value) }.min { $0.value.usedAt < $1.value.usedAt }
                if let oldest { sessions[oldest.key] = nil }
            }
            if sessions.values.count(where: { $0.credential == digest }) >= ConsoleSessions.perCredential {
                replaceOldest { $0.credential == digest }
            }
            if sessions.count >= ConsoleSessions.limit { replaceOldest { _ in true } }
            let replaced = before - sessions.count
            sessions[secret.digest] = Session(
                name: secret.name, credential: digest, address: address, openedAt: now, usedAt: now)
            return replaced
        }
        if replaced == 0 { return }
        count(.replaced, replaced)
        observer.log.notice(
            "A console session was ended to make room for another one.",
            metadata: ["limit": "\(ConsoleSessions.limit)", "perCredential": "\(ConsoleSessions.perCredential)"])
    }

    /// The digest of the credential of a session, which is used now; nil if it is over or unknown.
    func credential(of secret: ConsoleSecret, at now: Date) -> [UInt8]? {
        change(at: now) { sessions in
            sessions[secret.digest]?.usedAt = now
            return sessions[secret.digest]?.credential
        }
    }

    /// The sessions, the last used first.
    func list(at now: Date) -> [Session] {
        change(at: now) { Array($0.values) }.sorted { ($1.usedAt, $0.name) < ($0.usedAt, $1.name) }
    }

    /// Ends a session, if there is one of the name.
    func end(_ name: String, because reason: End, at now: Date) {
        let ended = change(at: now) { sessions in
            let before = sessions.count
            sessions = sessions.filter { $0.value.name != name }
            return before - sessions.count
        }
        count(reason, ended)
    }

    /// Changes the sessions that are not over; the others end.
    private func change<Result: Sendable>(at now: Date, _ body: (inout [[UInt8]: Session]) -> Result) -> Result {
        let (result, expired, left) = sessions.withLock { sessions in
            let before = sessions.count
            sessions = sessions.filter { !$0.value.isOver(at: now) }
            let expired = before - sessions.count
            return (body(&sessions), expired, sessions.count)
        }
        observer.set(.consoleSessions, Double(left))
        count(.expired, expired)
        return result
    }

    private func count(_ reason: End, _ number: Int) {
        observer.count(.consoleSessionsEnded, [("reason", reason.rawValue)], by: number)
    }
}
