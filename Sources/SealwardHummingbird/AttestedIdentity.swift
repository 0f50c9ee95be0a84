// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Hummingbird
import Logging
public import TrustTokens

/// Which app on which device sent a request, as its token says after the gate has checked it.
///
///     router.get("price") { request, context in
///         let identity = try context.requireAttested()
///         return identity.tier == .low ? "10.00" : "8.00"
///     }
public struct AttestedIdentity: Sendable, Equatable {
    /// Where the key of the device was made.
    public enum Environment: String, Sendable, CaseIterable {
        /// App Store, TestFlight and enterprise builds.
        case production
        /// Builds from Xcode.
        case development
    }

    /// The app, as `PREFIX.bundle`.
    public let app: String
    /// The key of the device in base64: the same for every request of one installation.
    public let key: String
    /// How far the service trusts the device.
    public let tier: TrustTier
    /// Where the key was made.
    public let environment: Environment
    /// Whether a simulated root attested the key. Always false unless the gate trusts simulators.
    public let isSimulated: Bool
    /// The identifier of the token.
    public let tokenIdentifier: String
    /// When the token expires.
    public let expiresAt: Date
    /// What is left of the quota that the gate uses; nil without one.
    public internal(set) var quotaRemaining: Int?
}

/// A request context that can say who sent the request.
public protocol AttestedRequestContext: RequestContext {
    /// Set by ``AttestationMiddleware``; nil on routes without it.
    var attested: AttestedIdentity? { get set }
}

extension AttestedRequestContext {
    /// The identity of a request that passed the middleware.
    ///
    /// - Throws: an `HTTPError` with status 401 on a route that has no ``AttestationMiddleware`` in front of it.
    public func requireAttested() throws -> AttestedIdentity {
        guard let attested else { throw HTTPError(.unauthorized) }
        return attested
    }
}

/// The simplest context with an identity.
public struct BasicAttestedRequestContext: AttestedRequestContext {
    public var coreContext: CoreRequestContextStorage
    public var attested: AttestedIdentity?

    /// Made by Hummingbird for each request.
    public init(source: ApplicationRequestContextSource) { coreContext = CoreRequestContextStorage(source: source) }
}

/// Lets requests from a genuine app on a genuine device through, and tells the handlers who sent them.
///
/// A request without a good token is answered with a problem document (RFC 9457) and the code of `docs/errors.md`; the handlers never see it.
public struct AttestationMiddleware<Context: AttestedRequestContext>: RouterMiddleware {
    private let gate: TokenGate

    /// - Parameter gate: what is let through; one gate serves any number of routes, and keeps the keys for all of them.
    public init(_ gate: TokenGate) { self.gate = gate }

    public func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        switch await gate.judge(request.headers) {
        case .success(let identity):
            var context = context
            context.attested = identity
            return try await next(request, context)
        case .failure(let refusal):
            context.logger.debug(
                "request refused", metadata: ["code": .string(refusal.code), "reason": .string(refusal.reason)])
            return refusal.response
        }
    }
}
