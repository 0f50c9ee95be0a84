// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ConnectionAdmission
import Foundation
import HTTPTypes
package import Hummingbird
import Logging
import Metrics
import NIOCore
import TLSModel
import TraceExport
import Vocabulary

/// The context of one request: which connection it came over.
package struct ServiceRequestContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// The address of the other end; `unix` if it has none.
    package let peer: String
    /// The connection.
    let channel: any Channel

    package init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
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
    /// Who may ask for the console.
    let browsers: BrowserGate
    let live: LiveBook
    let trustedProxies: [AddressRange]
    let bodyLimit: Int
    let addressLimits: RequestLimits
    let hasInternalListener: Bool
    let sources: SystemSources
    let observer: RequestObserver
    let correlationIds: CorrelationIds
    /// nil if nothing is traced.
    let spans: RequestSpans?

    func respond(to request: Request, context: ServiceRequestContext) async -> Response {
        // Whoever has gone away gets nothing done: who sends requests and resets each connection would have us work for nobody, behind every limit.
        guard context.channel.isActive else {
            observer.count("requests.abandoned")
            return Response(status: .requestTimeout)
        }
        guard let spans else { return await respond(to: request, context, in: nil) }
        return await spans.around(request, from: context.peer) { await respond(to: request, context, in: $0) }
    }

    private func respond(
        to request: Request, _ context: ServiceRequestContext, in span: RecordedSpan?
    ) async -> Response {
        let start = sources.uptime()
        let correlationId = correlationIds.next()
        let (path, query) = ServiceResponder.target(of: request)
        var found: Route?
        let answer: Answer
        var evidence = ""
        do {
            answer = try await handle(request, path, query, context, correlationId, &found)
        } catch {
            let problem = Problem(error)
            evidence = problem.evidence
            answer = (found?.errors ?? table.errors(of: path)).answer(problem, correlationId)
        }
        let end = sources.uptime()
        observer.finished(
            operation: found?.operation ?? "unknown", answer: answer, seconds: end - start, at: end,
            correlationId: correlationId, evidence: evidence)
        span?.describe(found, answer, correlationId: correlationId)
        return response(answer, isHead: request.method == .head)
    }

    /// The path and the query of a request.
    private static func target(of request: Request) -> (path: String, query: String) {
        let target = request.head.path ?? ""
        let mark = target.utf8.firstIndex(of: UInt8(ascii: "?"))
        return (
            String(target[..<(mark ?? target.endIndex)]),
            mark.map { String(target[target.utf8.index(after: $0)...]) } ?? ""
        )
    }

    private func handle(
        _ request: Request, _ path: String, _ query: String, _ context: ServiceRequestContext, _ correlationId: String,
        _ found: inout Route?
    ) async throws -> Answer {
        var address = context.peer
        if !trustedProxies.isEmpty {
            let forwarded = request.headers[values: .xForwardedFor].joined(separator: ",")
            address = CallerAddress.resolve(peer: context.peer, forwarded: forwarded, trusted: trustedProxies)
        }
        let caller = live.current.credentials.caller(bearer: Call.bearer(in: request.headers), at: sources.now())
        let route: Route
        let parameters: [String: String]
        switch table.match(method: request.method.rawValue, path: path) {
        case .unknown:
            try limit(caller, address)
            throw Problem(.pathUnknown)
        case .method(let allow):
            try limit(caller, address)
            var problem = Problem(.methodNotAllowed)
            problem.allow = allow
            throw problem
        case .route(let known, let values): (route, parameters) = (known, values)
        }
        found = route
        if route.access != .open { try limit(caller, address) }
        try admit(route, caller, address, app: parameters["app"], request)
        let body = try await self.body(of: request, route)
        let call = Call(
            operation: route.operation, parameters: parameters, query: query, headers: request.headers, body: body,
            address: address, correlationId: correlationId, caller: caller, now: sources.now())
        do {
            return try await route.handler(call)
        } catch let problem as Problem where route.access == .open && problem.refusesCaller {
            // A gateway asks for everybody from one address: only what is refused counts against the limit.
            try limit(caller, address)
            throw problem
        }
    }

    /// Servers with a token are not limited; everybody else is, and wrong tokens and unknown paths count too.
    private func limit(_ caller: Call.Caller, _ address: String) throws(Problem) {
        guard caller == .anyone else { return }
        if let wait = addressLimits.take(CallerAddress.bucket(of: address), at: sources.uptime()) {
            throw Problem(.limitAddress, retryAfterSeconds: max(1, Int(wait.rounded(.up))))
        }
    }

    private func admit(
        _ route: Route, _ caller: Call.Caller, _ address: String, app: String?, _ request: Request
    ) throws(Problem) {
        switch route.access {
        case .open, .app: return
        case .console:
            guard isInternal else { throw Problem(.pathUnknown) }
            switch browsers.judge(request.head, needsSource: route.method == "POST") {
            case .admitted: return
            case .otherHost: throw Problem(.requestOtherHost, evidence: "hosts does not have the name in Host")
            case .otherOrigin:
                throw Problem(
                    .requestOtherOrigin,
                    evidence: "the request comes from another origin, or the browser does not say from where")
            }
        case .server, .admin, .audit:
            guard route.access.role.map(live.current.credentials.opens) ?? false, isInternal || !hasInternalListener
            else { throw Problem(.pathUnknown) }
            guard route.access.admits(caller, app: app) else { throw Problem(.callerUnauthorized) }
        case .metrics:
            guard isInternal || !hasInternalListener else { throw Problem(.pathUnknown) }
            // A proxy that is not trusted says nothing about its client, except that there is one.
            let isHere =
                isLoopback && AddressKind.isLoopback(host: address)
                && (!trustedProxies.isEmpty || request.headers[.xForwardedFor] == nil)
            guard isInternal || isHere || caller != .anyone else { throw Problem(.callerUnauthorized) }
        }
    }

    private func body(of request: Request, _ route: Route) async throws -> [UInt8] {
        // A gateway asks with the method and the header fields of its client's request: what is in that body is not asked for.
        guard route.method == "POST", route.access != .open else { return [] }
        if let length = request.headers.value(of: .contentLength).flatMap({ $0.utf8.count <= 20 ? Int($0) : Int.max }),
            length > bodyLimit
        {
            throw Problem(.bodyTooLarge)
        }
        let buffer: ByteBuffer
        do {
            buffer = try await request.body.collect(upTo: bodyLimit)
        } catch is NIOTooManyBytesError {
            throw Problem(.bodyTooLarge)
        } catch {
            throw Problem(.requestMalformed, evidence: "the body ended early")
        }
        let contentType = request.headers.value(of: .contentType)
        if buffer.readableBytes == 0, contentType == nil { return [] }
        guard route.access == .console ? ServiceResponder.isForm(contentType) : ServiceResponder.isJSON(contentType)
        else {
            throw Problem(.bodyContentType)
        }
        return Array(buffer.readableBytesView)
    }

    /// Whether a media type is JSON in UTF-8: read by bytes, ASCII alone, at most 256 of them.
    static func isJSON(_ contentType: String?) -> Bool {
        guard let contentType else { return false }
        let bytes = contentType.utf8
        if bytes.elementsEqual("application/json".utf8) { return true }
        guard bytes.count <= 256, bytes.allSatisfy({ $0 < 0x80 }) else { return false }
        let parts = contentType.lowercased().utf8.split(separator: UInt8(ascii: ";")).map { part in
            String(decoding: part.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self)
        }
        guard parts.first == "application/json" else { return false }
        return parts.dropFirst().allSatisfy { part in
            !part.hasPrefix("charset=") || part == "charset=utf-8" || part == "charset=\"utf-8\""
        }
    }

    /// Whether a media type is that of a browser's form.
    static func isForm(_ contentType: String?) -> Bool {
        contentType?.utf8.elementsEqual("application/x-www-form-urlencoded".utf8) ?? false
    }

    private func response(_ answer: Answer, isHead: Bool) -> Response {
        var headers = HTTPFields()
        if let type = answer.contentType { headers[.contentType] = type }
        headers[.cacheControl] = "no-store"
        for (name, value) in answer.headers {
            if name == .setCookie { headers.append(HTTPField(name: name, value: value)) } else { headers[name] = value }
        }
        let status = HTTPResponse.Status(code: answer.status)
        if isHead {
            headers[.contentLength] = String(answer.body.count)
            return Response(status: status, headers: headers)
        }
        if answer.status == 204 { return Response(status: status, headers: headers) }
        return Response(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: answer.body)))
    }
}
