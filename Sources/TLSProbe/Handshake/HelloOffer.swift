// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import TLSModel

/// What a client hello offers.
public struct HelloOffer: Sendable, Hashable {
    package var minimumVersion: TLSVersion
    package var maximumVersion: TLSVersion
    package var suites: [CipherSuite]
    package var groups: [NamedGroup]
    package var signatureSchemes: [SignatureScheme]
    package var applicationProtocols: [String]
    package var serverName: String?
    package var keyShareGroups: [NamedGroup]
    package var layout = HelloLayout.plain
    /// Whether a server that asks for a share of a group that no key is made of here has answered: the handshake then ends with version,
    /// suite and group, and without certificates.
    package var learnsForeignGroups = false

    /// Makes one from its parts.
    ///
    /// - Parameters:
    ///   - minimumVersion: the least version that the client would take.
    ///   - maximumVersion: the highest version that is offered.
    ///   - suites: in the order of preference; suites of TLS 1.3 are sent only where TLS 1.3 is offered.
    ///   - groups: supported_groups, in this order.
    ///   - signatureSchemes: signature_algorithms, in this order.
    ///   - applicationProtocols: ALPN names, for example `h2` and `http/1.1`; none sends no extension.
    ///   - serverName: the name for the server_name extension. Nothing is sent for an address literal (RFC 6066 section 3).
    ///   - keyShareGroups: the groups that TLS 1.3 sends a key share for at once; others cost a HelloRetryRequest.
    public init(
        minimumVersion: TLSVersion = .tls12, maximumVersion: TLSVersion = .tls13, suites: [CipherSuite],
        groups: [NamedGroup] = HelloOffer.commonGroups,
        signatureSchemes: [SignatureScheme] = HelloOffer.commonSignatureSchemes,
        applicationProtocols: [String] = ["h2", "http/1.1"], serverName: String? = nil,
        keyShareGroups: [NamedGroup] = [.x25519, .secp256r1]
    ) {
        self.minimumVersion = minimumVersion
        self.maximumVersion = maximumVersion
        self.suites = suites
        self.groups = groups
        self.signatureSchemes = signatureSchemes
        self.applicationProtocols = applicationProtocols
        self.serverName = serverName
        self.keyShareGroups = keyShareGroups
    }

    /// The same with the name of a server in it.
    package func named(_ name: String?) -> HelloOffer {
        var offer = self
        offer.serverName = name
        return offer
    }

    /// Of the lists the lengths alone: few offers differ in more, and they are looked up for every judgement.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(minimumVersion)
        hasher.combine(maximumVersion)
        hasher.combine(suites.count)
    }

    /// The groups of Apple's clients that this prober can agree on a key with.
    public static let commonGroups: [NamedGroup] = [.x25519, .secp256r1, .secp384r1, .secp521r1]

    /// The schemes in the order of Apple's clients; the SHA-1 ones come last.
    public static let commonSignatureSchemes: [SignatureScheme] = [
        .ecdsaSECP256R1SHA256, .rsaPSSSHA256, .rsaPKCS1SHA256, .ecdsaSECP384R1SHA384, .rsaPSSSHA384, .rsaPKCS1SHA384,
        .ecdsaSECP521R1SHA512, .rsaPSSSHA512, .rsaPKCS1SHA512, .rsaPKCS1SHA1, .ecdsaSHA1,
    ]

    /// The bytes of the first record, with its head of five: what the connection begins with.
    package var length: Int {
        let zeros = [UInt8](repeating: 0, count: 32)
        var hello = ClientHello(offer: self, random: zeros, sessionIdentifier: zeros)
        hello.shares = sharedGroups.compactMap { group in
            KeyShare.length(group).map { (group, [UInt8](repeating: 0, count: $0)) }
        }
        return RecordReader.record(ContentType.handshake, version: TLSVersion.tls10.rawValue, hello.message).count
    }

    /// The groups that the first hello has a share of.
    var sharedGroups: [NamedGroup] {
        maximumVersion >= .tls13 ? keyShareGroups.filter { groups.contains($0) } : []
    }

    /// The versions from the highest down.
    var versions: [TLSVersion] {
        [TLSVersion.tls13, .tls12, .tls11, .tls10].filter { minimumVersion <= $0 && $0 <= maximumVersion }
    }

    var sentSuites: [CipherSuite] {
        suites.filter { suite in
            suite.keyExchange == .tls13 ? maximumVersion >= .tls13 : minimumVersion < .tls13
        }
    }

    /// The name as the extension carries it; nil for what is no host name, and for address literals unless the layout sends them.
    var sentServerName: [UInt8]? {
        guard var name = serverName.map({ Array($0.utf8) }) else { return nil }
        if name.last == UInt8(ascii: ".") { name.removeLast() }
        guard (1...255).contains(name.count), !name.contains(UInt8(ascii: ":")),
            name.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { return nil }
        let lastLabel = name.split(separator: UInt8(ascii: ".")).last ?? []
        // A last label of digits makes an IPv4 address of the whole (WHATWG URL, "ends in a number").
        return lastLabel.allSatisfy { (0x30...0x39).contains($0) } && !layout.sendsAddresses ? nil : name
    }
}
