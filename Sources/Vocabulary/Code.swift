// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// A stable, dotted, lower-case name of a rule, a cause or a refusal, for example `ats.tls.version-too-low`.
///
/// Codes are API: they are listed in `docs/errors.md`, never reused, and never carry a severity. Messages may change; codes may not.
public struct Code: Hashable, Sendable, RawRepresentable, ExpressibleByStringLiteral, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public init(stringLiteral value: String) { rawValue = value }

    public var description: String { rawValue }
}

/// A value with a sentence for people, which is compared by its code alone: sentences may change.
public protocol ComparedByCode: Equatable {
    /// What happened, for programs.
    var code: Code { get }
}

extension ComparedByCode {
    /// Whether the codes are the same.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}

/// What every reader of bytes from outside can find. `docs/errors.md` says what each means.
extension Code {
    package static let malformedBase64: Code = "malformed.base64"
    package static let malformedCertificate: Code = "malformed.certificate"
    package static let malformedTooLarge: Code = "malformed.too-large"
    package static let malformedJSON: Code = "malformed.json"
    package static let malformedTranscript: Code = "malformed.transcript"
    package static let malformedURL: Code = "malformed.url"
    package static let malformedArchive: Code = "malformed.archive"
    package static let malformedBaseline: Code = "malformed.baseline"
    package static let malformedCheckReport: Code = "malformed.check-report"
    package static let malformedCTLogList: Code = "malformed.ct-log-list"
    package static let malformedOCSPResponse: Code = "malformed.ocsp-response"
    package static let malformedPlist: Code = "malformed.plist"
    package static let malformedResolve: Code = "malformed.resolve"
    package static let malformedSystem: Code = "malformed.system"
    package static let malformedTrustStore: Code = "malformed.trust-store"
    package static let malformedCBOR: Code = "malformed.cbor"
    package static let malformedAttestation: Code = "malformed.attestation"
    package static let malformedAuthenticatorData: Code = "malformed.authenticator-data"
    package static let malformedAssertion: Code = "malformed.assertion"
    package static let malformedReceipt: Code = "malformed.receipt"
    package static let malformedAppId: Code = "malformed.app-id"
    package static let malformedPublicKey: Code = "malformed.public-key"
    package static let malformedClientDataHash: Code = "malformed.client-data-hash"
    package static let malformedTrustRoot: Code = "malformed.trust-root"
}

/// What a code means, and who has to do what about it.
///
/// Each family of codes has its table in the module that uses the codes; `sealward explain` and `docs/errors.md` read the tables.
package struct CodeExplanation: Sendable {
    /// Who can do something about it.
    package enum Actor: String, Sendable, CaseIterable {
        /// The administrator of the server that the app talks to.
        case server
        /// The administrator of the network or the firewall between app and server.
        case network
        case developer
        /// The app by itself, while it runs.
        case app
        /// The server that asks the service: a backend or a gateway.
        case backend
        /// The administrator of `sealward serve` or its store.
        case `operator`
        /// The provider of the file or the option that was read.
        case author
        case nobody

        /// The actor in words, for a sentence.
        package var words: String {
            switch self {
            case .server: "the server's administrator"
            case .network: "the administrator of the network between app and server"
            case .developer: "the app's developer"
            case .app: "the app, while it runs"
            case .backend: "the backend or gateway that sent the request"
            case .operator: "Sealward's administrator"
            case .author: "the provider of the input"
            case .nobody: "nobody"
            }
        }
    }

    package let code: Code
    /// What was found, without a full stop.
    package let meaning: String
    package let actor: Actor
    /// What they do, as an instruction without a full stop.
    package let action: String

    package init(_ code: Code, _ meaning: String, _ actor: Actor, _ action: String) {
        self.code = code
        self.meaning = meaning
        self.actor = actor
        self.action = action
    }
}
