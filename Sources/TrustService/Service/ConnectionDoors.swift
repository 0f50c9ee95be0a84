// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ConnectionAdmission
import Logging
import NIOCore

/// How many connections each listener of the service keeps.
///
/// The internal listener has a share of its own, so that operators and monitoring get in while the public one is full.
struct ConnectionDoors: Sendable {
    let outside: Admission
    let inside: Admission

    init(
        _ configuration: Configuration, _ observer: RequestObserver, _ log: Logger,
        descriptors: DescriptorLimit = .current()
    ) {
        var limits = descriptors.limits(total: configuration.limits.connections)
        if let wanted = configuration.limits.connections, wanted > limits.total {
            log.warning(
                "limits.connections is more than the process's file descriptors allow.",
                metadata: ["connections": "\(wanted)", "allowed": "\(limits.total)"])
        }
        let share = max(4, min(64, limits.total / 8))
        if configuration.internalListen != nil {
            limits.total = max(4, limits.total - share)
        }
        limits.perAddress = min(
            configuration.limits.connectionsPerAddress ?? max(64, limits.total / 16), limits.total)
        limits.exempt = configuration.trustedProxies
        outside = ConnectionDoors.admission(limits, "public", observer, log)
        inside = ConnectionDoors.admission(.init(total: share, perAddress: share), "internal", observer, log)
        observer.set("http.connections.limit", Double(limits.total), [("listener", "public")])
    }

    static func admission(
        _ limits: Admission.Limits, _ listener: String, _ observer: RequestObserver, _ log: Logger
    ) -> Admission {
        let write = Admission.logger(log)
        return Admission(
            limits: limits,
            onOpen: { observer.set("http.connections.open", Double($0), [("listener", listener)]) },
            onRefusals: { refusals in
                for (reason, count) in [
                    ("total", refusals.full), ("address", refusals.addressFull), ("descriptors", refusals.exhausted),
                    ("replaced", refusals.replaced),
                ] where count > 0 {
                    observer.count("http.connections.refused", [("listener", listener), ("reason", reason)], by: count)
                }
                write(refusals)
            }
        )
    }

    /// Puts an admission before everything that a listener accepts.
    static func put(_ admission: Admission, before channel: any Channel, _ log: Logger) async {
        do {
            try await channel.eventLoop.submit {
                try channel.pipeline.syncOperations.addHandler(admission.gate(), position: .first)
            }.get()
        } catch {
            log.error("Connections are not counted.", metadata: ["reason": "\(type(of: error))"])
        }
    }
}
