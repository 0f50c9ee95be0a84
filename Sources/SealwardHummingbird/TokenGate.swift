// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Formats
package import FoundationEssentials
public import HTTPTypes
import TLSModel
public import TrustTokens
import Vocabulary

/// Checks the tokens of a trust service for a server that runs beside it.
///
/// Which check is right depends on what the request may cost: see ``Proof``. Whatever cannot be found out is refused with 503.
///
///     let gate = TokenGate(.init(service: "https://trust.example.com", issuer: "https://trust.example.com",
///                                audience: "shop-api", apps: ["ABCDE12345.com.example.shop"]))
///     router.addMiddleware { AttestationMiddleware(gate) }
public struct TokenGate: Sendable {
    /// How a token is proven.
    public struct Proof: Sendable {
        enum Kind: Sendable {
            case signature
            case service(quota: String?)
            case singleUse(serverToken: String)
        }

        let kind: Kind

        /// By its signature, without asking the service about each token: the fastest. The gate reads the service's list of revoked keys
        /// once a minute, so a revoked key stops within two minutes; see ``Configuration/missingRevocationList``.
        public static let signature = Proof(kind: .signature)

        /// By its signature, and then by `GET /v1/authorize`: a revoked key stops at once, at the cost of one call for each request.
        ///
        /// - Parameter quota: the quota of the service's configuration that each request counts against; none if nil.
        public static func service(quota: String? = nil) -> Proof { Proof(kind: .service(quota: quota)) }

        /// By its signature, and then by `POST /v1/tokens/consume`: the token passes once, on any number of servers. Only tokens that were
        /// issued with `singleUse` do; a revoked key stops at once.
        ///
        /// - Parameter serverToken: the credential of this server at the service.
        public static func singleUse(serverToken: String) -> Proof { Proof(kind: .singleUse(serverToken: serverToken)) }
    }

    /// What ``Proof/signature`` does while the gate has no valid list of revoked keys: the service does not answer for longer than the last
    /// list is valid (five minutes at most), or is of a version without the list.
    public struct MissingRevocationList: Sendable, Equatable {
        let passes: Bool

        /// Nobody passes: 503 `token.unchecked`.
        public static let refuse = MissingRevocationList(passes: false)
        /// A good signature passes, so a revoked key does until its token expires.
        public static let pass = MissingRevocationList(passes: true)
    }

    /// What the gate lets through, and how it asks.
    public struct Configuration: Sendable {
        /// The address of the trust service, without a path: https, or http at a loopback address. With any other nobody passes.
        public var service: String
        /// `tokens.issuer` of the service's configuration.
        public var issuer: String
        /// `tokens.audience` of the service's configuration.
        public var audience: String
        /// The apps that pass, as `PREFIX.bundle`.
        public var apps: Set<String>
        /// The environments that pass.
        public var environments: Set<AttestedIdentity.Environment> = [.production]
        /// The lowest tier that passes.
        public var lowestTier: TrustTier = .low
        /// Whether tokens of simulated devices pass, which a second set of keys signs. For tests only.
        public var trustsSimulator = false
        /// How a token is proven.
        public var proof: Proof = .signature
        /// What happens while the list of revoked keys cannot be had.
        public var missingRevocationList: MissingRevocationList = .refuse
        /// How old the keys may be before they are fetched again, so a key that the service removes is forgotten after this time. They stay in use
        /// for an hour while the service does not answer.
        public var keyLifetime: Duration = .seconds(60)
        /// The time limit for one call to the service.
        public var timeout: Duration = .seconds(5)

        /// Production tokens of these apps, proven by their signature.
        public init(service: String, issuer: String, audience: String, apps: Set<String>) {
            self.service = service
            self.issuer = issuer
            self.audience = audience
            self.apps = apps
        }
    }

    private let configuration: Configuration
    private let apps: Set<UTF8Key>
    private let transport: any GateTransport
    private let production: TokenKeys
    private let simulated: TokenKeys?
    private let revoked: RevokedKeys
    private let isServiceProtected: Bool
    private let now: @Sendable () -> Date

