// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

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

    func parameters(for path: [String]) -> [String: String]? {
        guard path.count == segments.count else { return nil }
        var parameters: [String: String] = [:]
        for (segment, part) in zip(segments, path) {
            switch segment {
            case .literal(let literal): if literal != part { return nil }
            case .parameter(let name):
                guard !part.isEmpty else { return nil }
                parameters[name] = part
            }
        }
        return parameters
    }
}

/// All routes of one listener.
package struct RouteTable: Sendable {
    package let routes: [Route]

    package init(_ routes: [Route]) { self.routes = routes }

    package enum Match {
        case route(Route, parameters: [String: String])
        case unknown
        case method(allow: [String])
    }

    /// Finds the route of a request line. `HEAD` is answered by the route of `GET`.
    package func match(method: String, path: String) -> Match {
        guard path.hasPrefix("/") else { return .unknown }
        var parts: [String] = []
        for part in path.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            guard parts.count < 8,
                let plain = part.utf8.contains(UInt8(ascii: "%")) ? part.removingPercentEncoding : String(part)
            else { return .unknown }
            parts.append(plain)
        }
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
