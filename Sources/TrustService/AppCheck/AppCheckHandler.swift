// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import AppleServices
import DeviceCheckBits
import Formats
import FoundationEssentials
import HTTPService
import TrustStores
import TrustTokens
import Vocabulary

/// The calls of an app, as Firebase App Check answers them (`docs/app-check.md`).
struct AppCheckHandler: Handler {
    let parts: ServiceParts
    /// Wrong debug tokens of one address: ten at once, then one in six seconds.
    private let misses = RequestLimits(perSecond: 1 / 6, burst: 10, tableLimit: 4096)

    var routes: [Route] {
        func verb(
            _ operation: String, asksApple: Bool = false, _ handler: @escaping @Sendable (Call) async throws -> Answer
        ) -> Route {
            let path = "/v1/projects/{project}/apps/{appId}:\(operation)"
            return Route(operation, "POST", path, .app, errors: AppCheckError.form, asksApple: asksApple, handler)
        }
        return [
            verb("generateAppAttestChallenge", issueChallenge),
            verb("exchangeAppAttestAttestation", exchangeAttestation),
            verb("exchangeAppAttestAssertion", exchangeAssertion),
            verb("exchangeDeviceCheckToken", asksApple: true, exchangeDeviceToken),
            verb("exchangeDebugToken", exchangeDebugToken),
            Route("appCheckKeySet", "GET", "/v1/jwks", .open, errors: AppCheckError.form, keySet),
        ] + verifications
    }

    /// `/v1/jwks`: with `?for=debug` also the key of debug tokens and simulated devices.
    @Sendable private func keySet(_ call: Call) async throws -> Answer {
        let tokens = try side.tokens
        guard let reader = call.queryValue("for") else { return .json(tokens.published) }
        guard reader.hasSameBytes(as: "debug") else {
            throw Problem(.requestMalformed, evidence: "for must be debug")
        }
        return .json(tokens.publishedForDebug)
    }

    private var side: AppCheckSide {
        get throws(Problem) {
            guard let side = parts.live.current.appCheck else { throw Problem(.pathUnknown) }
            return side
        }
    }

    /// The side of App Check and the app of a path, within its limit, and the body.
    private func served(_ call: Call) throws(Problem) -> (Served, AppCheckBody) {
        let side = try side
        guard let project = call.parameters["project"], side.isProject(project), let id = call.parameters["appId"],
            let name = side.app(id)
        else { throw Problem(.appUnknown, evidence: "no such project or app of App Check") }
        let app = try parts.apps.app(name, call)
        // A client that is told 503 tries again later; 403 would cost it its key.
        if app.settings.mode == .off { throw Problem(.policyOff) }
        return (Served(side: side, id: id, app: app), try AppCheckBody(call.body))
    }

    private struct Served: Sendable {
        let side: AppCheckSide
        /// The App Check id.
        let id: String
        let app: ServedApp

        /// App Check hashes a challenge in one way, and says nothing of a purpose when it asks for one.
        var terms: ProofTerms {
            ProofTerms(
                purpose: .exchange, binding: .challenge, acceptsSimulated: side.settings.simulated == .allow,
                namesHost: false)
        }
    }

    /// `:generateAppAttestChallenge`: for an attestation or an assertion, which the client does not say.
    @Sendable private func issueChallenge(_ call: Call) async throws -> Answer {
        let (served, _) = try served(call)
        let seconds = parts.configuration.challenges.ttl / .seconds(1)
        let challenge = parts.challenges.current.issue(
            for: ChallengeBinding(purpose: .exchange, app: served.app.settings.id),
            expiresAt: call.now.addingTimeInterval(seconds), random: parts.sources.random(ChallengeCodec.randomLength))
        parts.observer.count(.challengesIssued)
        return .json(["challenge": .string(Base64.encode(challenge)), "ttl": .string("\(Int(seconds))s")])
    }

    /// `:exchangeAppAttestAttestation`: registers the key, and gives an artifact that stands for it, and a token.
    @Sendable private func exchangeAttestation(_ call: Call) async throws -> Answer {
        let (served, body) = try served(call)
        guard let keyId = KeyIdentifier(bytes: try body.bytes("keyId")) else {
            throw Problem(.requestMalformed, evidence: "keyId must be 32 bytes")
        }
        let presented = PresentedAttestation(
            keyId: keyId, attestation: try body.bytes("attestationStatement"),
            challenge: try body.bytes("challenge"), terms: served.terms)
        let limitedUse = try body.limitedUse()
        return try await parts.modes.judged(served.app, call, keyId: keyId, monitors: false) {
            try await parts.proofs.register(presented, served.app, call).then { registered in
                // A native repeat only hears what is stored. Here it would get a token for a challenge that was spent.
                guard registered.isNew else {
                    return .failure(
                        ProofRefusal(.challengeUsed, evidence: "this attestation has already been exchanged"))
                }
                let key = registered.key
                let artifact = AppCheckArtifact(keyId: key.id, environment: key.environment, simulated: key.simulated)
                let sealed = try served.side.artifacts.seal(artifact, appId: served.id, app: served.app.settings.id)
                let token = try issue(
                    AppCheckClaims.Subject(key), try await parts.risk.trust(in: key, at: call.now), limitedUse, served,
                    call)
                return .success(.json(["artifact": .string(Base64.encode(sealed)), "appCheckToken": token]))
            }
        }
    }

