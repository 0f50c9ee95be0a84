// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import NIOHTTP1
import Vocabulary

/// An answer of the proxy itself.
struct Refusal: Sendable {
    let status: HTTPResponseStatus
    let text: String
    /// The error type of the Proxy-Status field (RFC 9209 section 2.3); empty if there is no error.
    var proxyStatus = "http_request_denied"
    /// The first cause; empty if there is none.
    var code = ""
}

extension Refusal {
    /// 403 with the reasons, the error that an app would get, and the keys that would change it.
    init(target: String, causes: [Cause], error: URLLoadError?, console: [ConsoleLine], remedies: [Remedy]) {
        var lines = ["App Transport Security refuses \(Refusal.shown(target))."]
        for cause in causes { lines.append("\(cause.code): \(Refusal.shown(cause.message))") }
        lines += Refusal.lines(error, console)
        if !remedies.isEmpty { lines.append(Refusal.shown(Remedy.sentence(remedies, after: causes))) }
        self.init(.forbidden, causes.first?.code, lines)
    }

    /// 403 where the proxy leads nobody, whatever the policy says.
    init(target: String, forbidden reason: String) {
        let line = "The proxy does not connect to \(Refusal.shown(target)): \(reason)."
        self.init(.forbidden, .proxyForbiddenAddress, [line])
    }

    /// 502 where the server could not be reached or is no TLS server.
    init(target: String, unreachable causes: [Cause], error: URLLoadError?) {
        let lines = causes.map { "\($0.code): \(Refusal.shown($0.message))" }
        self.init(
            .badGateway, causes.first?.code,
            ["\(Refusal.shown(target)) cannot be reached."] + lines + Refusal.lines(error, []))
        proxyStatus = "destination_unavailable"
    }

    /// What an app would get, and what its console would show.
    private static func lines(_ error: URLLoadError?, _ console: [ConsoleLine]) -> [String] {
        guard let error else { return [] }
        return ["An app would get \(Refusal.shown(error.summary))"]
            + console.map { "Its console would show: \(Refusal.shown($0.text))" }
    }

    /// What others chose, as one line of a bounded length.
    private static func shown(_ text: String) -> String { text.terminalSafe(limit: 1000).commandSafe }

    /// With the cause in the reason phrase: for a CONNECT that is refused, many programs show that line and drop the body.
    private init(_ status: HTTPResponseStatus, _ code: Code?, _ lines: [String]) {
        self.init(
            status: code.map { .custom(code: status.code, reasonPhrase: "\(status.reasonPhrase) (\($0))") } ?? status,
            text: lines.joined(separator: "\n"), code: code?.rawValue ?? "")
    }
}

/// A request on its way through the proxy: notes what became of it, and makes the answers that end it.
struct ProxiedRequest: Sendable {
    let proxy: ATSProxy
    let method: String
    /// Without a user and password, which are for nobody's log.
    let target: String
    let url: LoadURL

    func note(_ result: ATSProxy.Event.Result, _ causes: [Cause], _ error: URLLoadError?) {
        let event = ATSProxy.Event(
            result: result, method: method, target: target, causes: causes, error: error,
            console: console(error, causes))
        proxy.note(event, host: url.host, port: url.effectivePort, isSecure: url.isSecure)
    }

    func refused(_ causes: [Cause], _ error: URLLoadError?, _ remedies: [Remedy]) -> Refusal {
        note(.refused, causes, error)
        return Refusal(
            target: target, causes: causes, error: error, console: console(error, causes), remedies: remedies)
    }

    func forbidden(_ reason: String) -> Refusal {
        note(.failed, [Cause(.proxyForbiddenAddress, reason)], nil)
        return Refusal(target: target, forbidden: reason)
    }

    func unreachable(_ causes: [Cause], _ error: URLLoadError?) -> Refusal {
        note(.failed, causes, error)
        return Refusal(target: target, unreachable: causes, error: error)
    }

    private func console(_ error: URLLoadError?, _ causes: [Cause]) -> [ConsoleLine] {
        guard let error else { return [] }
        return ConsoleLine.lines(for: error, causes: causes, host: url.host, on: proxy.judge.policy.profile)
    }
}
