// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Crypto
import Foundation

/// A root and a leaf for `*.hostile.example`, made without any other program, and leaves of any shape under the same root.
package struct HostileIdentity: Sendable {
    package let root: [UInt8]
    package let leaf: [UInt8]
    /// Of the leaf, and of every other certificate that is made here.
    package let key: P256.Signing.PrivateKey
    private let rootKey: P256.Signing.PrivateKey

    package static let shared = HostileIdentity()
    package static let domain = "hostile.example"

    private init() {
        key = P256.Signing.PrivateKey()
        rootKey = P256.Signing.PrivateKey()
        let authority = DER.item(DER.identifier(2, 5, 29, 19), critical: true, DER.sequence([1, 1, 0xFF]))
        root = HostileIdentity.certificate(
            subject: DER.name("Hostile Root"), key: rootKey.publicKey, extensions: authority, signer: rootKey)
        leaf = HostileIdentity.certificate(
            subject: DER.name("hostile"), key: key.publicKey,
            extensions: HostileIdentity.names(["*." + HostileIdentity.domain]) + HostileIdentity.purpose,
            signer: rootKey)
    }

    /// The root as PEM.
    package var rootPEM: String {
        "-----BEGIN CERTIFICATE-----\n" + Data(root).base64EncodedString(options: .lineLength64Characters)
            + "\n-----END CERTIFICATE-----\n"
    }

    /// A leaf that the root has signed.
    ///
    /// - Parameter issuer: another name for whoever signed it.
    package func certificate(subject: [UInt8], issuer: [UInt8]? = nil, extensions: [UInt8]) -> [UInt8] {
        HostileIdentity.certificate(
            subject: subject, issuer: issuer, key: key.publicKey, extensions: extensions, signer: rootKey)
    }

    /// extendedKeyUsage: serverAuth.
    package static let purpose = DER.item(
        DER.identifier(2, 5, 29, 37), DER.sequence(DER.identifier(1, 3, 6, 1, 5, 5, 7, 3, 1)))

    /// subjectAltName with these dNSNames.
    package static func names(_ names: [String]) -> [UInt8] {
        DER.item(DER.identifier(2, 5, 29, 17), DER.value(0x30, names.flatMap { DER.value(0x82, Array($0.utf8)) }))
    }

    /// authorityInfoAccess with these caIssuers addresses.
    package static func issuers(_ addresses: [String]) -> [UInt8] {
        let entries = addresses.flatMap {
            DER.sequence(DER.identifier(1, 3, 6, 1, 5, 5, 7, 48, 2), DER.value(0x86, Array($0.utf8)))
        }
        return DER.item(DER.identifier(1, 3, 6, 1, 5, 5, 7, 1, 1), DER.value(0x30, entries))
    }

    /// - Parameter issuer: nil takes the hostile root.
    package static func certificate(
        subject: [UInt8], issuer: [UInt8]? = nil, key: P256.Signing.PublicKey, extensions: [UInt8],
        signer: P256.Signing.PrivateKey
    ) -> [UInt8] {
        let algorithm = DER.sequence(DER.identifier(1, 2, 840, 10045, 4, 3, 2))
        let day: (TimeInterval) -> [UInt8] = { offset in
            let style = Date.VerbatimFormatStyle(
                format: "\(year: .padded(4))\(month: .twoDigits)\(day: .twoDigits)000000Z", timeZone: .gmt,
                calendar: Calendar(identifier: .gregorian))
            return DER.value(0x18, Array(Date(timeIntervalSinceNow: offset * 86_400).formatted(style).utf8))
        }
        let signed = DER.sequence(
            DER.value(0xA0, [2, 1, 2]), DER.value(0x02, [1] + (0..<8).map { _ in UInt8.random(in: 0...255) }),
            algorithm, issuer ?? DER.name("Hostile Root"), DER.sequence(day(-2), day(60)), subject,
            Array(key.derRepresentation), DER.value(0xA3, DER.value(0x30, extensions)))
        let signature = (try? signer.signature(for: signed).derRepresentation).map { Array($0) } ?? []
        return DER.sequence(signed, algorithm, DER.bits(signature))
    }
}
