// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
public import HTTPTypes
import NIOCore

extension ATSClient {
    /// Loads a URL to the end of its body and reports how that went; never throws.
    ///
    /// - Parameters:
    ///   - bodyLimit: bytes of the body that are kept; a longer one ends the load.
    ///   - timeout: for the whole load; nil takes the configuration's.
    public func load(
        _ text: String,
        method: HTTPRequest.Method = .get,
        headerFields: HTTPFields = [:],
        timeout: Duration? = nil,
        bodyLimit: Int = 64 << 20
    ) async -> LoadReport {
        do {
            let url = try LoadURL(text)
            var request = HTTPRequest(method: method, scheme: url.scheme, authority: nil, path: url.pathAndQuery)
            request.authority = url.port.map { "\(url.bracketedHost):\($0)" } ?? url.bracketedHost
            request.headerFields = headerFields
            let response = try await execute(request, timeout: timeout, bodyLimit: bodyLimit)
            do {
                return LoadReport(
                    response,
                    body: Array(try await response.body.collect(upTo: bodyLimit).readableBytesView)
                )
            } catch let error as ATSLoadError {
                return LoadReport(error, after: response)
            } catch is BodyTooLarge {
                return LoadReport(LoadFaults.bodyTooLarge(bodyLimit, url: url), after: response)
            }
        } catch let error as ATSLoadError {
            return LoadReport(error)
        } catch let malformed as MalformedInput {
            return LoadReport(LoadFaults.badURL(malformed, url: text))
        } catch {
            return LoadReport(
                ATSLoadError(
                    .noAnswer,
                    error: URLLoadError(code: -999, message: "cancelled"),
                    causes: [Cause("ats.http.no-answer", "The load was cancelled.")],
                    url: text
                )
            )
        }
    }
}

extension LoadReport {
    init(_ response: ATSResponse, body: [UInt8]) {
        result = .loaded
        status = response.status.code
        url = response.url
        hops = response.hops
        error = nil
        because = response.notes
        remedies = []
        headerFields = response.head.headerFields
        self.body = body
        connection = response.connection
        wouldRefuse = response.wouldRefuse
    }

    init(_ error: ATSLoadError, after response: ATSResponse? = nil) {
        result = error.outcome == .refused ? .refused : .noAnswer
        status = response?.status.code
        url = error.url
        hops = response?.hops ?? error.hops + [Hop(url: error.url, status: nil)]
        self.error = error.error
        because = error.causes
        remedies = error.remedies
        headerFields = response?.head.headerFields ?? [:]
        body = []
        connection = response?.connection
        wouldRefuse = []
    }
}
