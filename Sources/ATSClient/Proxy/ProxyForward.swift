// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import HTTPTypes
import NIOCore
import NIOHTTP1
import Vocabulary

/// Forwards one plain HTTP request, where the policy allows it, on a connection of its own: what a server
/// knows about a connection, such as who authenticated on it, is never another client's.
struct ProxyForward: Sendable {
    let proxy: ATSProxy
    let head: HTTPRequestHead
    let method: HTTPRequest.Method
    let url: LoadURL
    /// Whether the client's connection can carry another request.
    let keepsAlive: Bool

    /// How the end of the client's request is marked (RFC 9112 section 6.3).
    enum Body: Equatable {
        case none
        case length(Int)
        case chunked
        /// It may not be passed on: another server could see another end.
        case unclear

        init(_ head: HTTPRequestHead) {
            let lengths = head.headers["content-length"]
            let codings = head.headers["transfer-encoding"]
            switch (lengths.count, codings.count) {
            case (0, 0): self = .none
            case (1, 0):
                guard let length = lengths[0].decimalNumber(digits: 18) else {
                    self = .unclear
                    return
                }
                self = length == 0 ? .none : .length(length)
            case (0, 1) where head.version == .http1_1 && head.headers.tokens("transfer-encoding") == ["chunked"]:
                self = .chunked
            default: self = .unclear
            }
        }
    }

    enum End: Sendable {
        /// - closes: only the end of the connection ends the answer, or its client wanted it closed.
        case complete(closes: Bool)
        /// Nothing of an answer was sent yet.
        case refused(Refusal)
        /// The answer broke off after its beginning.
        case broken
    }

    /// - Parameter goOn: tells a client that waits for it (RFC 9110 section 10.1.1) to send its body; called when the server is there to take it.
    func run(
        body: (BodyBuffer, Body)?, goOn: @escaping @Sendable () async throws -> Void,
        write: @Sendable (HTTPServerResponsePart) async throws -> Void
    ) async -> End {
        let target = "\(url.scheme)://\(url.bracketedHost)\(url.port.map { ":\($0)" } ?? "")\(url.pathAndQuery)"
        let proxied = ProxiedRequest(proxy: proxy, method: head.method.rawValue, target: target, url: url)
        let response: ATSResponse
        do {
            response = try await proxy.client.execute(request, body: body.map { requestBody($0, goOn) } ?? .empty)
        } catch let error as ATSLoadError {
            if error.code == Code.proxyForbiddenAddress {
                return .refused(proxied.forbidden(error.causes.first?.message ?? ""))
            }
            return .refused(
                error.outcome == .refused
                    ? proxied.refused(error.causes, error.error, error.remedies)
                    : proxied.unreachable(error.causes, error.error))
        } catch {
            return .broken
        }
        proxied.note(
            response.wouldRefuse.isEmpty ? .allowed : .wouldRefuse, response.wouldRefuse.flatMap(\.causes),
            response.wouldRefuse.first?.error)
        do {
            let (answer, framing) = responseHead(response)
            try await write(.head(answer))
            for try await part in response.body where framing != .none { try await write(.body(.byteBuffer(part))) }
            return .complete(closes: framing == .untilClose)
        } catch {
            return .broken
        }
    }

    private func requestBody(
        _ body: (BodyBuffer, Body), _ goOn: @escaping @Sendable () async throws -> Void
    ) -> RequestBody {
        let reader = BodyReader(body.0)
        let length: Int? = if case .length(let length) = body.1 { length } else { nil }
        return RequestBody(
            content: .stream(length: length) { write in
                try await goOn()
                while let part = try await reader.buffer.next() { try await write(part) }
            }
        )
    }

    /// The request without what belongs to the connection between client and proxy (RFC 9110 section 7.6.1). The proxy itself answers `Expect`.
    private var request: HTTPRequest {
        let authority = url.port.map { "\(url.bracketedHost):\($0)" } ?? url.bracketedHost
        var request = HTTPRequest(method: method, scheme: "http", authority: authority, path: url.pathAndQuery)
        let dropped = ProxyForward.hopByHop.union(head.headers.tokens("connection"))
        for (name, value) in head.headers {
            guard let field = HTTPField.Name(name), !dropped.contains(field.canonicalName),
                field != .contentLength
            else { continue }
            request.headerFields.append(HTTPField(name: field, value: value))
        }
        return request
    }

    /// How the end of an answer is marked.
    private enum AnswerFraming {
        /// It has no body (RFC 9112 section 6.3, items 1 and 2).
        case none
        case length
        case chunked
        /// The client speaks HTTP/1.0 and the length is not known.
        case untilClose
    }

    private func responseHead(_ response: ATSResponse) -> (HTTPResponseHead, AnswerFraming) {
        var result = HTTPResponseHead(
            version: .http1_1,
            status: HTTPResponseStatus(statusCode: response.status.code, reasonPhrase: response.status.reasonPhrase))
        var nominated = HTTPHeaders()
        for field in response.head.headerFields[fields: .connection] {
            nominated.add(name: "connection", value: field.value)
        }
        let dropped = ProxyForward.hopByHop.union(nominated.tokens("connection"))
        for field in response.head.headerFields
        where !dropped.contains(field.name.canonicalName) && field.name != .contentLength {
            result.headers.add(name: field.name.rawName, value: field.value)
        }
        result.headers.add(name: "via", value: "1.1 sealward")
        let lengths = response.head.headerFields[fields: .contentLength].map(\.value)
        let isLengthKnown =
            lengths.count == 1 && response.head.headerFields[.transferEncoding] == nil
            && lengths[0].utf8.allSatisfy { (0x30...0x39).contains($0) }
        let code = response.status.code
        let framing: AnswerFraming =
            if method == .head || code < 200 || code == 204 || code == 304 {
                .none
            } else if isLengthKnown {
                .length
            } else {
                head.version == .http1_1 ? .chunked : .untilClose
            }
        // The length of the body that is not sent is allowed for HEAD and 304 (RFC 9110 section 8.6).
        if isLengthKnown, framing == .length || method == .head || code == 304, code >= 200, code != 204 {
            result.headers.add(name: "content-length", value: lengths[0])
        }
        if framing == .chunked { result.headers.add(name: "transfer-encoding", value: "chunked") }
        if !keepsAlive || framing == .untilClose { result.headers.add(name: "connection", value: "close") }
        return (result, framing)
    }

    private static let hopByHop: Set<String> = [
        "connection", "proxy-connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
        "proxy-authenticate", "proxy-authorization", "host", "expect",
    ]
}

extension HTTPRequestHead {
    /// Takes one from Max-Forwards (RFC 9110 section 7.6.2), which counts for OPTIONS and TRACE alone.
    ///
    /// - Returns: the proxy's own answer if the request goes no further.
    mutating func takeForward() -> Refusal? {
        guard method == .OPTIONS || method == .TRACE else { return nil }
        let fields = headers["max-forwards"]
        guard let field = fields.first else { return nil }
        guard fields.count == 1, let left = field.decimalNumber(digits: 18) else {
            return Refusal(status: .badRequest, text: "Max-Forwards is not a number.")
        }
        guard left > 0 else {
            guard method == .OPTIONS else {
                return Refusal(status: .methodNotAllowed, text: "The proxy does not answer TRACE itself.")
            }
            return Refusal(
                status: .ok, text: "A forward proxy: absolute http URLs, and CONNECT.", proxyStatus: "")
        }
        headers.replaceOrAdd(name: "max-forwards", value: String(left - 1))
        return nil
    }
}
