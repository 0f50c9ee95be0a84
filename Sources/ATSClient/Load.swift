// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import FoundationEssentials
import HTTPTypes
import NIOCore
import NIOHTTP1
import TLSModel
import TLSProbe
import Vocabulary

/// One load on its way through redirects: the request as it is now, and where it has been.
struct Load {
    private(set) var request: HTTPRequest
    private(set) var body: RequestBody
    /// The URL of the next request.
    private(set) var url: String
    private(set) var hops: [Hop] = []
    /// What every server on the way may lead to.
    private var led = FetchScope.named
    /// The address that was named as the target; nil for a name.
    private let named: IPAddress?
    /// The addresses that the next request may go to. Back to the address that was named is not led.
    var scope: FetchScope { named != nil && Load.address(url) == named ? .named : led }
    /// Whether an answer on the way set a cookie, which the next requests do not send.
    private var wasGivenCookie = false
    var wouldRefuse: [ATSLoadError] = []
    /// The requests before the present one.
    private var seen: Set<UTF8Key> = []

    init(_ request: HTTPRequest, _ body: RequestBody) {
        self.request = request
        self.body = body
        url = "\(request.scheme ?? "https")://\(request.authority ?? "")\(request.path ?? "/")"
        named = Load.address(url)
    }

    /// What may be led to once this server has answered.
    fileprivate func leads(after connection: HTTPConnection) -> FetchScope {
        led.within(FetchScope(of: connection.peerKind))
    }

    private static func address(_ text: String) -> IPAddress? { (try? LoadURL(text)).flatMap { IPAddress($0.host) } }

    private var visit: String { "\(request.method.rawValue) \(url)" }

    /// Whether the request may be repeated on a new connection: its method is idempotent (RFC 9110 9.2.2) and its body in memory.
    var mayBeSentAgain: Bool {
        let idempotent: [HTTPRequest.Method] = [.get, .head, .put, .delete, .options, .trace]
        return body.isReplayable && idempotent.contains(request.method)
    }

    func failed(_ error: ATSLoadError) -> ATSLoadError {
        var error = error
        error.hops = hops
        return error
    }

    // MARK: The request on the wire

    /// - Throws: ``RequestFraming/Impossible``.
    func wireHead(_ url: LoadURL) throws(RequestFraming.Impossible) -> HTTPRequestHead {
        let framing = try RequestFraming(request.method, body.content)
        var fields = HTTPHeaders()
        fields.reserveCapacity(request.headerFields.count + 4)
        let isDefault = url.port == nil || url.port == (url.isSecure ? 443 : 80)
        fields.add(name: "host", value: isDefault ? url.bracketedHost : "\(url.bracketedHost):\(url.effectivePort)")
        for field in request.headerFields where field.name != Load.host {
            fields.add(name: field.name.rawName, value: field.value)
        }
        if request.headerFields[.userAgent] == nil {
            fields.add(name: "user-agent", value: HTTPIntermediateFetcher.userAgent)
        }
        if request.headerFields[.accept] == nil { fields.add(name: "accept", value: "*/*") }
        framing.apply(to: &fields)
        return HTTPRequestHead(
            version: .http1_1, method: HTTPMethod(rawValue: request.method.rawValue),
            uri: Load.encoded(url.pathAndQuery), headers: fields)
    }

    private static let host = HTTPField.Name("host")

    /// Bytes that may not stand in a request line as they are, percent-encoded.
    private static func encoded(_ target: String) -> String {
        func mayStand(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7F }
        return target.utf8.allSatisfy(mayStand) ? target : target.utf8.percentEncoded(unless: mayStand)
    }

    // MARK: Redirects

