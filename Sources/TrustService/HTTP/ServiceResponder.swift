// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPService
import HTTPTypes
import TLSModel

/// Takes a request through the fixed order: path, method, limits, caller, size, content type; then its handler.
/// What is too much for the node has not come this far (``ServiceGate``).
///
/// Every way out of here is an ``Answer``, so no error is answered without a code.
struct ServiceResponder: Sendable {
    let parts: ServiceParts
    let table: RouteTable
    let isInternal: Bool
    let isLoopback: Bool
    /// Who may ask for the console.
    let browsers: BrowserGate
    let addressLimits: RequestLimits
    /// Wrong tokens on the routes of servers and operators, by address.
    let wrongTokens: RequestLimits

    /// Whether the listener speaks TLS.
    private var isSecure: Bool { (isInternal ? parts.configuration.internalTLS : parts.configuration.tls) != nil }

    func answer(_ request: IncomingRequest) async -> Answer {
        guard let spans = parts.tracing?.requests else { return await answer(request, in: nil) }
        return await spans.around(request) { await answer(request, in: $0) }
    }

    private func answer(_ request: IncomingRequest, in span: RecordedSpan?) async -> Answer {
        let start = parts.sources.uptime()
        let correlationId = parts.sources.correlationId()
        let (path, query) = request.target
        var found: Route?
        let answer: Answer
        var evidence = ""
        do {
            answer = try await handle(request, path, query, correlationId, &found)
        } catch {
            let problem = Problem(error)
            evidence = problem.evidence
            answer = (found?.errors ?? table.errors(of: path)).answer(problem, correlationId)
        }
        let end = parts.sources.uptime()
        parts.observer.finished(
            operation: found?.operation ?? "unknown", answer: answer, seconds: end - start, at: end,
            correlationId: correlationId, evidence: evidence)
        span?.describe(found, answer, correlationId: correlationId)
        return answer
    }

    private func handle(
        _ request: IncomingRequest, _ path: String, _ query: String, _ correlationId: String, _ found: inout Route?
    ) async throws -> Answer {
        let fields = request.head.headerFields
        var address = request.peer
        if !parts.configuration.trustedProxies.isEmpty {
            let forwarded = fields[values: .xForwardedFor].joined(separator: ",")
            address = CallerAddress.resolve(
                peer: request.peer, forwarded: forwarded, trusted: parts.configuration.trustedProxies)
        }
        let caller = parts.live.current.credentials.caller(bearer: Call.bearer(in: fields), at: parts.sources.now())
        let route: Route
        let parameters: [String: String]
        switch table.match(method: request.head.method.rawValue, path: path) {
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
        func call(with body: [UInt8]) -> Call {
            Call(
                operation: route.operation, parameters: parameters, query: query, headers: fields, body: body,
                address: address, correlationId: correlationId, caller: caller, now: parts.sources.now(),
                isSecure: isSecure || Call.isSecure(fields))
        }
        do {
            try admit(route, caller, address, app: parameters["app"], request)
        } catch {
            // Somebody with a credential that does not open the route, or with a wrong one.
            if error.code == .callerUnauthorized, case .role = route.access, Call.bearer(in: fields) != nil {
                await parts.audit.record(call(with: []), refusedWith: error.code)
            }
            throw error
        }
        let whole = call(with: try await body(of: request, route))
        do {
            return try await route.handler(whole)
        } catch let problem as Problem where route.access == .open && problem.refusesCaller {
            // A gateway asks for everybody from one address: only what is refused counts against the limit.
            try limit(caller, address)
            throw problem
        }
    }

    /// Servers with a token are not limited; everybody else is, and wrong tokens and unknown paths count too.
    private func limit(_ caller: Authority, _ address: String) throws(Problem) {
        guard caller == .anyone else { return }
        try take(from: addressLimits, address)
    }

    private func take(from limits: RequestLimits, _ address: String) throws(Problem) {
        if let wait = limits.take(CallerAddress.bucket(of: address), at: parts.sources.uptime()) {
            throw Problem(.limitAddress, retryAfterSeconds: wait)
        }
    }

    private func admit(
        _ route: Route, _ caller: Authority, _ address: String, app: String?, _ request: IncomingRequest
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
        case .role(let role):
            guard parts.live.current.credentials.opens(role), isInternal || parts.configuration.internalListen == nil
            else { throw Problem(.pathUnknown) }
            if route.access.admits(caller, app: app) { return }
            if caller == .anyone, Call.bearer(in: request.head.headerFields) != nil {
                try take(from: wrongTokens, address)
            }
            throw Problem(.callerUnauthorized)
        case .metrics:
            guard isInternal || parts.configuration.internalListen == nil else { throw Problem(.pathUnknown) }
            // Only a trusted proxy says where its client is; any other, and one that uses another field for it, only that there is one.
            let fields = request.head.headerFields
            let isNamed =
                fields[.xForwardedFor] != nil
                && CallerAddress.isTrusted(request.peer, by: parts.configuration.trustedProxies)
            let isHere =
                isLoopback && AddressKind.isLoopback(host: address)
                && (isNamed || !HTTPField.Name.ofProxies.contains { fields[$0] != nil })
            // Nor is a browser on this machine that shows a stranger's page.
            let isOpen = (isInternal || isHere) && !(isLoopback && browsers.judge(request.head) != .admitted)
            guard isOpen || caller != .anyone else { throw Problem(.callerUnauthorized) }
        }
    }

    private func body(of request: IncomingRequest, _ route: Route) async throws(Problem) -> [UInt8] {
        // A gateway asks with the method and the header fields of its client's request: what is in that body is not asked for.
        guard route.method == "POST", route.access != .open else { return [] }
        let body = try await request.body(upTo: parts.configuration.limits.bodyBytes)
        let contentType = request.head.headerFields[.contentType]
        if body.isEmpty, contentType == nil { return [] }
        guard route.access == .console ? ServiceResponder.isForm(contentType) : ServiceResponder.isJSON(contentType)
        else {
            throw Problem(.bodyContentType)
        }
        return body
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
}

/// The places of a listener's requests, by the operations of its routes.
struct ServiceGate: RequestGate {
    let table: RouteTable
    let inFlight: RequestsInFlight
    let parts: ServiceParts

    func operation(method: String, path: String) -> String? {
        guard case .route(let route, _) = table.match(method: method, path: path), route.isLimitedByLoad else {
            return nil
        }
        return route.operation
    }

    func take(_ operation: String) -> Answer? {
        if inFlight.take(operation) { return nil }
        let (now, correlationId) = (parts.sources.uptime(), parts.sources.correlationId())
        let form = table.routes.first { $0.operation == operation }?.errors ?? .problem
        let answer = form.answer(.overload, correlationId)
        parts.observer.noteOverload(operation, at: now)
        parts.observer.finished(
            operation: operation, answer: answer, seconds: 0, at: now, correlationId: correlationId, evidence: "")
        return answer
    }

    func leave(_ operation: String) { inFlight.leave(operation) }
}
