// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import FoundationEssentials
import HTTPService
import TrustTokens
import Vocabulary

/// What an App Check token says beyond Google's claims of project, app and time.
struct AppCheckClaims: Sendable {
    enum Subject: Sendable, Equatable {
        /// A key of App Attest, by its id in standard base64.
        case key(String, environment: String, simulated: Bool)
        /// A device token, which Apple found genuine and which names no device.
        case device
        case debug(String)

        /// Whether no real device was proved: a debug token, or a simulated key.
        var isTest: Bool {
            switch self {
            case .key(_, _, let simulated): simulated
            case .device: false
            case .debug: true
            }
        }

        fileprivate var provider: Provider {
            switch self {
            case .key: .appAttest
            case .device: .deviceCheck
            case .debug: .debug
            }
        }
    }

    fileprivate enum Provider: String {
        case appAttest = "device_check_app_attest"
        case deviceCheck = "device_check_device_identification"
        case debug
    }

    let appId: String
    let subject: Subject
    let trust: JudgedTrust
    let limitedUse: Bool
    let jti: String
    let life: TokenLife
}

/// Issues and reads App Check tokens: RS256 alone, with the issuer and audiences that Google's programs ask for.
///
/// What no real device proved is signed by a key of its own, because programs that check tokens offline know no claim of ours.
struct AppCheckTokens: Sendable {
    private let keys: [RS256Key]
    private let signer: RS256Key
    /// Signs what a debug token or a simulated key got; nil if neither is accepted.
    private let testKey: RS256Key?
    private let issuer: String
    private let audiences: [String]
    private let ttl: Duration
    /// The public keys as a JSON Web Key Set: those of devices, and the key of tests only if simulated devices are allowed.
    let published: JSONValue
    /// The same with the key of tests in any case.
    let publishedForDebug: JSONValue

    static let algorithm = "RS256"

    static let limitedUseLimit = Duration.seconds(300)

    /// Nil without a key that can sign.
    ///
    /// - Parameter testPEM: the private key for what no real device proved; nil if nothing is.
    init?(_ settings: Configuration.AppCheck, testPEM: String?) {
        var keys: [RS256Key] = []
        for pem in settings.keyPEMs {
            guard let key = RS256Key(pem: pem) else { return nil }
            if !keys.contains(where: { $0.identifier == key.identifier }) { keys.append(key) }
        }
        guard let first = keys.first else { return nil }
        self.keys = keys
        signer = first
        issuer = "https://firebaseappcheck.googleapis.com/\(settings.projectNumber)"
        audiences = ["projects/\(settings.projectNumber)", "projects/\(settings.projectId)"]
        ttl = settings.ttl
        testKey = testPEM.flatMap(RS256Key.init(pem:))
        guard (testKey == nil) == (testPEM == nil) else { return nil }
        publishedForDebug = ["keys": .array((keys + [testKey].compactMap { $0 }).map(\.document))]
        published = settings.simulated == .allow ? publishedForDebug : ["keys": .array(keys.map(\.document))]
    }

    /// A token for a proof that was accepted, and its life in seconds.
    func issue(
        _ subject: AppCheckClaims.Subject, appId: String, trust: JudgedTrust, limitedUse: Bool, identifier: [UInt8],
        at now: Date
    ) throws -> (token: String, seconds: Int) {
        guard let signer = subject.isTest ? testKey : signer else {
            throw Problem(.internalError, evidence: "no key for tokens of tests")
        }
        let seconds = Int(min(ttl, limitedUse ? AppCheckTokens.limitedUseLimit : ttl) / .seconds(1))
        var members: [JSONValue.Member] = [
            .init("iss", .string(issuer)), .init("sub", .string(appId)),
            .init("aud", .array(audiences.map(JSONValue.string))), .init("jti", .string(Base64.encodeURL(identifier))),
            .init("provider", .string(subject.provider.rawValue)),
        ]
        members += TokenLife(from: now, seconds: seconds).members + trust.members
        // The same claim as in tokens of the service.
        if limitedUse { members.append(.init("singleUse", true)) }
        switch subject {
        case .key(let id, let environment, let simulated):
            members += [.init("key", .string(id)), .init("env", .string(environment))]
            if simulated { members.append(.init("sim", true)) }
        case .device: break
        case .debug(let name): members.append(.init("debug", .string(name)))
        }
        return (try signer.token(.object(members)), seconds)
    }

    /// The claims of a token that this service signed and that is valid now.
    ///
    /// - Throws: ``Problem`` `token.invalid`.
    func read(_ token: String, at now: Date) throws(Problem) -> AppCheckClaims {
        let claims = try signed(token)
        guard claims.life.contains(now) else { throw Problem(.tokenInvalid, evidence: "expired") }
        return claims
    }

    /// Whether a token that this service signed was good once and has ended.
    func hasEnded(_ token: String, at now: Date) -> Bool { (try? signed(token).life.isOver(at: now)) ?? false }

    /// The claims of a token that this service signed, whatever the time.
    private func signed(_ token: String) throws(Problem) -> AppCheckClaims {
        let compact = try CompactToken.read(token, algorithm: AppCheckTokens.algorithm)
        func isNamed(_ key: RS256Key) -> Bool { key.identifier.hasSameBytes(as: compact.keyId) }
        let testKey = testKey.flatMap { isNamed($0) ? $0 : nil }
        guard let key = testKey ?? keys.first(where: isNamed) else {
            throw Problem(.tokenInvalid, evidence: "an unknown key")
        }
        // The signature comes first: what nobody signed is never decoded.
        guard let signature = compact.signature, key.hasSigned(compact.signed, signature),
            let document = compact.claims
        else { throw Problem(.tokenInvalid, evidence: "the signature") }
        guard document.member("iss")?.text?.hasSameBytes(as: issuer) == true,
            document.member("aud") == JSONValue.array(audiences.map(JSONValue.string)),
            let claims = AppCheckClaims(document), claims.subject.isTest == (testKey != nil)
        else { throw Problem(.tokenInvalid, evidence: "the issuer or audience") }
        return claims
    }
}

extension AppCheckClaims {
    /// Reads what ``AppCheckTokens`` wrote; nil for anything else.
    fileprivate init?(_ document: JSONValue) {
        guard let appId = document.member("sub")?.text, let jti = document.member("jti")?.text,
            let tier = document.member("tier")?.text, document.member("singleUse").map({ $0.flag != nil }) ?? true,
            let life = TokenLife(document)
        else { return nil }
        let subject: Subject
        switch document.member("provider")?.text.flatMap(Provider.init(rawValue:)) {
        case .appAttest:
            guard let key = document.member("key")?.text, let environment = document.member("env")?.text else {
                return nil
            }
            subject = .key(key, environment: environment, simulated: document.member("sim") == true)
        case .deviceCheck: subject = .device
        case .debug:
            guard let name = document.member("debug")?.text else { return nil }
            subject = .debug(name)
        case nil: return nil
        }
        let reasons = document.member("reasons")?.elements?.compactMap(\.text) ?? []
        self.init(
            appId: appId, subject: subject, trust: JudgedTrust(tier: tier, reasons: reasons),
            limitedUse: document.member("singleUse")?.flag ?? false, jti: jti, life: life)
    }
}
