// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Hummingbird
import Logging

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
