// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import NIOCore
import NIOHTTP1
import NIOPosix
import TLSModel
import TLSProbe
import Vocabulary

/// Opens the server's side of a tunnel, after policy and probe agreed.
enum ProxyTunnel {
    enum Opened: Sendable {
        case refused(Refusal)
        /// The connection to the server, which reads nothing yet, and the watch over its handshake.
        case open(any Channel, TunnelWatch?)
    }

    static func open(_ authority: String, proxy: ATSProxy, loop: any EventLoop) async -> Opened {
        let bytes = authority.utf8
        guard bytes.count <= 300, !bytes.contains(where: "/?#@\\".utf8.contains),
            bytes.contains(UInt8(ascii: ":")), let url = try? LoadURL("https://\(authority)/"),
            url.port != nil || bytes.suffix(4).elementsEqual(":443".utf8)
        else {
            return .refused(Refusal(status: .badRequest, text: "CONNECT requires a host and a port."))
        }
        let request = ProxiedRequest(
            proxy: proxy, method: "CONNECT", target: "\(url.bracketedHost):\(url.effectivePort)", url: url)
        let isMonitoring = proxy.configuration.isMonitoring
        let decision = proxy.judge.policy.decide(url)
        let blocked =
            decision.verdict == .blocked
            ? decision.error.map { LoadFaults.blocked(decision, error: $0, isRedirect: false) } : nil
        if let blocked, !isMonitoring {
            return .refused(request.refused(blocked.causes, blocked.error, blocked.remedies))
        }
        let destination: ProxyJudge.Destination
        do {
            destination = try await proxy.judge.destination(url)
        } catch let forbidden as ForbiddenAddress {
            return .refused(request.forbidden(forbidden.reason))
        } catch {
            let failure = (error as? ConnectFailure) ?? ConnectFailure(.unreachable(error.nameWithoutPlace))
            let failed = evaluate(decision.requirements, failed: failure.outcome, host: url.host)
            return .refused(request.unreachable(failed.causes, failed.error))
        }
        switch destination.verdict {
        case .complies:
            request.note(blocked == nil ? .allowed : .wouldRefuse, blocked?.causes ?? [], blocked?.error)
        case .unknown(let causes, let error): return .refused(request.unreachable(causes, error))
        case .refused(let causes, let error, let remedies):
            guard isMonitoring else { return .refused(request.refused(causes, error, remedies)) }
            request.note(.wouldRefuse, causes, error)
        }
        return await connect(destination, request.target, proxy, loop) { causes in
            // The probe's connection complied and this one does not: TLS is broken off.
            request.note(isMonitoring ? .wouldRefuse : .refused, causes, .secureConnectionFailed(-9802))
        }
    }

    private static func connect(
        _ destination: ProxyJudge.Destination, _ target: String, _ proxy: ATSProxy, _ loop: any EventLoop,
        onViolation: @escaping @Sendable ([Cause]) -> Void
    ) async -> Opened {
        do {
            let channel = try await ClientBootstrap(group: loop)
                .connectTimeout(TimeAmount(proxy.configuration.connectTimeout))
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .channelOption(.autoRead, value: false)
                .connect(to: destination.address)
                .get()
            let watch = TunnelWatch(judge: proxy.judge, destination: destination, onViolation: onViolation)
            return .open(channel, proxy.configuration.isMonitoring ? nil : watch)
        } catch {
            let outcome = HandshakeOutcome.connection(ConnectionFailure(reading: error) ?? .closed)
            let failed = evaluate(
                destination.decision.requirements, failed: outcome, host: destination.decision.url.host)
            return .refused(Refusal(target: target, unreachable: failed.causes, error: failed.error))
        }
    }
}

/// What the handshake in a tunnel is judged by.
struct TunnelWatch: Sendable {
    let judge: ProxyJudge
    /// With what the probe saw of the same server.
    let destination: ProxyJudge.Destination
    let onViolation: @Sendable ([Cause]) -> Void

    private var host: String { destination.decision.url.host }

    /// Compares the name that the client's hello asks for with the host that the tunnel was opened to: only that one was judged.
    ///
    /// A hello without a name gets what the server shows to nobody in particular; that is no other host.
    func violation(_ hello: ClientFlight) -> [Cause] {
        if let reason = hello.violation { return [Cause(.tlsHandshakeFailed, reason + ".")] }
        guard case .named(let name)? = hello.serverName, !TunnelWatch.isSame(name, Array(host.utf8)) else { return [] }
        return [
            Cause(
                .proxyNameMismatch,
                "The tunnel was opened to \(host), but the ClientHello in it names "
                    + "\(String(decoding: name, as: UTF8.self).terminalSafe(limit: 255)), which was not judged.")
        ]
    }

    /// Host names without regard to case and to the dot at the end.
    private static func isSame(_ name: [UInt8], _ host: [UInt8]) -> Bool {
        func plain(_ name: [UInt8]) -> [UInt8] { (name.last == 0x2E ? name.dropLast() : name[...]).asciiLowercased }
        return plain(name) == plain(host)
    }

    /// Judges a flight that is over, by what it says of the server: whether it speaks TLS, a version below the policy's although a newer one was
    /// offered, and its certificates where they came in the clear. What an app negotiates is known from the probe; suite and group of this
    /// handshake, and a version that was the newest on offer, are the choice of the program in the tunnel.
    ///
    /// - Parameter offered: the newest version of the client's hello, as its two bytes.
    func violation(_ flight: ServerFlight, offered: UInt16) async -> [Cause] {
        if flight.notTLS != nil {
            return [Cause(.netNotTLS, "The server answers with something that is not TLS.")]
        }
        if let reason = flight.violation { return [Cause(.tlsHandshakeFailed, reason + ".")] }
        let reason = "The tunnel is not decrypted."
        guard let handshake = flight.observation(possession: .unproven(reason)) else { return [] }
        let minimum = destination.decision.requirements.effectiveMinimum
        if handshake.version < minimum, offered >= minimum.rawValue {
            return [
                Cause(
                    .tlsVersionTooLow,
                    "The server chose \(handshake.version) although a newer version was offered, and the policy requires \(minimum)."
                )
            ]
        }
        guard !handshake.certificates.isEmpty else { return [] }
        return await judge.trustCauses(of: destination.verdict.shown?.added(to: handshake) ?? handshake, destination)
    }
}
