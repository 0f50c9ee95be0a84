// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import Metrics
import NIOCore

/// The context of one request: which connection it came over.
struct ServiceRequestContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let peer: String

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        peer = source.channel.remoteAddress?.ipAddress ?? "unix"
    }
}

/// Takes a request through the fixed order: path, method, limits, caller, size, content type; then its handler.
///
/// Every way out of here is an ``Answer``: no error reaches Hummingbird, so no error is answered without a code.
struct ServiceResponder: HTTPResponder {
    let table: RouteTable
    let isInternal: Bool
    let isLoopback: Bool
    let credentials: Credentials
    let trustedProxies: [AddressRange]
    let bodyLimit: Int
    let addressLimits: RequestLimits
    let appLimits: RequestLimits?
    let hasInternalListener: Bool
    let surroundings: Surroundings
    let observer: RequestObserver
    let correlationIds: CorrelationIds

    func respond(to request: Request, context: ServiceRequestContext) async -> Response {
        let start = surroundings.uptime()
        let correlationId = correlationIds.next()
        var operation = "unknown"
        let answer: Answer
        var evidence = ""
        do {
            answer = try await route(request, context, correlationId, &operation)
        } catch {
            let problem = Problem(error)
            evidence = problem.evidence
            answer = .problem(problem, correlationId: correlationId)
        }
        observer.finished(
            operation: operation,
            answer: answer,
            seconds: surroundings.uptime() - start,
            correlationId: correlationId,
            evidence: evidence
        )
        return response(answer, isHead: request.method == .head)
    }

    private func route(
        _ request: Request,
        _ context: ServiceRequestContext,
        _ correlationId: String,
        _ operation: inout String
    ) async throws -> Answer {
        let target = request.head.path ?? ""
        let mark = target.firstIndex { $0 == "?" || $0 == "#" }
        let path = String(target[..<(mark ?? target.endIndex)])
        let query = mark.map { String(target[target.index(after: $0)...]) } ?? ""
        let route: Route
        let parameters: [String: String]
        switch table.match(method: request.method.rawValue, path: path) {
        case .unknown: throw Problem("path.unknown")
        case .method(let allow):
            var problem = Problem("method.not-allowed")
            problem.allow = allow
            throw problem
        case .route(let found, let values): (route, parameters) = (found, values)
        }
        operation = route.operation
        var address = context.peer
        if !trustedProxies.isEmpty {
            let forwarded = request.headers[values: .xForwardedFor].joined(separator: ",")
            address = CallerAddress.resolve(peer: context.peer, forwarded: forwarded, trusted: trustedProxies)
        }
        let caller = credentials.caller(bearer: Call.bearer(in: request.headers))
        try limit(route, caller, address)
        try admit(route, caller)
        let body = try await self.body(of: request, route)
        return try await route.handler(
            Call(
                operation: route.operation,
                parameters: parameters,
                query: query,
                headers: request.headers,
                body: body,
                address: address,
                correlationId: correlationId,
                caller: caller,
                now: surroundings.now()
            )
        )
    }

    /// Servers with a token and the open routes are not limited; everybody else is, and wrong tokens are too.
    private func limit(_ route: Route, _ caller: Call.Caller, _ address: String) throws(Problem) {
        guard route.access != .open, caller == .anyone else { return }
        if let wait = addressLimits.take(CallerAddress.bucket(of: address), at: surroundings.uptime()) {
            throw Problem("limit.address", retryAfterSeconds: max(1, Int(wait.rounded(.up))))
        }
    }

    private func admit(_ route: Route, _ caller: Call.Caller) throws(Problem) {
        switch route.access {
        case .open, .app: return
        case .server, .admin:
            let opens = route.access == .server ? credentials.opensServerRoutes : credentials.opensAdminRoutes
            guard opens, isInternal || !hasInternalListener else { throw Problem("path.unknown") }
            guard caller >= (route.access == .server ? .server : .admin) else { throw Problem("caller.unauthorized") }
        case .metrics:
            guard isInternal || !hasInternalListener else { throw Problem("path.unknown") }
            guard isInternal || isLoopback || caller > .anyone else { throw Problem("caller.unauthorized") }
        }
    }

    private func body(of request: Request, _ route: Route) async throws -> [UInt8] {
        guard route.method == "POST" else { return [] }
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > bodyLimit {
            throw Problem("body.too-large")
        }
        let buffer: ByteBuffer
        do {
            buffer = try await request.body.collect(upTo: bodyLimit)
        } catch is NIOTooManyBytesError {
            throw Problem("body.too-large")
        } catch {
            throw Problem("request.malformed", evidence: "the body ended early")
        }
        let contentType = request.headers[.contentType]
        if buffer.readableBytes == 0, contentType == nil { return [] }
        guard ServiceResponder.isJSON(contentType) else { throw Problem("body.content-type") }
        return Array(buffer.readableBytesView)
    }

    static func isJSON(_ contentType: String?) -> Bool {
        guard let contentType else { return false }
        if contentType == "application/json" { return true }
        let parts = contentType.lowercased().split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
        guard parts.first == "application/json" else { return false }
        return parts.dropFirst().allSatisfy { part in
            !part.hasPrefix("charset=") || part == "charset=utf-8" || part == "charset=\"utf-8\""
        }
    }

    private func response(_ answer: Answer, isHead: Bool) -> Response {
        var headers = HTTPFields()
        if let type = answer.contentType { headers[.contentType] = type }
        headers[.cacheControl] = "no-store"
        for (name, value) in answer.headers { headers[name] = value }
        let status = HTTPResponse.Status(code: answer.status)
        if isHead {
            headers[.contentLength] = String(answer.body.count)
            return Response(status: status, headers: headers)
        }
        if answer.status == 204 { return Response(status: status, headers: headers) }
        return Response(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: answer.body)))
    }
}
