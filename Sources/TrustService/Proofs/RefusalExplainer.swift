// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import FoundationEssentials
import HTTPService
import Synchronization
import Vocabulary

/// Adds to refusals what was expected and found, and which usual mistake it is. Mistakes are tried for at most 20 in any second and node, as
/// one costs up to 40 signatures.
final class RefusalExplainer: Sendable {
    private let observer: RequestObserver
    private let uptime: @Sendable () -> Double
    /// When the refusals of the last second were explained.
    private let recent = Mutex<[Double]>([])

    /// For how many refusals of a second, wherever it begins, mistakes are tried; the rest is counted, and says what the verifier knows.
    private static let perSecond = 20

    init(observer: RequestObserver, uptime: @escaping @Sendable () -> Double) {
        (self.observer, self.uptime) = (observer, uptime)
    }

    /// A refusal with what explains it, if a verifier refused.
    ///
    /// - Parameters:
    ///   - loggingHash: whether the log may have client data hashes; not where they are the challenge itself.
    ///   - explain: compares the object with the usual mistakes.
    func explained(
        _ refusal: ProofRefusal, loggingHash: Bool, _ explain: (Refusal) async throws -> Refusal
    ) async rethrows -> ProofRefusal {
        guard let verdict = refusal.verdict else { return refusal }
        let isTried = mayExplain()
        if !isTried { observer.count(.refusalsUnexplained) }
        var result = refusal
        let explained = isTried ? try await explain(verdict) : verdict
        result.problem = result.problem.saying(explained.reason)
        // A verifier reads the certificates of attestations, and has no step for other bytes.
        result.problem.difference =
            explained.step == nil || explained.code == .malformedCertificate
            ? UnreadObject.attestation.members(explained.reason) : Refusal.difference(explained)
        result.problem.details = explained.details(loggingHash: loggingHash)
        return result
    }

    private func mayExplain() -> Bool {
        recent.withLock { recent in
            let now = uptime()
            recent.removeAll { $0 <= now - 1 }
            guard recent.count < Self.perSecond else { return false }
            recent.append(now)
            return true
        }
    }
}

extension Refusal {
    /// The values that differ and the mistake, for the log: keys by their first eight characters, no client data, and bounded.
    fileprivate func details(loggingHash: Bool) -> [String: String] {
        var (expected, found): ([String], [String]) = ([], [])
        for value in compared {
            let isHash = value.name == "clientDataHash"
            // The nonce says nothing without the hash, and the hash could be the client data itself.
            if isHash, !loggingHash { continue }
            func text(_ text: String) -> String {
                let isKey = ["keyId", "credentialId", "publicKey"].contains(value.name)
                return "\(value.name) \((isKey ? String(text.prefix(8)) : text).terminalSafe(limit: Self.textLimit))"
            }
            if let value = value.expected { expected.append(text(value)) }
            if let value = value.found, !isHash || isLoggedHash(value) { found.append(text(value)) }
        }
        var details: [String: String] = [:]
        if !expected.isEmpty { details["expected"] = expected.joined(separator: ", ") }
        if !found.isEmpty { details["found"] = found.joined(separator: ", ") }
        if let mistake { details["mistake"] = mistake.name }
        return details
    }

    /// Whether what the object has in the place of a client data hash is a hash, and not what should have been hashed: that has the challenge in it.
    private func isLoggedHash(_ text: String) -> Bool {
        guard let bytes = Base64.decode(text), bytes.count == 32, mistake?.name != "unhashed" else { return false }
        let wanted = compared.first { $0.name == "clientDataHash" }?.expected
        return Base64.encode(SHA256.hash(data: Data(bytes))) != wanted
    }

    /// The most bytes of one value in the log.
    private static let textLimit = 128
}
