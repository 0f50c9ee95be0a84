// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppAttest
import AppleServices
public import FoundationEssentials
public import TLSModel
public import TrustStores

extension TrustServer {
    /// All settings of the service. Every property has the default and the range given in `docs/configuration.md`.
    ///
    /// <!-- walkthrough: TrustService configuration -->
    ///     var configuration = TrustServer.Configuration()
    ///     configuration.listen = ListenAddress(host: "127.0.0.1", port: 0)
    ///     var shop = TrustServer.Configuration.App(id: "shop", teamId: "ABCDE12345", bundleIds: ["com.example.shop"])
    ///     shop.environments = [.production, .development]
    ///     configuration.apps = [shop]
    ///
    /// ``TrustServer/init(configuration:store:log:announce:)`` reports everything that is wrong with it at once.
    public struct Configuration: Sendable {
        /// Where the service listens; port 0 takes a free one.
        public var listen = ListenAddress(host: "127.0.0.1", port: 8080)
        /// A second address, which then serves the routes of servers and operators and `/metrics`; nil for none.
        public var internalListen: ListenAddress?
        /// TLS for ``listen``; nil for plain HTTP.
        public var tls: TLS?
        /// TLS for ``internalListen``; nil for plain HTTP.
        public var internalTLS: TLS?
        /// The proxies whose `X-Forwarded-For` names the client.
        public var trustedProxies: [AddressRange] = []
        /// Names of this service and of the backends behind it, without ports: browsers reach the console under them, besides loopback names,
        /// addresses and the name in ``internalListen``, and signed requests are for them (``App/requireHost``).
        public var hosts: [String] = []
        /// Where the state lives, for the program that opens the store.
        package var store = StoreLocation.sqlite(path: "sealward.sqlite")
        /// How the store names users, chosen when it is made; nil for whatever it was made with.
        public var users: Users? = .plain
        /// The bearer tokens of backends and gateways; nil turns their routes off, unless ``namedCredentials`` opens them.
        public var serverTokens: CredentialSource?
        /// The bearer tokens of operators; nil turns their routes off, unless ``namedCredentials`` opens them.
        public var adminTokens: CredentialSource?
        /// Tokens with a name, scopes and an expiry; the file contains only their hashes.
        public var namedCredentials: [NamedCredential] = []
        /// The roots of a simulated Apple whose devices are trusted; nil for none. The service warns about it when it starts.
        public var trustSimulator: SimulatorTrust?
        /// The apps that are served.
        public var apps: [App] = []
        /// The challenges that apps sign.
        public var challenges = Challenges()
        /// The tokens that are issued.
        public var tokens = Tokens()
        /// How much callers may use.
        public var limits = Limits()
        /// The Apple account; without one (nil) receipts are not refreshed, and DeviceCheck is unavailable.
        public var apple: AppleAccount?
        /// Where Apple's servers are.
        public var appleHosts = AppleHosts()
        /// When receipts are refreshed with Apple.
        public var receipts = Receipts()
        /// What the two bits of DeviceCheck mean; at most one entry for each bit.
        public var bits: [Bit] = []
        /// How much gateways let through, by name.
        public var quotas: [Quota] = []
        /// What gateways may watch.
        public var observe = Observe()
        /// Where spans of requests go.
        public var tracing = Traces()
        /// The interface that answers like Firebase App Check; nil for none.
        public var appCheck: AppCheck?

        /// A service without an app: add the apps that it serves to ``apps``.
        public init() {}
    }
}

package typealias Configuration = TrustServer.Configuration

/// A host and port to listen on; port 0 picks a free one.
public struct ListenAddress: Sendable, Equatable, CustomStringConvertible {
    /// A name or an address, without brackets.
    public var host: String
    /// 0 to 65535.
    public var port: Int

