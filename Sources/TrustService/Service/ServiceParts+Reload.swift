// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ConnectionAdmission
import FoundationEssentials
import HTTPService
import Logging
import TrustStores
import Vocabulary

extension ServiceParts {
    /// Takes the keys of challenges that the store has now, and its secrets if they are others.
    func rereadSecrets() async throws {
        try await challenges.refresh()
        let old = live.current
        guard try await store.secretsMark() != old.secretsMark else { return }
        let new = try await LiveParts(
            old.configuration, store: store, transport: transport, random: sources.random)
        live.replace(old, by: new)
    }

    /// Reads the files of tokens, keys and roots again. A fault keeps what counted before and says so in the log.
    ///
    /// - Parameter read: Reads the configuration with its files, as at the start.
    /// - Returns: whether the files count now.
    @discardableResult
    func reload(_ read: () -> ConfigurationReader.Outcome) async -> Bool {
        let result: Bool
        do {
            switch read() {
            case .issues(let issues):
                for issue in issues.prefix(20) {
                    observer.log.error("A file could not be reread.", metadata: ["reason": "\(issue.description)"])
                }
                result = false
            case .configuration(let other):
                let parts = try await LiveParts(
                    configuration.takingFiles(of: other), store: store, transport: transport, random: sources.random)
                live.current = parts
                showCertificates()
                result = true
            }
        } catch {
            observer.log.error("A file could not be reread.", metadata: ["reason": "\(Problem(error).evidence)"])
            result = false
        }
        observer.count(.filesReread, [("outcome", result ? "taken" : "kept")])
        if result {
            observer.log.notice("The files of tokens, keys and roots were reread.")
        } else {
            observer.log.error(
                "The files of tokens, keys and roots were not reread; what was read before stays in force.")
        }
        return result
    }

    /// Shows when the certificates of listeners expire, and warns of those with less than a month left.
    func showCertificates() {
        for (listener, identity) in [("public", live.current.identity), ("internal", live.current.internalIdentity)] {
            guard let identity else { continue }
            observer.set(
                .certificateExpiry, identity.expires.timeIntervalSince1970, [("listener", listener)])
            guard identity.expires < sources.now().addingTimeInterval(30 * 86_400) else { continue }
            observer.log.warning(
                "The certificate of a listener expires within 30 days, or has expired.",
                metadata: ["listener": "\(listener)", "expires": "\(RFC3339.text(identity.expires))"])
        }
    }
}
