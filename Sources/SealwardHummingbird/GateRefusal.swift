// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import HTTPTypes
import Hummingbird
import NIOCore
import Vocabulary

/// Why a request was not let through: the code of the service's contract, and what to tell the app.
public struct GateRefusal: Error, Sendable, Equatable, CustomStringConvertible {
    /// The stable code, as in `docs/errors.md`.
    public let code: String
    /// The HTTP status of the answer.
    public let status: Int
    /// Seconds to wait, if trying again later may help.
    public let retryAfterSeconds: Int?
    /// One sentence for the log; never sent.
    public let reason: String

    init(_ code: String, _ status: Int, _ reason: String, retryAfterSeconds: Int? = nil) {
        self.code = code
        self.status = status
        self.reason = reason
        self.retryAfterSeconds = retryAfterSeconds
    }

    static func invalid(_ reason: String) -> GateRefusal { GateRefusal("token.invalid", 401, reason) }

    /// Only the service can tell a single-use token from its copy.
    static let singleUse = GateRefusal("token.single-use", 403, "a token for one use, which this gate does not spend")

    /// The gate could not check the token, so it refuses the request.
    static func unchecked(_ reason: String) -> GateRefusal {
        GateRefusal("token.unchecked", 503, reason, retryAfterSeconds: 5)
    }

    public var description: String { "\(code): \(reason)" }

    /// Equality is on the code: reasons may change.
    public static func == (left: GateRefusal, right: GateRefusal) -> Bool { left.code == right.code }

    /// The answer: a problem document (RFC 9457) like those of the service.
    var response: Response {
        var members: [JSONValue.Member] = [
            .init("type", .string("urn:sealward:problem:\(code)")), .init("status", .integer(status)),
            .init("code", .string(code)),
        ]
        var headers: HTTPFields = [.contentType: "application/problem+json", .cacheControl: "no-store"]
        if status == 401 { headers[.wwwAuthenticate] = "Bearer" }
        if let retryAfterSeconds {
            headers[.retryAfter] = String(retryAfterSeconds)
            members += [.init("retry", "after"), .init("retryAfterSeconds", .integer(retryAfterSeconds))]
        }
        let body = ByteBuffer(bytes: JSONValue.object(members).encoded(pretty: false))
        return Response(status: .init(code: status), headers: headers, body: ResponseBody(byteBuffer: body))
    }
}