    /// - Parameters:
    ///   - uptime: a clock that is never set.
    ///   - now: the time of day, which tokens are judged by.
    package init(
        _ configuration: Configuration, transport: any GateTransport, uptime: @escaping @Sendable () -> Duration,
        now: @escaping @Sendable () -> Date
    ) {
        self.configuration = configuration
        self.transport = transport
        self.now = now
        apps = Set(configuration.apps.map { UTF8Key($0) })
        func keys(_ path: String) -> TokenKeys {
            TokenKeys(
                url: configuration.service + path, lifetime: configuration.keyLifetime, transport: transport,
                uptime: uptime)
        }
        let production = keys("/.well-known/jwks.json")
        self.production = production
        revoked = RevokedKeys(
            url: configuration.service + "/v1/revoked", issuer: configuration.issuer, keys: production,
            transport: transport, uptime: uptime, now: now)
        isServiceProtected = TokenGate.isProtected(configuration.service)
        simulated = configuration.trustsSimulator ? keys("/simulator/.well-known/jwks.json") : nil
    }

    /// Whether nobody on the way to this address can answer in its place.
    private static func isProtected(_ address: String) -> Bool {
        guard let url = URLComponents(string: address), let host = url.host, !host.isEmpty else { return false }
        let name = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        return url.scheme == "https" || url.scheme == "http" && AddressKind.isLoopback(host: name)
    }

    /// Whether a request with these header fields may pass, and who sent it.
    public func judge(_ headers: HTTPFields) async -> Result<AttestedIdentity, GateRefusal> {
        let fields = headers[values: .authorization]
        guard let field = fields.first else {
            return .failure(GateRefusal("token.missing", 401, "no Authorization header"))
        }
        let scheme = "bearer "
        guard fields.count == 1, field.utf8.count > scheme.utf8.count,
            field.prefix(scheme.utf8.count).lowercased().hasSameBytes(as: scheme)
        else { return .failure(GateRefusal("token.missing", 401, "not exactly one bearer token")) }
        return await judge(token: String(field.dropFirst(scheme.utf8.count)))
    }

    /// The same for a token by itself.
    public func judge(token: String) async -> Result<AttestedIdentity, GateRefusal> {
        do throws(GateRefusal) {
            return .success(try await check(token))
        } catch {
            return .failure(error)
        }
    }

    private func check(_ token: String) async throws(GateRefusal) -> AttestedIdentity {
        guard isServiceProtected else {
            throw GateRefusal.unchecked("the address of the service must be https, or http at a loopback address")
        }
        let claims = try await signed(token)
        var identity = try identity(of: claims)
        switch configuration.proof.kind {
        case .signature:
            guard !claims.isSingleUse else { throw GateRefusal.singleUse }
            try await refuseRevoked(identity.key, token)
        case .service(let quota):
            guard !claims.isSingleUse else { throw GateRefusal.singleUse }
            identity.quotaRemaining = try await authorize(token, quota: quota)
        case .singleUse(let serverToken):
            guard claims.isSingleUse else {
                throw GateRefusal("token.not-single-use", 400, "the token is not a single-use token")
            }
            try await consume(token, serverToken)
        }
        return identity
    }

    // MARK: - Without the service

    /// The claims of a token that a key of the service signed.
    private func signed(_ text: String) async throws(GateRefusal) -> TokenClaims {
        let token: CompactToken
        do {
            token = try CompactToken(text, algorithm: "ES256")
        } catch {
            throw GateRefusal.invalid(error.reason)
        }
        var isUnavailable = false
        let sets: [(keys: TokenKeys?, isSimulator: Bool)] = [(production, false), (simulated, true)]
        for (set, isSimulator) in sets {
            guard let set else { continue }
            switch await set.key(token.keyId) {
            case .key(let key):
                // What nobody signed is never read.
                guard token.isSigned(by: key), let claims = token.claims.flatMap(TokenClaims.init) else {
                    throw GateRefusal.invalid("the signature or a claim")
                }
                let issuer = configuration.issuer + (isSimulator ? "/simulator" : "")
                guard claims.issuer.hasSameBytes(as: issuer), claims.isSimulated == isSimulator,
                    claims.audience.hasSameBytes(as: configuration.audience)
                else { throw GateRefusal.invalid("the issuer or audience") }
                return claims
            case .unknown: continue
            case .unavailable: isUnavailable = true
            }
        }
        throw isUnavailable
            ? GateRefusal.unchecked("the keys of the service cannot be fetched") : GateRefusal.invalid("an unknown key")
    }

