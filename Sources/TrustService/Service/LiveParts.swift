// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import ConnectionAdmission
import Synchronization
import TrustStores
import Vocabulary

/// What is made from files of tokens, keys, certificates and roots, and may be made again while the service runs.
///
/// By reference, as every request takes it several times.
final class LiveParts: Sendable {
    let apps: [String: ServedApp]
    let tokens: TokenAuthority
    let apple: AppleSide?
    let credentials: Credentials
    /// nil if the interface of App Check is off.
    let appCheck: AppCheckSide?
    /// Of the public listener; nil if it speaks plain HTTP.
    let identity: ListenerIdentity?
    /// Of the internal listener; nil if it speaks plain HTTP.
    let internalIdentity: ListenerIdentity?
    /// What all this was made from.
    let configuration: Configuration
    /// The secrets of the store from which all this was made, as the store names them together.
    let secretsMark: [UInt8]

    init(
        _ configuration: Configuration, store: any TrustStore, transport: (any AppleTransport)?,
        random: (Int) -> [UInt8]
    ) async throws {
        self.configuration = configuration
        // Before the secrets are read: what another node replaces meanwhile is noticed later.
        secretsMark = try await store.secretsMark()
        var apps: [String: ServedApp] = [:]
        let vouchers = ServedApp.Vouchers(capacity: 65_536)
        for settings in configuration.apps {
            let verifiers = try AppVerifiers(settings, simulator: configuration.trustSimulator)
            apps[settings.id] = ServedApp(settings: settings, verifiers: verifiers, vouchers: vouchers)
        }
        self.apps = apps
        identity = try configuration.tls?.identity()
        internalIdentity = try configuration.internalTLS?.identity()
        tokens = try await TokenAuthority(configuration.tokens, store: store, random: random)
        if let account = configuration.apple, let transport {
            apple = try await AppleSide(account, hosts: configuration.appleHosts, transport: transport)
        } else {
            apple = nil
        }
        credentials = Credentials(configuration)
        if let settings = configuration.appCheck {
            appCheck = try await AppCheckSide(settings, store: store, random: random)
        } else {
            appCheck = nil
        }
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

    /// Takes parts that were made from the configuration of others, unless these no longer count.
    func replace(_ old: LiveParts, by new: LiveParts) { box.withLock { if $0 === old { $0 = new } } }
}

extension Configuration {
    var longestTokenLife: Duration { max(tokens.ttl, appCheck?.ttl ?? .zero) }

    /// This configuration with what another one read from files of tokens, keys and roots. All other settings stay.
    func takingFiles(of other: Configuration) -> Configuration {
        var result = self
        result.serverTokens = other.serverTokens
        result.adminTokens = other.adminTokens
        result.namedCredentials = other.namedCredentials
        result.trustSimulator = other.trustSimulator
        if result.tls != nil, let tls = other.tls { result.tls = tls }
        if result.internalTLS != nil, let tls = other.internalTLS { result.internalTLS = tls }
        result.tokens.keyPEMs = other.tokens.keyPEMs
        if let files = other.appCheck {
            result.appCheck?.keyPEMs = files.keyPEMs
            result.appCheck?.debugTokens = files.debugTokens
        }
        if result.apple != nil, let account = other.apple { result.apple = account }
        return result
    }
}