    /// The load that goes on where a redirect leads; nil if the answer is none. Credentials and cookies stay with their origin.
    func redirected(by answer: Answer, limit: Int, toAnyNetwork: Bool) throws(ATSLoadError) -> Load? {
        let status = Int(answer.wire.head.status.code)
        guard [301, 302, 303, 307, 308].contains(status),
            let location = answer.wire.head.headers.first(name: "location")
        else { return nil }
        var next = self
        let hop = Hop(url: url, status: status, location: location, leads: leads(after: answer.connection))
        next.hops.append(hop)
        func blocked(_ number: Int, _ sentence: String) -> ATSLoadError {
            next.failed(LoadFaults.redirect(url, number, sentence))
        }
        var shown: String { location.terminalSafe(limit: 200) }
        guard location.utf8.count <= Load.locationLimit, let base = URL(string: url),
            let target = URL(string: location, relativeTo: base)?.absoluteURL,
            let scheme = target.scheme?.lowercased()
        else { throw blocked(-1011, "The Location '\(shown)' is not a URL.") }
        guard scheme == "http" || scheme == "https", target.host() != nil else {
            throw blocked(-1002, "The redirect leads to '\(shown)', which is neither http nor https.")
        }
        let rewrites =
            status == 303 && request.method != .head || (status == 301 || status == 302) && request.method == .post
        if !rewrites, !body.isReplayable {
            throw blocked(-1021, "The redirect requires sending the body again, but it was streamed.")
        }
        if rewrites, request.method != .get {
            next.request.method = .get
            next.body = .empty
            for name in [HTTPField.Name.contentLength, .contentType, .contentEncoding, .transferEncoding] {
                next.request.headerFields[name] = nil
            }
        }
        next.url = target.absoluteString
        if let fragment = next.url.utf8.firstIndex(of: UInt8(ascii: "#")) { next.url = String(next.url[..<fragment]) }
        next.wasGivenCookie = wasGivenCookie || answer.wire.head.headers.contains(name: "set-cookie")
        next.seen.insert(UTF8Key(visit))
        func endless(_ sentence: String) -> ATSLoadError {
            next.failed(LoadFaults.endless(url, sentence, afterCookie: next.wasGivenCookie))
        }
        if next.seen.contains(UTF8Key(next.visit)) {
            throw endless("The redirects loop back to \(next.url.terminalSafe(limit: 200))")
        }
        if hops.count >= limit { throw endless("There are more than \(limit) redirects") }
        if Load.origin(url) != Load.origin(next.url) {
            for name in Load.credentials { next.request.headerFields[name] = nil }
        }
        next.led = toAnyNetwork ? .anyNetwork : hop.leads
        return next
    }

    /// Bytes of a Location: the most that a URL may have.
    private static let locationLimit = 8192

    private static let credentials =
        [
            HTTPField.Name.authorization, .proxyAuthorization, .cookie, .wwwAuthenticate,
        ] + ["cookie2", "x-api-key", "x-auth-token"].compactMap { HTTPField.Name($0) }

    /// Scheme, host and port.
    private static func origin(_ text: String) -> UTF8Key? {
        (try? LoadURL(text)).map { UTF8Key("\($0.scheme)://\($0.host):\($0.effectivePort)") }
    }
}

/// An answer before it is known whether it is a redirect.
struct Answer {
    let wire: WireResponse
    let connection: HTTPConnection
    let url: LoadURL
    let decision: URLDecision

    func response(_ load: Load) -> ATSResponse {
        var fields = HTTPFields()
        for (name, value) in wire.head.headers {
            if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
        }
        let status = HTTPResponse.Status(
            code: Int(wire.head.status.code), reasonPhrase: connection.isHTTP2 ? "" : wire.head.status.reasonPhrase)
        var body = wire.body
        let (url, decision, hops) = (url, decision, load.hops)
        body.translate = { failure in
            var error = LoadFaults.translate(failure, url: url, decision: decision)
            error.hops = hops
            return error
        }
        let judgement = connection.judgement
        var notes = judgement?.verdict.notes ?? []
        if judgement?.acceptedByDelegate == true {
            notes.append(
                Cause(
                    .trustNeedsDelegate,
                    "The app's own code accepted a certificate that trust evaluation refused; the dictionary permits that for this host."
                ))
            notes += judgement?.verdict.causes ?? []
        }
        return ATSResponse(
            head: HTTPResponse(status: status, headerFields: fields), body: body, url: load.url,
            hops: load.hops + [Hop(url: load.url, status: status.code, leads: load.leads(after: connection))],
            applicationProtocol: connection.applicationProtocol, connection: judgement?.facts, notes: notes,
            wouldRefuse: load.wouldRefuse)
    }
}