    /// A place to listen, which is bound when the service starts.
    public init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Reads `HOST:PORT`, brackets around an IPv6 address allowed; `*` and no host at all are every IPv4 address.
    public init?(_ text: String) {
        guard let (host, port) = HostPort.listener(text) else { return nil }
        self.init(host: host.isEmpty || host == "*" ? "0.0.0.0" : String(host), port: port)
    }

    /// As in a URL: an IPv6 address is in brackets.
    public var description: String { HostPort.text(host: host, port: port) }

    /// Whether one program cannot listen on both: the same port of one host, or of every IPv4 or IPv6 address of the machine.
    package func overlaps(_ other: ListenAddress) -> Bool {
        let wildcards = ["0.0.0.0", "::"]
        return port != 0 && port == other.port
            && (host.utf8.elementsEqual(other.host.utf8) || wildcards.contains(host) || wildcards.contains(other.host))
    }

    /// Whether nobody but this machine can connect.
    package var isLoopback: Bool { AddressKind.isLoopback(host: host) }
}

/// Where the state lives.
package enum StoreLocation: Sendable, Equatable {
    case sqlite(path: String)
    /// The URL may contain a password: never print it.
    case postgres(url: String)

    /// Reads `sqlite:PATH`, a path alone, or a URL of PostgreSQL; nil for anything else.
    package init?(_ text: String) {
        // The system would take a zero byte for the end of the path, and open another file.
        if text.utf8.contains(0) { return nil }
        if text.hasPrefix("sqlite:"), text.utf8.count > 7 {
            self = .sqlite(path: String(text.dropFirst(7)))
        } else if text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") {
            self = .postgres(url: text)
        } else if !text.isEmpty, !text.contains(":") {
            self = .sqlite(path: text)
        } else {
            return nil
        }
    }
}

/// Accepted bearer tokens: the lines of a file, already read.
public struct CredentialSource: Sendable {
    package let tokens: [String]

    /// Makes one from its parts.
    ///
    /// - Parameters:
    ///   - tokens: each of at least 32 printable ASCII characters without spaces.
    public init(tokens: [String]) { self.tokens = tokens }

    /// A shorter token could be guessed: the contract's least length, in characters.
    package static let minimumLength = 32
    /// What is wrong with a shorter one.
    package static let shortness =
        "is shorter than \(minimumLength) characters; `sealward tokens new` makes one that is long enough"
}

/// The roots of a simulated Apple, already read.
public struct SimulatorTrust: Sendable {
    package var attestationRootPEM: String
    package var receiptRootPEM: String

    /// Makes one from its parts.
    ///
    /// - Parameters:
    ///   - attestationRootPEM: the root certificate that signs simulated attestations, as PEM.
    ///   - receiptRootPEM: the root certificate that signs simulated receipts, as PEM.
    public init(attestationRootPEM: String, receiptRootPEM: String) {
        self.attestationRootPEM = attestationRootPEM
        self.receiptRootPEM = receiptRootPEM
    }
}

extension TrustServer.Configuration {
    /// How the clientDataHash of an attestation is made.
    public enum Binding: String, Sendable, CaseIterable {
        /// SHA-256 of the challenge.
        case challenge
        /// The challenge itself, 16 bytes or more.
        case raw
        /// SHA-256 of client data that contains the challenge.
        case clientData
    }

    /// What a refusal does.
    public enum Mode: String, Sendable, CaseIterable {
        /// Nothing is judged.
        case off
        /// The answer is 200 and names the refusal.
        case monitor
        /// The request is refused.
        case enforce
    }

    /// How users are named in the store, in answers and in lists.
    public enum Users: String, Sendable, CaseIterable {
        /// As requests name them.
        case plain
        /// `u_` and a keyed hash of the name.
        case hashed
    }

    /// What a caller gets that cannot attest.
    public enum Untrusted: String, Sendable, CaseIterable {
        /// Nothing.
        case refuse
        /// A token of tier `none`.
        case allow
    }

