// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ConnectionAdmission
import HTTPService
import Logging

/// How many connections each listener of the service keeps.
///
/// The internal listener has a share of its own, so that operators and monitoring get in while the public one is full.
struct ConnectionCaps: Sendable {
    let outside: Admission.Limits
    let inside: Admission.Limits

    init(
        _ configuration: Configuration, _ observer: RequestObserver,
        descriptors: DescriptorLimit = .current()
    ) {
        var limits = descriptors.limits(total: configuration.limits.connections)
        if let wanted = configuration.limits.connections, wanted > limits.total {
            observer.log.warning(
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
        outside = limits
        inside = .init(total: share, perAddress: share)
        observer.set(.connectionsLimit, Double(limits.total), [("listener", "public")])
    }
}
