// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppTransportSecurity
import NIOCore
import TLSModel
package import TLSProbe

/// The hello that a system sends to a host under a policy, without a load behind it: for what the connection of a load cannot tell.
struct PolicyHello: Sendable {
    let offer: HelloOffer
    private let prober: Prober
    private let addresses: [SocketAddress]

    init(_ requirements: TransportRequirements, host: String, _ prober: Prober, _ addresses: [SocketAddress]) {
        offer = HelloOffer(requirements).named(host)
        self.prober = prober
        self.addresses = addresses
    }

    /// Sends it.
    ///
    /// - Parameter timeout: at most what the current target has left.
    func send(timeout: Duration) async -> ProbeEnd {
        await prober.attempt(offer, addresses: addresses, connectTimeout: timeout, timeout: timeout)
    }

    /// How a smaller hello ended, where the size of this one may be the reason that it brought no handshake.
    ///
    /// - Parameter timeout: for each hello, and at most what the current target has left.
    func smaller(
        after outcome: HandshakeOutcome, widest: HandshakeObservation?, timeout: Duration
    ) async -> HandshakeOutcome? {
        guard let smaller = offer.smaller, outcome.isSilence || widest.map(offer.offers) == true else { return nil }
        func send(_ offer: HelloOffer) async -> HandshakeOutcome? {
            let left = TargetDeadline.remaining(atMost: timeout)
            guard left > .zero, !Task.isCancelled else { return nil }
            return await prober.attempt(offer, addresses: addresses, connectTimeout: left, timeout: left).outcome
        }
        return await SmallerHello.outcome(of: { await send(smaller) }, again: { await send(offer) })
    }

    /// What the server shows in a whole handshake; nil if there is none.
    func observation(timeout: Duration) async -> HandshakeObservation? {
        guard case .negotiated(let seen) = await send(timeout: timeout).outcome else { return nil }
        return seen
    }
}

extension HelloOffer {
    /// What a system offers under a policy: two requirements with the same offer are decided by the same hello.
    package init(_ requirements: TransportRequirements) {
        self.init(
            minimumVersion: requirements.effectiveMinimum, maximumVersion: requirements.maximum,
            suites: requirements.suites, groups: requirements.groups, signatureSchemes: requirements.signatureSchemes,
            keyShareGroups: requirements.keyShareGroups)
        layout = requirements.helloLayout
    }
}

/// What a server showed beside its certificate to the hello of the system: timestamps, for which the library that loads and many a program in a
/// tunnel do not ask, and whether it asks for a client certificate, which that library does not show in TLS 1.3.
struct ShownFlight: Sendable {
    private let leaf: [UInt8]
    private let timestamps: [UInt8]?
    private let stapledTimestamps: [UInt8]?
    private let requestsClientCertificate: Bool

    /// Nil if there is nothing.
    init?(_ handshake: HandshakeObservation) {
        guard let leaf = handshake.certificates.first,
            handshake.timestamps != nil || handshake.stapledTimestamps != nil || handshake.requestsClientCertificate
        else { return nil }
        self.leaf = leaf
        timestamps = handshake.timestamps
        stapledTimestamps = handshake.stapledTimestamps
        requestsClientCertificate = handshake.requestsClientCertificate
    }

    /// The handshake with it, if it showed the same certificate.
    func added(to handshake: HandshakeObservation) -> HandshakeObservation {
        guard handshake.certificates.first == leaf else { return handshake }
        var handshake = handshake
        handshake.timestamps = handshake.timestamps ?? timestamps
        handshake.stapledTimestamps = handshake.stapledTimestamps ?? stapledTimestamps
        handshake.requestsClientCertificate = handshake.requestsClientCertificate || requestsClientCertificate
        return handshake
    }
}
