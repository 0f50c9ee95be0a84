// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSModel

/// The encrypted server flight of TLS 1.3 (RFC 8446 sections 4.3 and 4.4).
extension ClientHandshake {
    mutating func takeModern(_ type: UInt8, _ body: ArraySlice<UInt8>) throws(Abort) {
        switch (state, type) {
        case (.encryptedExtensions, MessageType.encryptedExtensions):
            var reader = WireReader(body)
            guard let block = reader.vector(2), reader.isEmpty, let extensions = WireReader.extensions(block) else {
                throw Abort("The server's EncryptedExtensions are malformed")
            }
            let name = try applicationProtocol(extensions)
            observation?.applicationProtocol = name
            state = .requestOrCertificate
        case (.requestOrCertificate, MessageType.certificateRequest):
            observation?.requestsClientCertificate = true
            state = .modernCertificate
        case (.requestOrCertificate, MessageType.certificate), (.modernCertificate, MessageType.certificate):
            try takeModernCertificates(body)
            state = .certificateVerify
        case (.requestOrCertificate, MessageType.compressedCertificate),
            (.modernCertificate, MessageType.compressedCertificate):
            try require(
                offer.layout.items.contains(.certificateCompression),
                "The server compressed its certificates, which was not offered")
            try takeModernCertificates(
                try parse { () throws(MalformedMessage) in try CompressedCertificate.body(body) })
            state = .certificateVerify
        case (.certificateVerify, MessageType.certificateVerify):
            try takeVerify(body)
            state = .finished
        case (.finished, MessageType.finished):
            try require(
                keys?.serverFinished(after: transcript).elementsEqual(body) == true,
                "The server's Finished does not verify")
            finish()
        default: throw Abort("The server sent handshake message \(type) where another was expected")
        }
    }

    private mutating func takeModernCertificates(_ body: ArraySlice<UInt8>) throws(Abort) {
        let message = try parse { () throws(MalformedMessage) in try CertificateMessage(body, isTLS13: true) }
        if let staple = message.extensions[ExtensionType.statusRequest] { takeStaple(staple) }
        observation?.timestamps = message.extensions[ExtensionType.timestamps].map { Array($0) }
        try takeChain(message.certificates)
    }

    private mutating func takeVerify(_ body: ArraySlice<UInt8>) throws(Abort) {
        var reader = WireReader(body)
        guard let number = reader.read16(), let signature = reader.vector(2), reader.isEmpty, let keys else {
            throw Abort("The server's CertificateVerify is malformed")
        }
        let scheme = SignatureScheme(rawValue: number)
        try require(offer.signatureSchemes.contains(scheme), "The server signed with \(scheme), which was not offered")
        try require(!scheme.isForbiddenInTLS13, "The server signed with \(scheme), which TLS 1.3 forbids")
        observation?.signatureScheme = scheme
        guard let leafKey else {
            observation?.keyPossession = .unproven("The key of the certificate cannot be read")
            return
        }
        try require(scheme.fits(leafKey.kind), "The server signed with \(scheme), which does not fit its key")
        let message =
            [UInt8](repeating: 0x20, count: 64) + Array("TLS 1.3, server CertificateVerify".utf8) + [0]
            + keys.hash.hash(transcript)
        observation?.keyPossession = HandshakeSignature.check(scheme, signature, over: message, leafKey)
    }
}

extension SignatureScheme {
    /// RFC 8446 section 4.2.3: PKCS #1 and SHA-1 sign only certificates.
    fileprivate var isForbiddenInTLS13: Bool {
        [.rsaPKCS1SHA1, .rsaPKCS1SHA256, .rsaPKCS1SHA384, .rsaPKCS1SHA512, .ecdsaSHA1].contains(self)
    }

    /// In TLS 1.3 the scheme names the curve.
    fileprivate func fits(_ kind: PublicKeyFacts.Kind) -> Bool {
        switch (self, kind) {
        case (.ecdsaSECP256R1SHA256, .ellipticCurve(let curve, _)): curve == "P-256"
        case (.ecdsaSECP384R1SHA384, .ellipticCurve(let curve, _)): curve == "P-384"
        case (.ecdsaSECP521R1SHA512, .ellipticCurve(let curve, _)): curve == "P-521"
        case (.rsaPSSSHA256, .rsa), (.rsaPSSSHA384, .rsa), (.rsaPSSSHA512, .rsa): true
        case (.ed25519, .other(let identifier)): identifier == "1.3.101.112"
        // A scheme that cannot be checked here proves nothing, and refutes nothing.
        default: HandshakeSignature.schemes[self] == nil
        }
    }
}
