// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// Sends requests: `URLSession` (``URLSessionTransport``), or an app's replacement.
public protocol HTTPTransport: Sendable {
    /// Sends one request, once.
    ///
    /// - Throws: if there is no answer.
    func send(_ request: URLRequest) async throws -> HTTPAnswer
}

/// The answer to a request.
public struct HTTPAnswer: Hashable, Sendable {
    /// The HTTP status.
    public let status: Int
    /// Header fields by their names in lower case.
    public let headers: [String: String]
    /// The body.
    public let body: Data

    /// The answer that your own transport returns.
    ///
    /// - Parameter headers: names in any case.
    public init(status: Int, headers: [String: String], body: Data) {
        self.status = status
        self.headers = Dictionary(headers.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
        self.body = body
    }
}

/// A problem document of the service.
struct ServiceProblem: Error, Hashable, Sendable {
    /// What the service says to do next.
    enum Retry: String {
        case never
        case sameChallenge = "same-challenge"
        case newChallenge = "new-challenge"
        case newKey = "new-key"
        case after
    }

    let code: String
    let retry: Retry?
    let retryAfter: Duration?
    /// Whether the service wrote it, or a backend in its own name.
    let isOfService: Bool

    /// Reads an answer; nil if the service did not write it. What a proxy says in its place decides nothing about keys.
    init?(_ answer: HTTPAnswer) {
        struct Document: Decodable {
            let type: String?
            let code: String
            let retry: String?
            let retryAfterSeconds: Double?
        }
        guard answer.status >= 400, answer.isOf("application/problem+json"),
            let document = try? JSONDecoder().decode(Document.self, from: answer.body)
        else { return nil }
        isOfService = document.type?.utf8.starts(with: "urn:sealward:problem:".utf8) ?? false
        code = document.code
        retry = document.retry.flatMap(Retry.init(rawValue:))
        retryAfter = HTTPAnswer.pause(document.retryAfterSeconds) ?? answer.retryAfter
    }
}

extension HTTPAnswer {
    /// What `Retry-After` says, if it is a number of seconds.
    var retryAfter: Duration? { HTTPAnswer.pause(headers["retry-after"].flatMap(Double.init)) }

    func isOf(_ type: String) -> Bool {
        let value = (headers["content-type"] ?? "").utf8.prefix { $0 != UInt8(ascii: ";") }
        return String(Substring(value)).trimmingCharacters(in: .whitespaces).lowercased() == type
    }

    /// Seconds as somebody else said them: a day at most.
    static func pause(_ seconds: Double?) -> Duration? {
        guard let seconds, seconds.isFinite, seconds >= 0 else { return nil }
        return .seconds(min(seconds, 86_400))
    }
}

/// What came of one call of the service.
enum ServiceOutcome<Value: Sendable>: Sendable {
    case done(Value)
    /// The service refused, and says what to do next.
    case problem(ServiceProblem)
    /// Nothing that the service wrote: no answer, a proxy's page, a captive portal's.
    case silence(code: String, status: Int?, retryAfter: Duration?)
}

/// A document that the service answers with.
protocol ServiceDocument: Decodable, Sendable {
    /// Whether it has what the contract promises; if not, somebody else wrote it.
    var isUsable: Bool { get }
}

extension ServiceDocument {
    var isUsable: Bool { true }
}

/// The routes of the service that a session uses.
struct TrustServiceAPI: Sendable {
    let base: URL
    let transport: any HTTPTransport

    struct Challenge: ServiceDocument {
        let challenge: String
        let ttlSeconds: Double
    }

    /// In the modes `monitor` and `off` the service answers so, and refuses nothing.
    struct Enforcement: Decodable, Sendable {
        let decision: String
        let code: String?
    }

    struct Attestation: ServiceDocument {
        let keyId: String?
        let enforcement: Enforcement?
        var isUsable: Bool { keyId != nil || enforcement != nil }
    }

    struct Token: ServiceDocument {
        let token: String?
        let expiresIn: Double?
        let enforcement: Enforcement?
        var isUsable: Bool { (token != nil && expiresIn != nil) || enforcement != nil }
    }

    struct Ramp: ServiceDocument {
        let attest: Bool
        let notBeforeSeconds: Double
    }

    struct DebugToken: ServiceDocument {
        let token: String
        let ttl: String
        /// `3600s`.
        var seconds: Double? { ttl.utf8.last == UInt8(ascii: "s") ? Double(ttl.dropLast()) : nil }
    }

    /// One POST below the base.
    func post<Value: ServiceDocument>(
        _ path: String, _ body: some Encodable, as type: Value.Type
    ) async throws -> ServiceOutcome<Value> {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var request = try self.request(path)
        request.httpMethod = "POST"
        request.httpBody = try encoder.encode(body)
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        return try await outcome(of: request, as: type)
    }

    /// One GET below the base.
    func get<Value: ServiceDocument>(_ path: String, as type: Value.Type) async throws -> ServiceOutcome<Value> {
        try await outcome(of: try request(path), as: type)
    }

    private func request(_ path: String) throws(SessionError) -> URLRequest {
        var text = base.absoluteString
        while text.utf8.last == UInt8(ascii: "/") { text.removeLast() }
        guard let url = URL(string: text + path) else { throw SessionError(.refused, "request.url") }
        guard RequestBinding.isPrivate(url) else { throw SessionError(.refused, "request.scheme") }
        return URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: 30)
    }

    private func outcome<Value: ServiceDocument>(
        of request: URLRequest, as type: Value.Type
    ) async throws -> ServiceOutcome<Value> {
        let answer: HTTPAnswer
        do {
            answer = try await transport.send(request)
        } catch {
            try Task.checkCancellation()
            return .silence(code: "network", status: nil, retryAfter: nil)
        }
        if let problem = ServiceProblem(answer) { return .problem(problem) }
        if (200...299).contains(answer.status), let value = try? JSONDecoder().decode(type, from: answer.body),
            value.isUsable
        {
            return .done(value)
        }
        return .silence(code: "service", status: answer.status, retryAfter: answer.retryAfter)
    }

    /// A part of a path, encoded so that it stays one part.
    static func segment(_ text: String) -> String {
        var allowed = CharacterSet.alphanumerics
        allowed.insert(charactersIn: "-._~")
        allowed = allowed.intersection(CharacterSet(charactersIn: "\u{0}"..."\u{7F}"))
        return text.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
    }
}
