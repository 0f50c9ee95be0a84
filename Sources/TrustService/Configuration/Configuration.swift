// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
package import Foundation
package import TLSFacts

/// Everything that can be set about the service. Every property has the default of the contract.
package struct Configuration: Sendable {
    package var listen = ListenAddress(host: "127.0.0.1", port: 8080)
    package var internalListen: ListenAddress?
    package var trustedProxies: [AddressRange] = []
    package var store = StoreLocation.sqlite(path: "sealward.sqlite")
    package var serverTokens: CredentialSource?
    package var adminTokens: CredentialSource?
    /// The entries of `tokensFile`.
    package var namedCredentials: [NamedCredential] = []
    package var trustSimulator: SimulatorTrust?
    package var apps: [App] = []
    package var challenges = Challenges()
    package var tokens = Tokens()
    package var limits = Limits()
    package var apple: AppleAccount?
    package var appleHosts = AppleHosts()
    package var receipts = Receipts()
    package var bits: [Bit] = []

    package init() {}
}

/// A host and port to listen on; port 0 picks a free one.
package struct ListenAddress: Sendable, Equatable, CustomStringConvertible {
    package var host: String
    package var port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Reads `HOST:PORT`, brackets around an IPv6 address allowed; `*` and no host at all are every IPv4 address.
    package init?(_ text: String) {
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")),
            let port = Int(text[text.utf8.index(after: colon)...]), 0...65535 ~= port
        else { return nil }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        self.init(host: host.isEmpty || host == "*" ? "0.0.0.0" : host, port: port)
    }

    /// As in a URL: an IPv6 address is in brackets.
    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Whether nobody but this machine can connect.
    package var isLoopback: Bool {
        host == "localhost" || host == "::1" || host.hasPrefix("127.")
    }
}

/// Where the state lives.
package enum StoreLocation: Sendable, Equatable {
    case sqlite(path: String)
    /// The URL may hold a password: never print it.
    case postgres(url: String)

    /// Reads `sqlite:PATH`, a path alone, or a URL of PostgreSQL; nil for anything else.
    package init?(_ text: String) {
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

/// A file whose lines are the accepted bearer tokens, already read.
package struct CredentialSource: Sendable {
    package let tokens: [String]

    package init(tokens: [String]) { self.tokens = tokens }

    /// A shorter token could be guessed: the contract's least length, in characters.
    package static let minimumLength = 32
    /// What is wrong with a shorter one.
    package static let shortness =
        "is shorter than \(minimumLength) characters; `sealward tokens new` makes one that is long enough"
}

/// The roots of a simulated Apple, already read.
package struct SimulatorTrust: Sendable {
    package var attestationRootPEM: String
    package var receiptRootPEM: String
}

extension Configuration {
    /// How the clientDataHash of an attestation is made from the challenge.
    package enum Binding: String, Sendable, CaseIterable { case challenge, raw, clientData }

    /// What the counter of an assertion decides.
    package enum CounterMode: String, Sendable, CaseIterable { case strict, challenge }

    /// What a refusal does.
    package enum Mode: String, Sendable, CaseIterable { case off, monitor, enforce }

    package enum Environment: String, Sendable, CaseIterable { case production, development }

    package struct App: Sendable {
        package var id: String
        package var teamId: String
        package var appIdPrefix: String
        package var bundleIds: [String]
        package var environments: [Environment] = [.production]
        package var binding = Binding.challenge
        package var counterMode = CounterMode.strict
        package var mode = Mode.enforce
        package var allowedValidationCategories: [Int]?
        package var allowedBundleVersions: [String]?
        package var requireExtensions = false
        package var ramp: Ramp?

        /// The accepted identities: prefix, dot, bundle identifier.
        package var appIds: [String] { bundleIds.map { "\(appIdPrefix).\($0)" } }
    }

    /// The pace at which installations are asked to attest.
    package struct Ramp: Sendable {
        package var dailyActiveUsers: Int?
        package var start: Date?
        package var maxPerSecond: Double?
        package var percent: Double?
        package var paused = false
    }

    package struct Challenges: Sendable {
        package var ttl: Duration = .seconds(300)
    }

    package struct Tokens: Sendable {
        package var issuer = "sealward"
        package var audience = "sealward"
        /// PEM texts of P-256 private keys; the first signs: the one that `signWith` names, or the first of `keyFiles`.
        package var keyPEMs: [String] = []
        package var ttl: Duration = .seconds(3600)
    }

    package struct Limits: Sendable {
        package var requestsPerSecondPerAddress = 200
        package var requestsPerSecondPerApp: Int?
        package var bodyBytes = 65536
        /// The most open connections; nil for what the descriptors of the process allow, which is never exceeded.
        package var connections: Int?
        /// The most open connections of one IPv4 address or IPv6 network of 64 bits, trusted proxies excepted; nil for half of all.
        package var connectionsPerAddress: Int?
    }

    /// The account with Apple: a key with DeviceCheck enabled.
    package struct AppleAccount: Sendable {
        package var teamId: String
        package var keyId: String
        package var keyPEM: String
    }

    package struct AppleHosts: Sendable {
        package var data = AppleEndpoint.data.baseURL
        package var dataDevelopment = AppleEndpoint.dataDevelopment.baseURL
        package var deviceCheck = AppleEndpoint.deviceCheck.baseURL
        package var deviceCheckDevelopment = AppleEndpoint.deviceCheckDevelopment.baseURL
    }

    package struct Receipts: Sendable {
        package var refresh = true
        package var refreshAfter: Duration = .seconds(86400)
        package var poll: Duration = .seconds(60)
    }

    /// One of the two bits, with the meaning that the team gave it.
    package struct Bit: Sendable, Equatable {
        /// 0 or 1.
        package var bit: Int
        package var name: String
        package var resetAfterMonths: Int?
    }
}
