// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// A request to the simulator, independent of how it arrived.
public struct SimulatorRequest: Sendable {
    /// The method, in upper case.
    public let method: String
    /// The path, without a query.
    public let path: String
    /// The Authorization header, whole.
    public let authorization: String?
    /// The content.
    public let body: [UInt8]

    /// A request as a server received it.
    public init(method: String, path: String, authorization: String? = nil, body: [UInt8] = []) {
        self.method = method
        self.path = path
        self.authorization = authorization
        self.body = body
    }
}

/// The simulator's answer, independent of how it is sent.
public struct SimulatorAnswer: Sendable, Equatable {
    /// The HTTP status.
    public var status: Int
    /// The Content-Type header.
    public var contentType: String
    /// Further header fields.
    public var headers: [String: String]
    /// The content.
    public var body: [UInt8]
    /// How long to delay the answer.
    public var delay: Duration

    init(
        _ status: Int, _ text: String = "", contentType: String = "text/plain; charset=utf-8",
        headers: [String: String] = [:], delay: Duration = .zero
    ) {
        self.status = status
        self.contentType = contentType
        self.headers = headers
        self.body = Array(text.utf8)
        self.delay = delay
    }

    /// An answer in JSON with sorted members, so that a run can be compared byte by byte.
    init(_ status: Int, json: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        self.init(status, contentType: "application/json")
        body = (try? encoder.encode(json)).map(Array.init) ?? []
    }

    static func invalidInput(_ detail: String? = nil) -> SimulatorAnswer {
        SimulatorAnswer(400, json: AppleSimulator.Problem(error: "invalidInput", detail: detail))
    }

    static let unknownPath = SimulatorAnswer(404, json: AppleSimulator.Problem(error: "unknownPath"))

    /// Apple's text for a status of the two interfaces.
    static func apple(_ status: Int) -> SimulatorAnswer {
        SimulatorAnswer(status, texts[status] ?? "")
    }

    private static let texts = [
        304: "Not Modified", 401: "Unauthorized", 403: "Forbidden", 404: "No Data Found", 405: "Method Not Allowed",
        429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable",
    ]
}
