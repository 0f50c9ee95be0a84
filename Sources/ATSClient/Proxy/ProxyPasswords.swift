// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ConnectionAdmission
import Crypto
import Synchronization
import TLSModel
import Vocabulary

/// Judges the user names and passwords of clients (Basic, RFC 7617), and limits how often one address may be wrong.
///
/// An address may be wrong ``burst`` times at once, and then once a second. What it sends beyond that is not judged.
final class ProxyPasswords: Sendable {
    enum Verdict: Equatable {
        case right
        /// No password was sent.
        case missing
        case wrong
        /// The address was wrong too often; the password was not looked at.
        case tooMany
    }

    static let burst = 10
    /// The most addresses with wrong passwords; each is forgotten ten seconds after its last one.
    private static let mostAddresses = 10_000

    private struct State {
        /// For each address, when all its wrong passwords are paid for at one a second.
        var paid: [IPAddress?: ContinuousClock.Instant] = [:]
        var unreported = 0
        var nextReport: ContinuousClock.Instant?
    }

    private let digests: [SHA256Digest]
    private let onWrong: @Sendable (_ count: Int, _ address: String) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - credentials: each `user:password`.
    ///   - onWrong: called at most once a second with how many passwords were wrong since the last call.
    init(_ credentials: Set<String>, onWrong: @escaping @Sendable (_ count: Int, _ address: String) -> Void) {
        digests = credentials.map { SHA256.hash(data: Array($0.utf8)) }
        self.onWrong = onWrong
    }

    /// Judges the value of `Proxy-Authorization`.
    func judge(_ field: String?, from address: IPAddress?, at now: ContinuousClock.Instant) -> Verdict {
        guard let field else { return .missing }
        let key = address.map(Admission.network)
        let isOver = state.withLock {
            ($0.paid[key] ?? now) >= now + .seconds(ProxyPasswords.burst - 1) + .nanoseconds(1)
        }
        if !isOver, isRight(field) { return .right }
        let report: Int? = state.withLock { state in
            if !isOver {
                if state.paid.count >= ProxyPasswords.mostAddresses {
                    state.paid = state.paid.filter { $0.value > now }
                }
                if state.paid.count >= ProxyPasswords.mostAddresses { state.paid = [:] }
                state.paid[key] = max(state.paid[key] ?? now, now) + .seconds(1)
            }
            state.unreported += 1
            if let next = state.nextReport, now < next { return nil }
            state.nextReport = now + .seconds(1)
            defer { state.unreported = 0 }
            return state.unreported
        }
        if let report { onWrong(report, address?.description ?? "an unknown address") }
        return isOver ? .tooMany : .wrong
    }

    /// Compares digests, each with all, so that the time says nothing about a password, not even its length.
    private func isRight(_ field: String) -> Bool {
        let scheme = "basic "
        let value = field.utf8.dropFirst(scheme.utf8.count)
        guard field.hasPrefixIgnoringCase(scheme), value.count <= 1024,
            let given = Base64.decode(Array(value.trimmingBlanks))
        else { return false }
        let digest = SHA256.hash(data: given)
        // Digests are compared in constant time.
        return digests.reduce(false) { $1 == digest || $0 }
    }
}
