// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import HTTPService

/// How an interface writes refusals and faults, and which paths are its own: there it also writes what no route answers.
package struct ErrorForm: Sendable {
    /// The paths that are the interface's, with all below them.
    let places: [String]
    /// Makes the answer of a refusal or fault, given the identifier under which the log has it.
    package let answer: @Sendable (Problem, String) -> Answer

    package init(under places: [String], _ answer: @escaping @Sendable (Problem, String) -> Answer) {
        self.places = places
        self.answer = answer
    }

    /// A problem document: the service's own form, and that of every path which no interface has for itself.
    package static let problem = ErrorForm(under: []) { .problem($0, correlationId: $1) }

    /// Whether a path is one of the places or below it, by bytes.
    func owns(_ path: String) -> Bool {
        places.contains { place in
            let rest = path.utf8.dropFirst(place.utf8.count)
            return path.utf8.starts(with: place.utf8) && (rest.isEmpty || rest.first == UInt8(ascii: "/"))
        }
    }
}

/// One method of one path, who may call it, and what answers. By reference, as every request looks at many.
package final class Route: Sendable {
    package enum Segment: Sendable, Equatable {
        case literal(String)
        /// A name in braces, and what stands behind it: `{app}:exchangeToken`.
        case parameter(String, suffix: String)
    }

    /// The name of the operation, as in `docs/openapi.yaml` and in metrics.
    package let operation: String
    package let method: String
    package let template: String
    package let access: Call.Access
    package let handler: @Sendable (Call) async throws -> Answer
    /// The form of its errors: a problem document unless its interface has another one.
    let errors: ErrorForm
    /// Whether its answer waits for Apple, so that how long it takes says nothing about this node.
    let asksApple: Bool
    let segments: [Segment]

    package init(
        _ operation: String, _ method: String, _ template: String, _ access: Call.Access, errors: ErrorForm = .problem,
        asksApple: Bool = false, _ handler: @escaping @Sendable (Call) async throws -> Answer
    ) {
        self.operation = operation
        self.method = method
        self.template = template
        self.access = access
        self.handler = handler
        self.errors = errors
        self.asksApple = asksApple
        // An empty segment at the end is one: `/console/` is not `/console`.
        segments = template.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { part in
            guard part.hasPrefix("{"), let end = part.firstIndex(of: "}") else { return .literal(String(part)) }
            let name = part[part.index(after: part.startIndex)..<end]
            return .parameter(String(name), suffix: String(part[part.index(after: end)...]))
        }
    }

    func handled(by handler: @escaping @Sendable (Call) async throws -> Answer) -> Route {
        Route(operation, method, template, access, errors: errors, asksApple: asksApple, handler)
    }

    /// Whether its requests are refused beyond ``RequestsInFlight``. Those of operators and monitoring never are, and neither
    /// are key sets: without them nobody can check a token.
    var isLimitedByLoad: Bool {
        switch access {
        case .app, .role(.server): !asksApple
        case .open: operation == "authorize"
        case .role, .metrics, .console: false
        }
    }

    /// The values of the parameters if this route has the path.
    ///
    /// A literal segment matches its own bytes and nothing else: `/%6detrics` is not `/metrics`, so that the rules of a proxy that does not
    /// decode are not passed by. A parameter is percent-decoded, and has 1 to ``parameterLimit`` bytes.
    func parameters(for path: [Substring.UTF8View]) -> [String: String]? {
        guard path.count == segments.count else { return nil }
        for (segment, part) in zip(segments, path) {
            if case .literal(let literal) = segment, !literal.utf8.elementsEqual(part) { return nil }
        }
        var parameters: [String: String] = [:]
        for (segment, part) in zip(segments, path) {
            guard case .parameter(let name, let suffix) = segment else { continue }
            guard part.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) else { return nil }
            let part = part.dropLast(suffix.utf8.count)
            guard part.count <= Route.parameterLimit * 3, let value = PercentEncoding.decode(part), !value.isEmpty,
                value.utf8.count <= Route.parameterLimit
            else { return nil }
            parameters[name] = value
        }
        return parameters
    }

    /// The most bytes of one parameter of a path: no app, promotion or key has a longer name.
    static let parameterLimit = 256
}

/// All routes of one listener.
package struct RouteTable: Sendable {
    package let routes: [Route]

    /// The most segments of a path that is looked up.
    private static let segmentLimit = 8

    package init(_ routes: [Route]) { self.routes = routes }

    /// The table of the public listener, which has no console.
    var withoutConsole: RouteTable { RouteTable(routes.filter { $0.access != .console }) }

    package enum Match {
        case route(Route, parameters: [String: String])
        case unknown
        case method(allow: [String])
    }

    /// The form of errors of a path that no route answers.
    func errors(of path: String) -> ErrorForm { routes.first { $0.errors.owns(path) }?.errors ?? .problem }

    /// Finds the route of a request line. `HEAD` is answered by the route of `GET`.
    package func match(method: String, path: String) -> Match {
        guard path.utf8.first == UInt8(ascii: "/") else { return .unknown }
        let parts = path.utf8.dropFirst().split(
            separator: UInt8(ascii: "/"), maxSplits: RouteTable.segmentLimit, omittingEmptySubsequences: false)
        guard parts.count <= RouteTable.segmentLimit else { return .unknown }
        let wanted = method == "HEAD" ? "GET" : method
        var allow: [String] = []
        for route in routes {
            guard let parameters = route.parameters(for: parts) else { continue }
            if route.method == wanted { return .route(route, parameters: parameters) }
            allow.append(route.method)
        }
        return allow.isEmpty ? .unknown : .method(allow: allow.contains("GET") ? allow + ["HEAD"] : allow)
    }
}
