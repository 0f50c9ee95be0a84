// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
public import HTTPTypes
public import NIOCore
import TLSModel
import Vocabulary

extension ATSClient {
    /// Loads a URL to the end of its body and reports how that went; never throws.
    ///
    /// - Parameters:
    ///   - bodyLimit: bytes of the body that are kept; a longer one ends the load.
    ///   - timeout: for the whole load; nil takes the configuration's.
    public func load(
        _ text: String, method: HTTPRequest.Method = .get, headerFields: HTTPFields = [:], timeout: Duration? = nil,
        bodyLimit: Int = 64 << 20
    ) async -> LoadReport {
        var body = ByteBuffer()
        var report = await loaded(text, method, headerFields, timeout, bodyLimit) { _, part in
            if let part { body.add(part) }
        }
        if report.result == .loaded { report.body = Array(body.readableBytesView) }
        return report
    }

    /// Loads a URL, hands its body over as it comes, and reports how that went.
    ///
    /// - Parameters:
    ///   - timeout: for the whole load; nil takes the configuration's.
    ///   - receive: is called with the answer and nil before the body, and then with each part of it. The report's own `body` stays empty.
    /// - Throws: only what `receive` throws, which ends the load.
    public func load(
        _ text: String, method: HTTPRequest.Method = .get, headerFields: HTTPFields = [:], timeout: Duration? = nil,
        receive: (ATSResponse, ByteBuffer?) throws -> Void
    ) async throws -> LoadReport {
        try await loaded(text, method, headerFields, timeout, nil, receive: receive)
    }

    private func loaded<Fault: Error>(
        _ text: String, _ method: HTTPRequest.Method, _ headerFields: HTTPFields, _ timeout: Duration?,
        _ bodyLimit: Int?, receive: (ATSResponse, ByteBuffer?) throws(Fault) -> Void
    ) async throws(Fault) -> LoadReport {
        let response: ATSResponse
        do {
            let url = try LoadURL(text)
            var request = HTTPRequest(method: method, scheme: url.scheme, authority: nil, path: url.pathAndQuery)
            request.authority = url.port.map { "\(url.bracketedHost):\($0)" } ?? url.bracketedHost
            request.headerFields = headerFields
            response = try await execute(request, timeout: timeout, bodyLimit: bodyLimit)
        } catch {
            return LoadReport(ending: error, text)
        }
        var length = 0
        var parts = response.body.makeAsyncIterator()
        try receive(response, nil)
        while true {
            let next: ByteBuffer?
            do {
                next = try await parts.next()
            } catch {
                return LoadReport(ending: error, text, after: response)
            }
            guard let part = next else { return await ended(response, length: length, text) }
            length += part.readableBytes
            try receive(response, part)
        }
    }
}

extension ATSClient {
    /// The report of a complete answer. Status 403 of a server that asks for a client certificate is an error for the app.
    private func ended(_ response: ATSResponse, length: Int, _ text: String) async -> LoadReport {
        guard response.status == .forbidden, !configuration.isMonitoring, let url = try? LoadURL(response.url),
            url.isSecure, await requestsCertificate(url, response.connection?.handshake)
        else { return LoadReport(response, length: length) }
        let error = ATSLoadError(
            outcome: .refused, error: .clientCertificateRequired(host: url.host), causes: [.refusedWithoutCertificate],
            url: response.url)
        return LoadReport(ending: error, text, after: response)
    }

    /// Whether the server asks for a client certificate. In TLS 1.3 the library that loads does not show it: one more hello does.
    private func requestsCertificate(_ url: LoadURL, _ seen: HandshakeObservation?) async -> Bool {
        guard let seen else { return false }
        guard seen.version == .tls13, !seen.requestsClientCertificate else { return seen.requestsClientCertificate }
        let key = PoolKey(isSecure: true, host: url.host, port: url.effectivePort)
        let requirements = policy.decide(url).requirements
        return await connector.observation(key, requirements, until: nil)?.requestsClientCertificate == true
    }
}

extension LoadReport {
    fileprivate init(_ response: ATSResponse, length: Int) {
        result = .loaded
        status = response.status.code
        url = response.url
        hops = response.hops
        because = response.notes
        headerFields = response.head.headerFields
        bodyLength = length
        connection = response.connection
        wouldRefuse = response.wouldRefuse
    }

    fileprivate init(ending error: any Error, _ text: String, after response: ATSResponse? = nil) {
        switch error {
        case let error as ATSLoadError: self.init(error, after: response)
        case let malformed as MalformedInput: self.init(LoadFaults.badURL(malformed, url: text), after: response)
        default:
            self.init(LoadFaults.noAnswer(text, -999, .httpNoAnswer, "The load was cancelled."), after: response)
        }
    }

    private init(_ error: ATSLoadError, after response: ATSResponse?) {
        result = error.outcome == .refused ? .refused : .noAnswer
        status = response?.status.code
        url = error.url
        hops = response?.hops ?? error.hops + [Hop(url: error.url, status: nil)]
        // What this program cannot do, and what sources contradict each other about, says nothing of what an app would get.
        self.error = error.code == .noteLoadNotMade || error.causes.first?.isDisputed == true ? nil : error.error
        because = error.causes
        remedies = error.remedies
        headerFields = response?.head.headerFields ?? [:]
        connection = response?.connection
    }
}
