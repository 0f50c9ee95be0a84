// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import TLSModel

/// Facts of a connection that meets everything, to be broken one by one.
struct Scene {
    var version: TLSVersion = .tls12
    var suite: CipherSuite = .ecdheRSAWithAES128GCMSHA256
    var host = "api.example.com"
    var subject = "CN=leaf"
    var names: AlternativeNames? = AlternativeNames(dnsNames: ["api.example.com"], addresses: [])
    var commonNames: [String] = []
    var key: PublicKeyFacts.Kind = .rsa(bits: 2048)
    var hash: SignatureFacts.Hash = .sha256
    var purposes: [String]? = ["1.3.6.1.5.5.7.3.1"]
    var issued = Scene.date("2026-01-01")
    var days = 300.0
    var anchor: AnchorKind? = .installed
    var isSelfSigned = false
    /// Whether the leaf itself is what is installed.
    var isOwnAnchor = false
    var isLeafAuthority = false
    /// The name of the root in DER.
    var rootSubject: [UInt8]?
    var issuerAddresses: [String] = []
    var possession: KeyPossession = .proven
    var extendedMasterSecret = true
    var timestamps: [UInt8]?
    /// A list with one timestamp, of a log that nobody knows.
    static let someTimestamp: [UInt8] =
        [0, 57, 0, 55, 0] + [UInt8](repeating: 7, count: 32) + [0, 0, 1, 0x90, 0, 0, 0, 0, 0, 0, 4, 3, 0, 8]
        + [UInt8](repeating: 1, count: 8)
    var stapledTimestamps: [UInt8]?
    var staple: StapleStatus?

    static func date(_ day: String) -> Date { ISO8601DateFormatter().date(from: day + "T00:00:00Z") ?? .distantPast }

    static func certificate(_ subject: String, issuer: String, scene: Scene, isLeaf: Bool) -> CertificateFacts {
        CertificateFacts(
            der: Array(subject.utf8), subject: subject, issuer: issuer,
            subjectDER: (isLeaf ? nil : scene.rootSubject) ?? Array(subject.utf8), issuerDER: Array(issuer.utf8),
            serialNumber: "01", notBefore: isLeaf ? scene.issued : date("2016-01-01"),
            notAfter: isLeaf ? scene.issued.addingTimeInterval(scene.days * 86400) : date("2046-01-01"),
            publicKey: PublicKeyFacts(
                kind: isLeaf ? scene.key : .rsa(bits: 4096), sha256: [UInt8](repeating: isLeaf ? 1 : 2, count: 32),
                der: []),
            signature: SignatureFacts(algorithm: "1.2.840.113549.1.1.11", hash: isLeaf ? scene.hash : .sha256),
            commonNames: isLeaf ? scene.commonNames : [], alternativeNames: isLeaf ? scene.names : nil,
            extendedKeyUsages: isLeaf ? scene.purposes : nil, isAuthority: !isLeaf || scene.isLeafAuthority,
            issuerAddresses: isLeaf ? scene.issuerAddresses : [], embeddedTimestamps: isLeaf ? scene.timestamps : nil)
    }

    var facts: ConnectionFacts {
        let leaf = Scene.certificate(subject, issuer: isSelfSigned ? subject : "CN=root", scene: self, isLeaf: true)
        let root = isOwnAnchor ? leaf : Scene.certificate("CN=root", issuer: "CN=root", scene: self, isLeaf: false)
        let path: ChainFacts.Path =
            anchor.map { .anchored([leaf], AnchorFacts(certificate: root, kind: $0, store: "test")) }
            ?? .unanchored([leaf])
        return ConnectionFacts(
            handshake: HandshakeObservation(
                version: version, suite: suite, keyPossession: possession, stapledTimestamps: stapledTimestamps,
                usesExtendedMasterSecret: extendedMasterSecret), chain: ChainFacts(presented: [leaf], path: path),
            staple: staple)
    }

    func verdict(
        _ json: String = "{}", os: String = "macos26", sdk: Int? = nil, at: String = "2026-06-01",
        logs: CTLogList? = nil
    )
        throws -> TransportVerdict
    {
        let requirements = try decide("https://\(host)/", json, os: os, sdk: sdk).requirements
        return evaluate(requirements, facts, host: host, at: Scene.date(at), logs: logs)
    }
}