    /// What gateways may watch without refusing anything.
    public struct Observe: Sendable, Equatable {
        /// The names of routes that gateways may give, at most 64; with none, nothing is watched.
        public var routes: [String] = []

        /// Watches nothing.
        public init() {}
    }

    /// One app.
    public struct App: Sendable {
        /// Its name in paths, tokens and metrics.
        public var id: String
        /// The developer team that signs it.
        public var teamId: String
        /// The prefix of its app id: the team id, unless Apple gave it another one.
        public var appIdPrefix: String
        /// The accepted identities, one at least. An App Clip attests as its full app.
        public var bundleIds: [String]
        /// The environments whose keys are accepted, one at least.
        public var environments: [AttestationEnvironment] = [.production]
        /// How an attestation covers the challenge.
        public var binding = Binding.challenge
        /// What the counter of an assertion decides.
        public var counterMode = CounterMode.strict
        /// What a refusal does.
        public var mode = Mode.enforce
        /// The accepted validation categories (iOS 27 and later); nil for all.
        public var allowedValidationCategories: [Int]?
        /// The accepted bundle versions (iOS 27 and later); nil for all.
        public var allowedBundleVersions: [String]?
        /// Refuses attestations without a validation category, and proofs without what an `allowed` property lists.
        public var requireExtensions = false
        /// Refuses assertions whose client data does not name the host of ``TrustServer/Configuration/listen``, or one of
        /// ``TrustServer/Configuration/hosts``, as its member `host`.
        public var requireHost = false
        /// What a caller that cannot attest gets: nothing, or a token of tier `none`.
        public var untrusted = Untrusted.refuse
        /// How fast installations are told to attest; nil tells all of them at once.
        public var ramp: Ramp?

        /// An app with the defaults that the properties state.
        ///
        /// - Parameter appIdPrefix: nil for the team id.
        public init(id: String, teamId: String, appIdPrefix: String? = nil, bundleIds: [String]) {
            self.id = id
            self.teamId = teamId
            self.appIdPrefix = appIdPrefix ?? teamId
            self.bundleIds = bundleIds
        }

        /// The accepted identities: prefix, dot, bundle identifier.
        package var appIds: [String] { bundleIds.map { "\(appIdPrefix).\($0)" } }
    }

    /// The pace at which installations are asked to attest.
    public struct Ramp: Sendable {
        /// The installations to spread over the plan; `sealward ramp` prints it.
        public var dailyActiveUsers: Int?
        /// When the plan starts; nobody is told to attest before.
        public var start: Date?
        /// The maximum number of installations per second; nil for Apple's advice.
        public var maxPerSecond: Double?
        /// The share of installations to be told to attest, 0 to 100, instead of a plan.
        public var percent: Double?
        /// Pauses the ramp: no installation is told to attest.
        public var paused = false

        /// No plan and no share: all installations are told to attest.
        public init() {}
    }

    /// The challenges that apps sign.
    public struct Challenges: Sendable {
        /// How long a challenge is valid: whole seconds, up to a day.
        public var ttl: Duration = .seconds(300)
    }

    /// The tokens that are issued.
    public struct Tokens: Sendable {
        /// The `iss` of the tokens.
        public var issuer = "sealward"
        /// The `aud` of the tokens.
        public var audience = "sealward"
        /// P-256 private keys as PEM: the first signs, all are published. Without any the store holds one.
        public var keyPEMs: [String] = []
        /// How long a token is valid: whole seconds, up to a day.
        public var ttl: Duration = .seconds(3600)
    }

