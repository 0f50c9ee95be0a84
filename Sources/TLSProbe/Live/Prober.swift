// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Glibc
public import NIOCore
import NIOPosix
public import TLSModel
import Vocabulary

/// Sends client hellos over TCP and returns what came back.
///
/// A probe connects, sends one hello (and a second after a HelloRetryRequest), reads the server's flight, says goodbye with an
/// alert and closes. It sends no request, no client key exchange and no Finished.
public struct Prober: Sendable {
    private let group: any EventLoopGroup
    /// How names become addresses.
    package let resolver: NameResolver

    /// Probes on the event loops of a group, which the caller shuts down.
    public init(group: any EventLoopGroup, resolver: NameResolver = NameResolver()) {
        self.group = group
        self.resolver = resolver
    }

    /// Probes the addresses in order; the first one that can be connected to decides.
    ///
    /// - Parameter timeout: for each address. All of them together never take longer than the target of the current task has left.
    package func attempt(
        _ offer: HelloOffer, addresses: [SocketAddress], connectTimeout: Duration = .seconds(5),
        timeout: Duration = .seconds(10)
    ) async -> ProbeEnd {
        var last = ProbeEnd(outcome: .connection(.nameNotFound("it has no address")), wasConnected: false)
        for address in addresses {
            let left = TargetDeadline.remaining(atMost: timeout)
            guard left > .zero else {
                return last.address == nil ? ProbeEnd(outcome: .connection(.timeout), wasConnected: false) : last
            }
            last = await attempt(offer, address, connectTimeout: min(connectTimeout, left), timeout: left)
            last.address = address
            switch last.outcome {
            case .connection(.refused), .connection(.timeout), .connection(.unreachable): continue
            default: return last
            }
        }
        return last
    }

    private func attempt(
        _ offer: HelloOffer, _ address: SocketAddress, connectTimeout: Duration, timeout: Duration
    ) async -> ProbeEnd {
        let handshake = ClientHandshake(offer: offer, secrets: .fresh())
        let loop = group.any()
        let promise = loop.makePromise(of: ProbeEnd.self)
        // There before the connection is: a connect that is under way can be ended.
        let opened = loop.makePromise(of: (any Channel).self)
        ClientBootstrap(group: loop)
            .connectTimeout(TimeAmount(connectTimeout))
            .channelInitializer { channel in
                opened.succeed(channel)
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        ProbeHandler(handshake, promise: promise, timeout: TimeAmount(timeout)))
                }
            }
            .connect(to: address)
            .whenFailure { error in
                opened.fail(error)
                let failure = ConnectionFailure(reading: error) ?? .closed
                promise.succeed(ProbeEnd(outcome: .connection(failure), wasConnected: false))
            }
        let end = try? await withTaskCancellationHandler {
            try await promise.futureResult.get()
        } onCancel: {
            opened.futureResult.whenSuccess { $0.close(promise: nil) }
        }
        return end ?? ProbeEnd(outcome: .connection(.closed), wasConnected: false)
    }

    /// Resolves the host and probes its addresses in order.
    ///
    /// - Parameter serverName: the name to ask for; nil takes the host, where that is a name.
    public func probe(
        _ offer: HelloOffer, host: String, port: Int, serverName: String? = nil, connectTimeout: Duration = .seconds(5),
        timeout: Duration = .seconds(10)
    ) async -> HandshakeOutcome {
        switch await resolver.resolve(host: host, port: port, timeout: timeout) {
        case .failed(let failure): .connection(failure)
        case .addresses(let addresses):
            await attempt(
                offer.named(serverName ?? host), addresses: addresses, connectTimeout: connectTimeout, timeout: timeout
            ).outcome
        }
    }
}

extension ConnectionFailure {
    /// What an error of a socket means; nil if it is not about the connection.
    package init?(reading error: any Error) {
        if case ChannelError.connectTimeout = error {
            self = .timeout
            return
        }
        guard let error = error as? IOError else { return nil }
        switch error.errnoCode {
        case ECONNREFUSED: self = .refused
        case ECONNRESET, EPIPE, ECONNABORTED: self = .reset
        case ETIMEDOUT: self = .timeout
        case ENETUNREACH: self = .unreachable("the network is unreachable")
        case EHOSTUNREACH: self = .unreachable("the host is unreachable")
        case EMFILE, ENFILE: self = .unreachable("this machine allows no more connections; see 'ulimit -n'")
        default: self = .unreachable(SystemFile.message(error.errnoCode))
        }
    }
}
