// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import HTTPTypes
import NIOCore
import NIOHTTP1

/// Forwards one plain HTTP request, where the policy allows it, through the client that all such requests share.
struct ProxyForward: Sendable {
    let proxy: ATSProxy
    let head: HTTPRequestHead
    let url: LoadURL

    enum End: Sendable {
        case complete
        /// Nothing of an answer was sent yet.
        case refused(Refusal)
        /// The answer broke off after its beginning.
        case broken
    }

    /// - Parameters:
    ///   - goOn: tells a client that waits for it (RFC 9110 section 10.1.1) to send its body; called when the server is there to take it.
    ///   - write: sends a part of the answer to the client, and waits until it is on its way.
    func run(
        body: (BodyBuffer, length: Int?)?,
        goOn: @escaping @Sendable () async throws -> Void,
        write: @Sendable (HTTPServerResponsePart) async throws -> Void
    ) async -> End {
        let response: ATSResponse
        do {
            response = try await proxy.client.execute(request, body: body.map { requestBody($0, goOn) } ?? .empty)
        } catch let error as ATSLoadError {
            if error.code == ForbiddenAddress.code {
                note(.failed, error.causes)
                return .refused(Refusal(target: target, forbidden: error.causes.first?.message ?? ""))
            }
            note(error.outcome == .refused ? .refused : .failed, error.causes)
            if error.outcome == .refused {
                return .refused(
                    Refusal(target: target, causes: error.causes, error: error.error, remedies: error.remedies)
                )
            }
            return .refused(Refusal(target: target, unreachable: error.causes))
        } catch {
            return .broken
        }
        note(response.wouldRefuse.isEmpty ? .allowed : .wouldRefuse, response.wouldRefuse.flatMap(\.causes))
        do {
            try await write(.head(responseHead(response)))
            for try await part in response.body { try await write(.body(.byteBuffer(part))) }
            return .complete
        } catch {
            return .broken
        }
    }

    /// The URL without a user and password, which are for nobody's log.
    private var target: String {
        "\(url.scheme)://\(url.bracketedHost)\(url.port.map { ":\($0)" } ?? "")\(url.pathAndQuery)"
    }

    private func note(_ result: ATSProxy.Event.Result, _ causes: [Cause]) {
        let event = ATSProxy.Event(result: result, method: head.method.rawValue, target: target, causes: causes)
        proxy.note(event, host: url.host, port: url.effectivePort, isSecure: false)
    }

    private func requestBody(
        _ body: (BodyBuffer, length: Int?),
        _ goOn: @escaping @Sendable () async throws -> Void
    ) -> RequestBody {
        let reader = BodyReader(body.0)
        return RequestBody(
            content: .stream(length: body.length) { write in
                try await goOn()
                while let part = try await reader.buffer.next() { try await write(part) }
            }
        )
    }

    /// The request without what belongs to the connection between client and proxy (RFC 9110 section 7.6.1). The proxy itself answers `Expect`.
    private var request: HTTPRequest {
        let authority = url.port.map { "\(url.bracketedHost):\($0)" } ?? url.bracketedHost
        var request = HTTPRequest(
            method: HTTPRequest.Method(rawValue: head.method.rawValue) ?? .get,
            scheme: "http",
            authority: authority,
            path: url.pathAndQuery
        )
        let dropped = ProxyForward.hopByHop.union(head.headers[canonicalForm: "connection"].map { $0.lowercased() })
        for (name, value) in head.headers {
            if dropped.contains(name.lowercased()) || name.lowercased() == "content-length" { continue }
            if let field = HTTPField.Name(name) { request.headerFields.append(HTTPField(name: field, value: value)) }
        }
        return request
    }

    private func responseHead(_ response: ATSResponse) -> HTTPResponseHead {
        var result = HTTPResponseHead(
            version: .http1_1,
            status: HTTPResponseStatus(statusCode: response.status.code, reasonPhrase: response.status.reasonPhrase)
        )
        for field in response.head.headerFields where !ProxyForward.hopByHop.contains(field.name.canonicalName) {
            result.headers.add(name: field.name.rawName, value: field.value)
        }
        result.headers.add(name: "via", value: "1.1 sealward")
        return result
    }

    private static let hopByHop: Set<String> = [
        "connection", "proxy-connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
        "proxy-authenticate", "proxy-authorization", "host", "expect",
    ]
}
