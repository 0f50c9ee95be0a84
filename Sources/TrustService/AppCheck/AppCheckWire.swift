// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import HTTPService
import HTTPTypes
import Vocabulary

/// Errors as Google's services answer them, and with the statuses that an app's client understands.
///
/// The client forgets its key on 403 and attests again; on 400 and 404 it is silent for a day; all else it tries again with growing pauses. So
/// a proof that is refused for whatever reason is 403, a fault of ours 503, and 400 and 404 are left for what can never become right.
enum AppCheckError {
    static let form = ErrorForm(under: ["/v1/projects", "/v1beta/projects", "/v1/jwks"]) { problem, correlationId in
        let (status, name) = AppCheckError.standing(of: problem)
        let answer = Answer.json(
            [
                "error": [
                    "code": .integer(status), "message": .string("\(problem.title) [\(problem.code.description)]"),
                    "status": .string(name),
                    "details": [
                        [
                            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                            "reason": .string(AppCheckError.reason(problem.code)),
                            "domain": "sealward",
                            "metadata": [
                                "code": .string(problem.code.description), "correlationId": .string(correlationId),
                            ],
                        ]
                    ],
                ]
            ],
            status: status
        )
        return answer.refusing(problem)
    }

    /// Status and its name in Google's interfaces.
    private static func standing(of problem: Problem) -> (status: Int, name: String) {
        switch problem.code {
        case .requestMalformed, .malformedBase64, .bodyTooLarge, .bodyContentType: (400, "INVALID_ARGUMENT")
        case .callerUnauthorized: (401, "UNAUTHENTICATED")
        case .appUnknown, .pathUnknown: (404, "NOT_FOUND")
        case .methodNotAllowed: (405, "UNIMPLEMENTED")
        default:
            switch problem.status {
            case 429: (429, "RESOURCE_EXHAUSTED")
            case 500...: (503, "UNAVAILABLE")
            default: (403, "PERMISSION_DENIED")
            }
        }
    }

    /// A code as Google spells reasons: `ATTEST_CHAIN_UNTRUSTED`.
    private static func reason(_ code: Code) -> String {
        String(code.description.uppercased().map { $0 == "." || $0 == "-" ? "_" : $0 })
    }
}

/// The body of an exchange: Google's JSON takes each name in camel case and in snake case, and bytes in both alphabets of base64.
struct AppCheckBody {
    private let body: RequestBody

    /// No body is an empty one.
    init(_ bytes: [UInt8]) throws(Problem) { body = try RequestBody(bytes.isEmpty ? Array("{}".utf8) : bytes) }

    func text(_ name: String, limit: Int = RequestBody.mostBytes) throws(Problem) -> String {
        try body.string(try spelling(of: name), limit: limit)
    }

    func bytes(_ name: String) throws(Problem) -> [UInt8] {
        let name = try spelling(of: name)
        let text = try body.string(name)
        guard let bytes = AppCheckBody.decode(text) else {
            throw Problem(.malformedBase64, evidence: "\(name) is not base64")
        }
        return bytes
    }

    /// `limitedUse`; false if it is absent.
    func limitedUse() throws(Problem) -> Bool {
        try body.optionalFlag(try spelling(of: "limitedUse")) ?? false
    }

    /// The spelling of a name in camel case that the body has.
    private func spelling(of camel: String) throws(Problem) -> String {
        let snake = camel.map { $0.isUppercase ? "_\($0.lowercased())" : "\($0)" }.joined()
        guard body.value(snake) != nil else { return camel }
        guard snake == camel || body.value(camel) == nil else {
            throw Problem(.requestMalformed, evidence: "\(camel) is given in two spellings")
        }
        return snake
    }

    private static func decode(_ text: String) -> [UInt8]? {
        var bytes = text.utf8.map { $0 == 0x2B ? UInt8(ascii: "-") : $0 == 0x2F ? UInt8(ascii: "_") : $0 }
        for _ in 0..<2 where bytes.last == UInt8(ascii: "=") { bytes.removeLast() }
        return Base64.decodeURL(String(decoding: bytes, as: UTF8.self))
    }
}
