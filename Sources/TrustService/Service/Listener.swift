// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ConnectionAdmission
import Foundation
package import Hummingbird
package import Logging
import NIOCore
import ServiceLifecycle
import Vocabulary

/// A listener for HTTP/1 whose connections have a deadline in every state and a bound in number, and that says in one sentence why it cannot
/// listen.
package struct Listener: Service {
    /// `listen` or `internalListen`.
    private let setting: String
    private let address: ListenAddress
    private let application: any Service

    /// - Parameters:
    ///   - setting: what a fault names: the setting or option that holds the address.
    ///   - gate: refuses requests for which the node has no room; nil if none is refused.
    ///   - announce: is given the URL once connections are accepted.
    init<Responder: HTTPResponder>(
        setting: String, address: ListenAddress, responder: Responder, limits: ConnectionLimits,
        watcher: ConnectionWatcher, gate: RequestGate?, admission: Admission, log: Logger,
        announce: @escaping @Sendable (String) -> Void
    ) where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
        self.setting = setting
        self.address = address
        // The library interpolates what it was sent, so only its errors pass.
        var quiet = log
        quiet.logLevel = .error
        application = Application(
            responder: responder,
            server: .http1(
                configuration: .init(
                    additionalChannelHandlers: [
                        ConnectionGuardInstaller {
                            ConnectionGuard(limits: limits, watcher: watcher, gate: gate, admission: admission)
                        }
                    ],
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: 16_384, maxHeaderListSize: 32_768, maxHeaderFieldCount: 100)
                )
            ),
            configuration: .init(address: .hostname(address.host, port: address.port), serverName: nil, backlog: 1024),
            onServerRunning: { channel in
                await ConnectionDoors.put(admission, before: channel, log)
                let port = channel.localAddress?.port ?? address.port
                announce("http://\(ListenAddress(host: address.host, port: port))")
            },
            logger: quiet
        )
    }

    /// A listener by itself, with the limits that the service has by default.
    ///
    /// - Parameters:
    ///   - setting: what a fault names: the option that holds the address.
    ///   - announce: is given the URL once connections are accepted.
    package init<Responder: HTTPResponder>(
        setting: String, address: ListenAddress, responder: Responder, observer: RequestObserver, log: Logger,
        announce: @escaping @Sendable (String) -> Void
    ) where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
        let sources = SystemSources.live
        self.init(
            setting: setting, address: address, responder: responder, limits: ConnectionLimits(),
            watcher: ConnectionWatcher(observer, CorrelationIds(random: sources.random), uptime: sources.uptime),
            gate: nil,
            admission: ConnectionDoors.admission(DescriptorLimit.current().limits(total: nil), "public", observer, log),
            log: log, announce: announce)
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
        ListenFault(reason: "\(setting): cannot listen on \(address) (\(reason)); choose another address")
    }
}

extension ConnectionWatcher {
    /// Counts what ends connections, and logs unreadable requests like every other refusal.
    init(_ observer: RequestObserver, _ correlationIds: CorrelationIds, uptime: @escaping @Sendable () -> Double) {
        self.init(
            ended: { observer.count("http.connections.ended", [("state", $0)]) },
            unreadable: {
                let problem = Problem(.requestMalformed, evidence: "not a request")
                let correlationId = correlationIds.next()
                observer.finished(
                    operation: "unreadable", answer: .problem(problem, correlationId: correlationId), seconds: 0,
                    at: uptime(), correlationId: correlationId, evidence: problem.evidence)
                return problem.document(correlationId: correlationId)
            }
        )
    }
}

/// An address on which the service cannot listen.
package struct ListenFault: Error, Sendable, CustomStringConvertible {
    /// One sentence without a full stop, with the setting in front.
    package let reason: String

    package var description: String { reason }
}
