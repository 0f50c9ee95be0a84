// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import DeviceSimulator
import Foundation
import SwiftASN1

/// One device's objects, and the bare keys and signatures inside them for the references.
struct Material: Sendable {
    let publicKey: [UInt8]
    let keyId: KeyIdentifier
    let challenge: [UInt8]
    let clientDataHash: ClientDataHash
    let attestation: [UInt8]
    let assertion: [UInt8]
    let receipt: [UInt8]
    /// P-384: the intermediate's key, its signature, and what it signed.
    let leafSignature: Signature
    /// P-256: the device's key over the nonce.
    let assertionSignature: Signature
    /// P-256: the signer over the fields, and the authority over the signer's certificate.
    let receiptSignatures: [Signature]

    struct Signature: Sendable {
        let key: [UInt8]
        let signature: [UInt8]
        let message: [UInt8]
    }

    struct Unreadable: Error {}

    init(_ authority: SimulatedAuthority, app: SimulatedApp, seed: UInt8, at instant: Date) throws {
        let key = try P256.Signing.PrivateKey(rawRepresentation: [UInt8](repeating: seed, count: 32))
        publicKey = Array(key.publicKey.x963Representation)
        keyId = try AttestationPublicKey(x963Representation: publicKey).keyId
        challenge = [seed]
        clientDataHash = ClientDataHash(hashing: challenge)
        let request = SimulatedAttestationRequest(
            publicKey: publicKey,
            app: app,
            system: .iOS("27.0"),
            clientDataHash: clientDataHash.bytes
        )
        let made = try authority.attest(request, at: instant)
        attestation = made.object
        assertion = try SimulatedAssertion.make(
            key: key,
            app: app,
            system: .iOS("27.0"),
            counter: 7,
            clientDataHash: clientDataHash.bytes
        )
        receipt = try authority.refreshedReceipt(
            app: app,
            publicKey: publicKey,
            leafCertificate: made.leafCertificate,
            clientDataHash: clientDataHash.bytes,
            riskMetric: 3,
            at: instant
        )
        leafSignature = try Material.leafSignature(made)
        assertionSignature = try Material.assertionSignature(assertion, publicKey, clientDataHash.bytes)
        receiptSignatures = try Material.receiptSignatures(receipt)
    }

    /// The byte string after `marker`, which stands at its end.
    private static func bytes(after marker: [UInt8], in object: [UInt8]) throws -> (content: [UInt8], end: Int) {
        guard let start = object.indices.first(where: { object[$0...].starts(with: marker) }) else {
            throw Unreadable()
        }
        let head = start + marker.count
        let (length, size) =
            switch object[head] {
            case 0x58: (Int(object[head + 1]), 2)
            case 0x59: (Int(object[head + 1]) << 8 | Int(object[head + 2]), 3)
            default: throw Unreadable()
            }
        let content = object[(head + size)..<(head + size + length)]
        return (Array(content), content.endIndex)
    }

    private static func leafSignature(_ made: SimulatedAttestation) throws -> Signature {
        let (leaf, end) = try bytes(after: Array("x5c".utf8) + [0x82], in: made.object)
        let (intermediate, _) = try bytes(after: [], in: Array(made.object[end...]))
        let (signed, signature, _) = try certificate(leaf)
        return Signature(key: try certificate(intermediate).key, signature: signature, message: signed)
    }

    private static func assertionSignature(
        _ assertion: [UInt8],
        _ key: [UInt8],
        _ hash: [UInt8]
    ) throws -> Signature {
        let (signature, _) = try bytes(after: Array("signature".utf8), in: assertion)
        let (data, _) = try bytes(after: Array("authenticatorData".utf8), in: assertion)
        return Signature(key: key, signature: signature, message: Array(SHA256.hash(data: data + hash)))
    }

    /// Signed part, signature and key of a certificate.
    private static func certificate(
        _ der: [UInt8]
    ) throws -> (signed: [UInt8], signature: [UInt8], key: [UInt8]) {
        let parts = try children(DER.parse(der))
        guard case .primitive(let bits) = parts[2].content else { throw Unreadable() }
        let info = try children(try children(parts[0])[6])
        guard case .primitive(let point) = info[1].content else { throw Unreadable() }
        return (Array(parts[0].encodedBytes), Array(bits.dropFirst()), Array(point.dropFirst()))
    }

    private static func receiptSignatures(_ receipt: [UInt8]) throws -> [Signature] {
        let info = try children(BER.parse(receipt))
        let signed = try children(try children(info[1])[0])
        let chunks = try children(try children(try children(signed[2])[1])[0])
        let payload = try chunks.flatMap { chunk -> [UInt8] in
            guard case .primitive(let content) = chunk.content else { throw Unreadable() }
            return Array(content)
        }
        let bag = try children(signed[3])
        let signer = try certificate(Array(bag[0].encodedBytes))
        let authority = try certificate(Array(bag[1].encodedBytes))
        guard case .primitive(let signature)? = try children(try children(signed[4])[0]).last?.content else {
            throw Unreadable()
        }
        return [
            Signature(key: signer.key, signature: Array(signature), message: payload),
            Signature(key: authority.key, signature: signer.signature, message: signer.signed),
        ]
    }

    private static func children(_ node: ASN1Node) throws -> [ASN1Node] {
        guard case .constructed(let children) = node.content else { throw Unreadable() }
        return Array(children)
    }
}
