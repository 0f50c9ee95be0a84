// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FuzzDriver
import TLSModel
import TLSProbe

/// Certificates, bundles of them, PEM, and OCSP responses. Nothing may crash; what is read is at least consistent.
FuzzDriver.run(corpus: "certificate") { input in
    if let facts = try? CertificateFacts(decoding: input) {
        precondition(facts.der == input)
        precondition(facts.publicKey.sha256.count == 32)
        if let timestamps = facts.embeddedTimestamps { _ = SignedTimestamp.list(decoding: timestamps) }
    }
    if let response = try? StapledResponse(decoding: input) {
        precondition(response.singles.count <= 16)
        for timestamps in response.singles.compactMap(\.timestamps) { _ = SignedTimestamp.list(decoding: timestamps) }
    }
    _ = CertificateBundle.certificates(in: input)
    _ = PEMBlocks.decode(input)
    _ = SignedTimestamp.list(decoding: input)
    _ = try? TrustAnchors(pem: input, kind: .installed, store: "fuzz")
}
