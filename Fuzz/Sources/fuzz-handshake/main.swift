// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FuzzDriver
import TLSProbe

/// What a server sends to a client hello, from the first byte on: records, messages, certificates, signatures. Nothing may crash,
/// and no input may be kept for longer than the flight's bound allows.
let offer = HelloOffer(
    minimumVersion: .tls10,
    suites: [
        .aes128GCMSHA256, .aes256GCMSHA384, .chacha20Poly1305SHA256, .ecdheECDSAWithAES128GCMSHA256,
        .ecdheRSAWithAES128GCMSHA256, .ecdheRSAWithAES128CBCSHA, .rsaWithAES128GCMSHA256, .rsaWithAES128CBCSHA,
        .dheRSAWithAES128GCMSHA256,
    ]
)
let secrets = HandshakeSecrets.fresh()

FuzzDriver.run(corpus: "handshake") { input in
    var whole = ClientHandshake(offer: offer, secrets: secrets)
    _ = whole.start()
    _ = whole.receive(input)
    // The same bytes in pieces end the same way.
    var pieces = ClientHandshake(offer: offer, secrets: secrets)
    _ = pieces.start()
    var rest = input[...]
    while !rest.isEmpty {
        _ = pieces.receive(Array(rest.prefix(7)))
        rest = rest.dropFirst(7)
    }
    precondition(isSame(whole, pieces), "the outcome depends on how the bytes arrive")
    whole.end(.closed)
    precondition(whole.outcome != nil)
    _ = whole.closingAlerts()
}

/// Fresh key shares make the texts of no outcome differ; a prefix of bytes that are not TLS may be shorter in pieces.
func isSame(_ one: ClientHandshake, _ other: ClientHandshake) -> Bool {
    if case .connection(.notTLS) = one.outcome, case .connection(.notTLS) = other.outcome { return true }
    return one.outcome == other.outcome
}