    /// How much callers may use.
    public struct Limits: Sendable {
        /// The requests per second from one client; more are answered with 429.
        public var requestsPerSecondPerAddress = 200
        /// The requests per second for one app; nil for no limit.
        public var requestsPerSecondPerApp: Int?
        /// The largest request body, in bytes: 256 to 65,536.
        public var bodyBytes = RequestBody.mostBytes
        /// The maximum number of open connections; nil for what the process's file descriptors allow, which is never exceeded.
        public var connections: Int?
        /// The maximum number of open connections from one IPv4 address or IPv6 /64 network; nil for a sixteenth of all, at least 64. Trusted proxies
        /// are exempt.
        public var connectionsPerAddress: Int?
        /// The requests of one operation that may be in flight, nil for 64 on each core; more are answered with 503.
        public var inFlight: Int?
        /// The production keys that one user of an app may register in a day; 0 for no limit.
        public var newKeysPerUser = 50
        /// The keys that may be registered from one IPv4 address or IPv6 /64 network in an hour; 0 for no limit. This machine and trusted
        /// proxies are exempt.
        public var newKeysPerAddress = 0
        /// Whether simulated keys count too, so that a test can reach both limits.
        package var countsSimulatedKeys = false
    }

    /// The Apple account: a key with DeviceCheck enabled.
    public struct AppleAccount: Sendable {
        package var teamId: String
        package var keyId: String
        package var keyPEM: String

        /// Makes one from its parts.
        ///
        /// - Parameters:
        ///   - teamId: the team of the key, ten characters.
        ///   - keyId: the identifier of the key, ten characters.
        ///   - keyPEM: the P-256 private key as PEM, as Apple issues it (`.p8`).
        public init(teamId: String, keyId: String, keyPEM: String) {
            self.teamId = teamId
            self.keyId = keyId
            self.keyPEM = keyPEM
        }
    }

    /// Where Apple's servers are: https URLs, or http URLs on this machine.
    public struct AppleHosts: Sendable {
        /// Apple's server for the receipts of production apps.
        public var data = AppleEndpoint.data.baseURL
        /// Apple's server for the receipts of apps in development.
        public var dataDevelopment = AppleEndpoint.dataDevelopment.baseURL
        /// Apple's server for the bits of devices, production.
        public var deviceCheck = AppleEndpoint.deviceCheck.baseURL
        /// Apple's server for the bits of devices, development.
        public var deviceCheckDevelopment = AppleEndpoint.deviceCheckDevelopment.baseURL
    }

    /// When receipts are refreshed with Apple.
    public struct Receipts: Sendable {
        /// Whether they are refreshed; this requires the Apple account.
        public var refresh = true
        /// When a receipt is refreshed, counted from the last time: whole seconds, up to a year; never before the receipt allows it.
        public var refreshAfter: Duration = .seconds(86400)
        /// How often due receipts are looked for: whole seconds, up to a day.
        public var poll: Duration = .seconds(60)
    }

    /// Spans of requests, for an OpenTelemetry backend.
    public struct Traces: Sendable {
        /// Whose `traceparent` a request continues.
        public enum Trust: String, Sendable, CaseIterable {
            /// That of the proxies in ``TrustServer/Configuration/trustedProxies``; all others begin a trace.
            case proxies
            /// That of every caller, who thereby chooses what is recorded.
            case everyone
        }

        /// The base URL of an OTLP/HTTP receiver: https, or http on this machine or the local network. nil traces nothing.
        public var endpoint: String?
        /// Sent to the receiver with each batch: names and values.
        public var headers: [String: String] = [:]
        /// The share of the traces begun here that is recorded: 0 to 1.
        public var sample = 1.0
        /// Whose `traceparent` a request continues.
        public var trust = Trust.proxies
    }

    /// One of the two bits, with the meaning that the team gave it.
    public struct Bit: Sendable, Equatable {
        package var bit: Int
        package var name: String
        package var resetAfterMonths: Int?

        /// Makes one from its parts.
        ///
        /// - Parameters:
        ///   - bit: 0 or 1.
        ///   - name: its name in requests, and the name of its promotion.
        ///   - resetAfterMonths: after how many months without a change it counts as clear; nil for never.
        public init(bit: Int, name: String, resetAfterMonths: Int? = nil) {
            self.bit = bit
            self.name = name
            self.resetAfterMonths = resetAfterMonths
        }
    }
}
