// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import Bounds
import Logging
import Synchronization
import TrustStores

/// What is made from files of tokens, keys and roots, and may be made again while the service runs.
struct LiveParts: Sendable {
    let apps: [String: ServiceCore.App]
    let tokens: TokenAuthority
    let apple: AppleSide?
    let credentials: Credentials

    init(
        _ configuration: Configuration,
        store: any TrustStore,
        transport: (any AppleTransport)?,
        random: (Int) -> [UInt8]
    ) async throws {
        var apps: [String: ServiceCore.App] = [:]
        for settings in configuration.apps {
            let verifiers = try AppVerifiers(settings, simulator: configuration.trustSimulator)
            apps[settings.id] = ServiceCore.App(settings: settings, verifiers: verifiers)
        }
        self.apps = apps
        tokens = try await TokenAuthority(configuration.tokens, store: store, random: random)
        if let account = configuration.apple, let transport {
            apple = try await AppleSide(account, hosts: configuration.appleHosts, transport: transport)
        } else {
            apple = nil
        }
        credentials = Credentials(configuration)
    }
}

/// The parts that count now: each request takes them as they are when it asks.
final class LiveBook: Sendable {
    private let box: Mutex<LiveParts>

    init(_ parts: LiveParts) { box = Mutex(parts) }

    var current: LiveParts {
        get { box.withLock { $0 } }
        set { box.withLock { $0 = newValue } }
    }
}

extension Configuration {
    /// This configuration with what another one read from files of tokens, keys and roots. All other settings stay.
    func takingFiles(of other: Configuration) -> Configuration {
        var result = self
        result.serverTokens = other.serverTokens
        result.adminTokens = other.adminTokens
        result.namedCredentials = other.namedCredentials
        result.trustSimulator = other.trustSimulator
        result.tokens.keyPEMs = other.tokens.keyPEMs
        if result.apple != nil, let account = other.apple { result.apple = account }
        return result
    }
}

extension ServiceCore {
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
                    log.error("A file was not read again.", metadata: ["reason": "\(issue.description)"])
                }
                result = false
            case .configuration(let other):
                let parts = try await LiveParts(
                    configuration.takingFiles(of: other),
                    store: store,
                    transport: transport,
                    random: sources.random
                )
                live.current = parts
                vouchers.forgetAll()
                result = true
            }
        } catch {
            log.error("A file was not read again.", metadata: ["reason": "\(Problem(error).evidence)"])
            result = false
        }
        observer.count("files.reread", [("outcome", result ? "taken" : "kept")])
        if result {
            log.notice("The files of tokens, keys and roots were read again.")
        } else {
            log.error("The files of tokens, keys and roots count as they were before.")
        }
        return result
    }
}
