// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import HTTPService
import Vocabulary

/// What a gateway asks of a token: the query of `GET /v1/authorize`.
///
/// A parameter that is unknown, given twice or without a value that it knows is refused, never ignored (``StrictQuery``).
struct AuthorizationQuery: Equatable {
    /// Which tokens pass.
    private(set) var terms = TokenTerms()
    /// The quota that the request is counted under; nil for none.
    private(set) var quota: String?
    /// The name of the route whose requests are only watched; nil if the token decides.
    private(set) var observedRoute: String?
    /// The status of an answer that lets the request through: 204, or 200 for a gateway that takes nothing else for a yes.
    private(set) var success = 204

    private static let names = TokenTerms.names.union(["quota", "success", "mode", "route"])

    /// Reads a query, without its question mark.
    ///
    /// - Parameter routes: the names that may be watched.
    /// - Throws: ``Problem`` `request.malformed`.
    init(_ query: String, observing routes: [String] = []) throws(Problem) {
        let query = try StrictQuery(query, known: AuthorizationQuery.names)
        if let mode = query["mode"] {
            guard mode.hasSameBytes(as: "observe"), let route = query["route"],
                let known = routes.first(where: { $0.hasSameBytes(as: route) })
            else {
                throw Problem(
                    .requestMalformed,
                    evidence: "mode is observe, and route a name of the configuration's observe.routes")
            }
            observedRoute = known
        } else if query["route"] != nil {
            throw Problem(.requestMalformed, evidence: "route is for mode=observe")
        }
        quota = query["quota"]
        if let value = query["success"] {
            guard value.hasSameBytes(as: "200") else {
                throw Problem(.requestMalformed, evidence: "a query parameter has an unknown value")
            }
            success = 200
        }
        for name in TokenTerms.names {
            if let value = query[name] { try terms.take(name, value) }
        }
    }
}
