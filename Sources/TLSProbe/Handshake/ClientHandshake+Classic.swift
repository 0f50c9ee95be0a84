// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSFacts

/// The server flight of TLS 1.0 to 1.2 (RFC 5246 section 7.3).
extension ClientHandshake {
    mutating func takeClassic(_ type: UInt8, _ body: ArraySlice<UInt8>) throws(Abort) {
        switch (state, type) {
        case (.certificate, MessageType.certificate):
            try takeChain(try classicCertificates(body))
            state = observation?.suite.keyExchange == .rsa ? .requestOrDone : .keyExchange
        case (.keyExchange, MessageType.certificateStatus), (.requestOrDone, MessageType.certificateStatus):
            takeStaple(body)
        case (.keyExchange, MessageType.serverKeyExchange):
            try takeKeyExchange(body)
            state = .requestOrDone
        case (.requestOrDone, MessageType.certificateRequest):
            observation?.requestsClientCertificate = true
            state = .done
        case (.requestOrDone, MessageType.serverHelloDone), (.done, MessageType.serverHelloDone):
            try require(body.isEmpty, "The server's ServerHelloDone is not empty")
            finish()
        default: throw Abort("The server sent handshake message \(type) where another was due")
        }
    }

    private func classicCertificates(_ body: ArraySlice<UInt8>) throws(Abort) -> [[UInt8]] {
        var reader = WireReader(body)
        guard let list = reader.vector(3), reader.isEmpty else { throw Abort("The server's Certificate is malformed") }
        var entries = WireReader(list)
        var certificates: [[UInt8]] = []
        while !entries.isEmpty {
            guard let certificate = entries.vector(3) else { throw Abort("The server's Certificate is malformed") }
            certificates.append(Array(certificate))
            try require(
                certificates.count <= ClientHandshake.maximumCertificates,
                "The server sent more than \(ClientHandshake.maximumCertificates) certificates"
            )
        }
        return certificates
    }

    private mutating func takeKeyExchange(_ body: ArraySlice<UInt8>) throws(Abort) {
        guard let observation else { return }
        var reader = WireReader(body)
        let malformed = Abort("The server's ServerKeyExchange is malformed")
        switch observation.suite.keyExchange {
        case .ecdheECDSA, .ecdheRSA:
            guard let kind = reader.read8(), let number = reader.read16(), let point = reader.vector(1), !point.isEmpty
            else { throw malformed }
            let group = NamedGroup(rawValue: number)
            try require(kind == 3, "The server uses a curve without a name")
            try require(offer.groups.contains(group), "The server chose the group \(group), which was not offered")
            self.observation?.group = group
        case .dheRSA:
            guard reader.vector(2) != nil, reader.vector(2) != nil, reader.vector(2) != nil else { throw malformed }
        case .rsa, .tls13, .other: throw Abort("The suite has no ServerKeyExchange")
        }
        let parameters = body[body.startIndex..<reader.rest.startIndex]
        var scheme: SignatureScheme?
        if observation.version >= .tls12 {
            guard let number = reader.read16() else { throw malformed }
            let chosen = SignatureScheme(rawValue: number)
            try require(
                offer.signatureSchemes.contains(chosen),
                "The server signed with \(chosen), which was not offered"
            )
            scheme = chosen
        }
        guard let signature = reader.vector(2), reader.isEmpty else { throw malformed }
        self.observation?.signatureScheme = scheme
        guard let leafKey else {
            self.observation?.keyPossession = .unproven("The key of the certificate cannot be read")
            return
        }
        let message = secrets.random + serverRandom + parameters
        self.observation?.keyPossession =
            if let scheme {
                HandshakeSignature.check(scheme, signature, over: message, leafKey)
            } else {
                HandshakeSignature.checkBeforeSchemes(signature, over: message, leafKey)
            }
    }
}
