// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSModel

/// The server flight of TLS 1.0 to 1.2 (RFC 5246 section 7.3).
extension ClientHandshake {
    mutating func takeClassic(_ type: UInt8, _ body: ArraySlice<UInt8>) throws(Abort) {
        switch (state, type) {
        case (.certificate, MessageType.certificate):
            try takeChain(try parse { () throws(MalformedMessage) in try CertificateMessage(body) }.certificates)
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
        default: throw Abort("The server sent handshake message \(type) where another was expected")
        }
    }

    private mutating func takeKeyExchange(_ body: ArraySlice<UInt8>) throws(Abort) {
        guard let observation else { return }
        let message = try parse { () throws(MalformedMessage) in
            try ServerKeyExchange(body, suite: observation.suite, version: observation.version)
        }
        if let group = message.group {
            try require(offer.groups.contains(group), "The server chose the group \(group), which was not offered")
            self.observation?.group = group
        }
        if let scheme = message.scheme {
            try require(
                offer.signatureSchemes.contains(scheme), "The server signed with \(scheme), which was not offered")
        }
        self.observation?.signatureScheme = message.scheme
        guard let leafKey else {
            self.observation?.keyPossession = .unproven("The key of the certificate cannot be read")
            return
        }
        let signed = secrets.random + serverRandom + message.parameters
        self.observation?.keyPossession =
            if let scheme = message.scheme {
                HandshakeSignature.check(scheme, message.signature, over: signed, leafKey)
            } else {
                HandshakeSignature.checkBeforeSchemes(message.signature, over: signed, leafKey)
            }
    }
}
