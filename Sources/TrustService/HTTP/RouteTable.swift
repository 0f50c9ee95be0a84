// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings

/// One method of one path, who may call it, and what answers.
package struct Route: Sendable {
    package enum Segment: Sendable, Equatable {
        case literal(String)
        case parameter(String)
    }

    /// The name of the operation, as in `docs/openapi.yaml` and in metrics.
    package let operation: String
    package let method: String
    package let template: String
    package let access: Call.Access
    package let handler: @Sendable (Call) async throws -> Answer
    let segments: [Segment]

    package init(
        _ operation: String,
        _ method: String,
        _ template: String,
        _ access: Call.Access,
        _ handler: @escaping @Sendable (Call) async throws -> Answer
    ) {
        self.operation = operation
        self.method = method
        self.template = template
        self.access = access
        self.handler = handler
        segments = template.split(separator: "/").map { part in
            part.hasPrefix("{") ? .parameter(String(part.dropFirst().dropLast())) : .literal(String(part))
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
            guard case .parameter(let name) = segment else { continue }
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

    package enum Match {
        case route(Route, parameters: [String: String])
        case unknown
        case method(allow: [String])
    }

    /// Finds the route of a request line. `HEAD` is answered by the route of `GET`.
    package func match(method: String, path: String) -> Match {
        guard path.utf8.first == UInt8(ascii: "/") else { return .unknown }
        let parts = path.utf8.dropFirst().split(
            separator: UInt8(ascii: "/"),
            maxSplits: RouteTable.segmentLimit,
            omittingEmptySubsequences: false
        )
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