    private func identity(of claims: TokenClaims) throws(GateRefusal) -> AttestedIdentity {
        guard let key = claims.key, let tier = TrustTier(rawValue: claims.tier),
            let environment = AttestedIdentity.Environment(rawValue: claims.environment)
        else { throw GateRefusal.invalid("a claim") }
        guard claims.life.contains(now()) else { throw GateRefusal.invalid("expired, or issued later than now") }
        guard apps.contains(UTF8Key(claims.app)) else { throw GateRefusal("policy.app", 403, "another app") }
        guard configuration.environments.contains(environment) else {
            throw GateRefusal("policy.environment", 403, "another environment")
        }
        guard tier >= configuration.lowestTier else {
            throw GateRefusal("policy.tier", 403, "the tier is too low")
        }
        return AttestedIdentity(
            app: claims.app, key: key, tier: tier, environment: environment, isSimulated: claims.isSimulated,
            tokenIdentifier: claims.identifier, expiresAt: claims.life.end)
    }

    /// Looks for the key in the list of revoked keys; asks the service where the list leaves keys out.
    private func refuseRevoked(_ key: String, _ token: String) async throws(GateRefusal) {
        guard let key = Base64.decode(key) else { throw GateRefusal.invalid("a key that is not base64") }
        switch await revoked.standing(ofKey: key) {
        case .good: return
        case .revoked: throw GateRefusal("key.revoked", 403, "the list of revoked keys names it")
        case .unlisted: _ = try await authorize(token, quota: nil)
        case .unknown:
            if configuration.missingRevocationList.passes { return }
            throw GateRefusal.unchecked("the list of revoked keys cannot be fetched")
        }
    }

    // MARK: - With the service

    /// - Returns: what is left of the quota.
    private func authorize(_ token: String, quota: String?) async throws(GateRefusal) -> Int? {
        var query = ["env=\(environmentTerm)"]
        if configuration.trustsSimulator { query.append("simulated=allow") }
        if let quota { query.append("quota=" + TokenGate.escaped(quota)) }
        let url = configuration.service + "/v1/authorize?" + query.joined(separator: "&")
        let answer = try await ask(.get(url, bearer: token), expecting: 204)
        if quota != nil, answer.quotaRemaining == nil {
            throw GateRefusal.unchecked("the service did not count the quota")
        }
        return answer.quotaRemaining
    }

    /// The environments that pass, in the words of the service.
    private var environmentTerm: String {
        configuration.environments.count == 1 ? configuration.environments.map(\.rawValue).joined() : "any"
    }

    private func consume(_ token: String, _ serverToken: String) async throws(GateRefusal) {
        var members: [JSONValue.Member] = [
            .init("token", .string(token)), .init("environment", .string(environmentTerm)),
        ]
        if configuration.trustsSimulator { members.append(.init("simulated", "allow")) }
        let body = JSONValue.object(members)
        let request = GateRequest(
            method: "POST", url: configuration.service + "/v1/tokens/consume", bearer: serverToken,
            body: body.encoded(pretty: false))
        _ = try await ask(request, expecting: 200)
    }

    /// The service's own refusals go on to the app; what only its operator can fix becomes 503.
    private func ask(_ request: GateRequest, expecting status: Int) async throws(GateRefusal) -> GateAnswer {
        guard let answer = try? await transport.send(request) else {
            throw GateRefusal.unchecked("the service does not answer")
        }
        if answer.status == status { return answer }
        var limits = JSONReader.Limits.outside
        limits.nameBytes = 64
        let document = try? JSONReader.read(answer.body, limits: limits)
        guard let code = document?.member("code")?.text, code.utf8.count <= 64,
            code.utf8.allSatisfy({ 0x61...0x7A ~= $0 || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }),
            [401, 403, 409, 429, 503].contains(answer.status), !code.hasSameBytes(as: "caller.unauthorized")
        else { throw GateRefusal.unchecked("the service answers with status \(answer.status)") }
        throw GateRefusal(
            code, answer.status, "the service refuses it",
            retryAfterSeconds: answer.retryAfterSeconds ?? (answer.status == 503 ? 5 : nil))
    }

    private static func escaped(_ text: String) -> String { text.utf8.percentEncoded() }
}
