// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import DeviceCheckBits
import FoundationEssentials
import HTTPTypes
import NIOCore
public import TLSProbe
import Vocabulary

/// Sends requests to Apple with the same client that enforces App Transport Security.
///
/// Redirects are answers like any other, so an authorization never leaves the host that it was made for. Answers beyond 64 KiB are
/// refused. Cleartext is allowed only to loopback addresses; ``AppleEndpoint`` allows no other.
public struct LiveAppleTransport: AppleTransport {
    private let client: ATSClient

    /// - Parameters:
    ///   - trust: The roots that Apple's certificates may lead to; nil for the system's, or none if the system has no file of roots.
    ///   - timeout: For a whole exchange.
    public init(trust: TrustAnchors? = nil, timeout: Duration = .seconds(30)) {
        self.init(trust: trust, timeout: timeout, overrides: [], connectTimeout: nil)
    }

    /// - Parameters:
    ///   - overrides: where to connect in place of what the resolver says.
    ///   - connectTimeout: for a connection, TLS included; nil for the client's own limit.
    package init(
        trust: TrustAnchors? = nil, timeout: Duration = .seconds(30), overrides: [AddressOverride],
        connectTimeout: Duration?
    ) {
        var dictionary = ATSDictionary()
        dictionary.localNetworking = true
        var configuration = ATSClient.Configuration()
        configuration.addressOverrides = overrides
        if let connectTimeout { configuration.connectTimeout = connectTimeout }
        configuration.redirectLimit = nil
        configuration.totalTimeout = timeout
        client = ATSClient(
            policy: ATSPolicy(dictionary: dictionary, profile: .standard),
            trust: trust ?? (try? TrustAnchors.system()) ?? TrustAnchors(), configuration: configuration)
    }

    public func send(_ request: AppleRequest) async throws -> AppleAnswer {
        do {
            let response = try await client.execute(try LiveAppleTransport.message(request), body: .bytes(request.body))
            let body = try await response.body.collect(upTo: DeviceCheckAnswer.bodyLimit)
            var headers: [String: String] = [:]
            for field in response.head.headerFields.reversed() { headers[field.name.canonicalName] = field.value }
            return AppleAnswer(status: response.status.code, headers: headers, body: Array(body.readableBytesView))
        } catch let fault as AppleTransportFault {
            throw fault
        } catch is BodyTooLarge {
            throw AppleTransportFault(code: .appleAnswerTooLarge, reason: "the answer is larger than 64 KiB")
        } catch let error as ATSLoadError {
            throw AppleTransportFault(
                code: error.outcome == .refused ? .appleUntrusted : .appleUnreachable,
                reason: LiveAppleTransport.sentence(error))
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw AppleTransportFault(code: .appleUnreachable, reason: "no answer came")
        }
    }

    /// Closes the connections.
    public func shutDown() async { await client.shutDown(grace: .zero) }

    /// The first cause without its full stop.
    private static func sentence(_ error: ATSLoadError) -> String {
        let message = error.causes.first?.message ?? "no answer came"
        return message.hasSuffix(".") ? String(message.dropLast()) : message
    }

    private static func message(_ request: AppleRequest) throws -> HTTPRequest {
        guard let separator = request.url.firstRange(of: "://"), let method = HTTPRequest.Method(request.method) else {
            throw AppleTransportFault(code: .appleUnreachable, reason: "\(request.url) is not a valid URL")
        }
        let rest = request.url[separator.upperBound...]
        let authority = rest.prefix { $0 != "/" }
        let path = rest[authority.endIndex...]
        var fields = HTTPFields()
        for header in request.headers {
            guard let name = HTTPField.Name(header.name) else { continue }
            fields.append(HTTPField(name: name, value: header.value))
        }
        return HTTPRequest(
            method: method, scheme: String(request.url[..<separator.lowerBound]), authority: String(authority),
            path: path.isEmpty ? "/" : String(path), headerFields: fields)
    }
}