    /// `:exchangeAppAttestAssertion`: a token for an assertion over artifact and challenge.
    @Sendable private func exchangeAssertion(_ call: Call) async throws -> Answer {
        let (served, body) = try served(call)
        let sealed = try body.bytes("artifact")
        let challenge = try body.bytes("challenge")
        let assertion = try body.bytes("assertion")
        let limitedUse = try body.limitedUse()
        let artifact = served.side.artifacts.open(sealed, appId: served.id, app: served.app.settings.id)
        return try await parts.modes.judged(served.app, call, keyId: artifact?.keyId, monitors: false) {
            guard let artifact else {
                return .failure(
                    ProofRefusal(.keyUnknown, evidence: "the artifact was not sealed by this service for this app"))
            }
            let presented = PresentedAssertion(
                keyId: artifact.keyId, assertion: assertion, clientData: sealed, challenge: challenge,
                terms: served.terms)
            return try await parts.proofs.accept(presented, served.app, call) { judged in
                guard judged.key.environment == artifact.environment, judged.key.simulated == artifact.simulated else {
                    return .failure(
                        ProofRefusal(.keyUnknown, evidence: "the artifact belongs to another environment"))
                }
                guard call.now.timeIntervalSince(judged.key.attestedAt) <= AppCheckArtifacts.life / .seconds(1) else {
                    return .failure(
                        ProofRefusal(.keyUnknown, evidence: "the artifact has expired: it is older than a year"))
                }
                // Signed before the commit: what fails afterwards would cost the app an assertion that counts as spent.
                return .success(
                    .json(try issue(AppCheckClaims.Subject(judged.key), judged.trust, limitedUse, served, call)))
            }
        }
    }

    /// `:exchangeDeviceCheckToken`: a token for a device token that Apple finds genuine. It names no device, so the tier is the lowest.
    @Sendable private func exchangeDeviceToken(_ call: Call) async throws -> Answer {
        let (served, body) = try served(call)
        let deviceToken = Base64.encode(try body.bytes("deviceToken"))
        let limitedUse = try body.limitedUse()
        let environments = try parts.device.environments(named: nil, of: served.app)
        return try await parts.modes.judged(served.app, call, keyId: nil, monitors: false) {
            do {
                _ = try await parts.device.first(environments) {
                    try await $0.validate(
                        deviceToken: deviceToken, transactionId: Base64.encodeURL(parts.sources.random(16)),
                        at: call.now)
                }
            } catch let fault as DeviceCheckFault where fault.code == .deviceTokenInvalid {
                return .failure(ProofRefusal(.deviceTokenInvalid, evidence: fault.reason))
            }
            return .success(.json(try issue(.device, .lowest, limitedUse, served, call)))
        }
    }

    /// `:exchangeDebugToken`: a token for simulators and continuous integration, if the configuration names the debug token.
    @Sendable private func exchangeDebugToken(_ call: Call) async throws -> Answer {
        let (served, body) = try served(call)
        let debugToken = try body.text("debugToken", limit: 1024)
        let limitedUse = try body.limitedUse()
        let address = CallerAddress.bucket(of: call.address)
        if let wait = misses.wait(address, at: parts.sources.uptime()) {
            throw Problem(.limitAddress, retryAfterSeconds: wait, evidence: "wrong debug tokens")
        }
        return try await parts.modes.judged(served.app, call, keyId: nil, monitors: false) {
            guard let name = served.side.debugName(of: debugToken, app: served.app.settings.id, at: call.now) else {
                _ = misses.take(address, at: parts.sources.uptime())
                return .failure(ProofRefusal(.tokenInvalid, evidence: "an unknown debug token, or another app's"))
            }
            return .success(.json(try issue(.debug(name), .lowest, limitedUse, served, call)))
        }
    }

    private func issue(
        _ subject: AppCheckClaims.Subject, _ trust: JudgedTrust, _ limitedUse: Bool, _ served: Served, _ call: Call
    ) throws -> JSONValue {
        let (token, seconds) = try served.side.tokens.issue(
            subject, appId: served.id, trust: trust, limitedUse: limitedUse, identifier: parts.sources.random(16),
            at: call.now)
        parts.observer.count(.tokensIssued)
        return ["token": .string(token), "ttl": .string("\(seconds)s")]
    }
}

extension JudgedTrust {
    /// That of what proves no key.
    fileprivate static let lowest = JudgedTrust(tier: TrustTier.low.rawValue)
}

extension AppCheckClaims.Subject {
    fileprivate init(_ key: StoredKey) {
        self = .key(key.id.base64, environment: key.environment, simulated: key.simulated)
    }
}
