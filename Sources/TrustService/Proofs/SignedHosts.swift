// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import HTTPService
import TLSModel
import Vocabulary

/// The hosts that signed requests may be for: what `listen` names, and `hosts`.
///
/// What an app signed for another server is no proof here, even if that server passes it on.
struct SignedHosts: Sendable {
    private let names: Set<UTF8Key>
    private let address: IPAddress?

    init(_ configuration: Configuration) {
        let listener = configuration.listen
        var names = configuration.hosts
        if listener.isLoopback { names.append("localhost") }
        let address = IPAddress(listener.host)
        if address == nil { names.append(listener.host) }
        self.names = Set(names.compactMap(BrowserGate.name).map { UTF8Key($0) })
        // Every address of the machine is none of them.
        self.address = address.flatMap { $0.bytes.allSatisfy { $0 == 0 } ? nil : $0 }
    }

    /// Whether no host can be right.
    var isEmpty: Bool { names.isEmpty && address == nil }

    /// Whether a host, as in the field `Host`, is one of these; its port does not matter.
    func contains(_ host: String) -> Bool {
        guard let place = try? HostPort(authority: Substring(host)),
            place.portText.map({ HostPort.port($0) != nil }) ?? true
        else { return false }
        if let named = IPAddress(place.host) { return named == address }
        return BrowserGate.name(String(place.host)).map { names.contains(UTF8Key($0)) } ?? false
    }

    /// Why client data is refused that names none of these; nil if it names one.
    func refusal(of clientData: [UInt8]) -> ProofRefusal? {
        guard let host = ClientData.host(in: clientData) else {
            return ProofRefusal(.policyHost, evidence: "the client data names no host")
        }
        if contains(host) { return nil }
        return ProofRefusal(
            .policyHost, evidence: "the client data is for \(host.terminalSafe(limit: 64)), which hosts does not name")
    }
}
