// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import ConnectionAdmission
import FoundationEssentials
import HTTPTypes
import Hummingbird
package import Logging
import NIOCore
import ServiceLifecycle
import TLSModel
import Vocabulary

/// A listener for HTTP/1, with or without TLS, whose connections have a deadline in every state and a bound in number, and that says in one sentence why it cannot
/// listen.
package struct Listener: Service {
    package struct Place: Sendable {
        /// The setting or option that names it, for faults.
        let setting: String
        package let host: String
        /// 0 picks a free one.
        let port: Int
        /// The identity for the next connection; nil for a listener without TLS.
        package var identity: (@Sendable () -> ListenerIdentity)?

        package init(setting: String, host: String, port: Int, identity: ListenerIdentity? = nil) {
            (self.setting, self.host, self.port) = (setting, host, port)
            if let identity { self.identity = { identity } }
        }

        /// Whether it speaks TLS.
        package var isSecure: Bool { identity != nil }

        /// The base URL at the port that was bound.
        package func url(port: Int) -> String {
            "\(isSecure ? "https" : "http")://\(HostPort.text(host: host, port: port))"
        }
    }

    private let place: Place
    private let application: any Service

    /// - Parameters:
    ///   - admission: which connections there may be.
    ///   - observer: counts what ends connections, and logs what is no request.
    ///   - announce: receives the port once connections are accepted.
    ///   - gate: who gets a place among the requests that are being answered; without one, everybody.
    ///   - answer: answers each request.
    package init(
        _ place: Place, limits: ConnectionLimits = ConnectionLimits(), admission: Admission, observer: RequestObserver,
        sources: SystemSources = .live, log: Logger, announce: @escaping @Sendable (_ port: Int) -> Void,
        gate: (any RequestGate)? = nil, answer: @escaping @Sendable (IncomingRequest) async -> Answer
    ) {
        self.place = place
        // The library interpolates what it was sent, so only its errors pass.
        var quiet = log
        quiet.logLevel = .error
        application = Application(
            responder: Responder(observer: observer, answer: answer),
            server: .http1(
                configuration: .init(
                    additionalChannelHandlers: [
                        ConnectionHandlerInstaller(identity: place.identity) {
                            ConnectionHandler(
                                limits: limits, observer: observer, sources: sources, admission: admission,
                                gate: gate)
                        }
                    ],
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: 16_384, maxHeaderListSize: 32_768, maxHeaderFieldCount: 100)
                )
            ),
            configuration: .init(address: .hostname(place.host, port: place.port), serverName: nil, backlog: 1024),
            onServerRunning: { channel in
                do {
                    try await channel.eventLoop.submit { try admission.addGate(to: channel) }.get()
                } catch {
                    log.error("Connections are not counted.", metadata: ["reason": "\(type(of: error))"])
                }
                announce(channel.localAddress?.port ?? place.port)
            },
            logger: quiet
        )
    }

    package func run() async throws {
        do {
            try await application.run()
        } catch let error as IOError {
            throw fault(SystemFile.message(error.errnoCode))
        } catch is SocketAddressError.UnknownHost {
            throw fault("there is no such host")
        }
    }

    private func fault(_ reason: String) -> ListenFault {
        let address = HostPort.text(host: place.host, port: place.port)
        return ListenFault(
            reason: "\(place.setting): cannot listen on \(address) (\(reason)); choose another address")
    }

    /// Between the library and what answers.
    private struct Responder: HTTPResponder {
        let observer: RequestObserver
        let answer: @Sendable (IncomingRequest) async -> Answer

        func respond(to request: Request, context: Context) async -> Response {
            let incoming = IncomingRequest(request, over: context.channel)
            // Whoever sends requests and resets each connection would have the service work behind every limit.
            guard !incoming.isAbandoned else {
                observer.count(.requestsAbandoned)
                return Response(status: .requestTimeout)
            }
            return await answer(incoming).response(toHead: request.method == .head)
        }
    }

    private struct Context: RequestContext {
        var coreContext: CoreRequestContextStorage
        let channel: any Channel

        init(source: ApplicationRequestContextSource) {
            coreContext = .init(source: source)
            channel = source.channel
        }
    }
}

extension RequestObserver {
    /// Admits connections to a listener, and shows and logs how many there are.
    package func admission(_ limits: Admission.Limits, to listener: String) -> Admission {
        let write = Admission.logger(log)
        return Admission(
            limits: limits,
            onOpen: { self.set(.connectionsOpen, Double($0), [("listener", listener)]) },
            onRefusals: { refusals in
                for (reason, count) in [
                    ("total", refusals.full), ("address", refusals.addressFull), ("descriptors", refusals.exhausted),
                    ("replaced", refusals.replaced),
                ] where count > 0 {
                    self.count(.connectionsRefused, [("listener", listener), ("reason", reason)], by: count)
                }
                write(refusals)
            }
        )
    }
}

/// An address on which a listener cannot listen.
package struct ListenFault: Error, Sendable, CustomStringConvertible {
    /// One sentence without a full stop, with the setting in front.
    package let reason: String

    package var description: String { reason }
}
