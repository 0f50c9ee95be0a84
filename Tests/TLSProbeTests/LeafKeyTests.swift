// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSModel
import TestSupport
import Testing
import Vocabulary

@testable import TLSProbe

/// The key of a leaf is found without reading the rest of its certificate, and is the one that the whole reading finds.
struct LeafKeyTests {
    @Test func everyRootOfTheSystemHasTheSameKeyBothWays() throws {
        let anchors = try TrustAnchors.system().anchors
        #expect(anchors.count > 100)
        for anchor in anchors {
            #expect(try PublicKeyFacts(ofCertificate: anchor.der) == CertificateFacts(decoding: anchor.der).publicKey)
        }
    }

    @Test(arguments: [TestCertification.Key.rsa(2048), .curve("prime256v1")])
    func truncatedAndChangedCertificatesAreRefusedOrRead(_ key: TestCertification.Key) throws {
        let certification = try TestCertification()
        let leaf = try certification.issue("leaf", subject: "/CN=leaf", key: key, extensions: TestCertification.server)
        for length in leaf.der.indices {
            #expect(throws: MalformedInput(code: "malformed.certificate", reason: "")) {
                _ = try PublicKeyFacts(ofCertificate: Array(leaf.der[..<length]))
            }
        }
        for index in leaf.der.indices {
            for change: UInt8 in [0x01, 0x20, 0x80, 0xFF] {
                var der = leaf.der
                der[index] ^= change
                guard let whole = try? CertificateFacts(decoding: der) else {
                    // Where only the rest is damaged, the key is still there.
                    _ = try? PublicKeyFacts(ofCertificate: der)
                    continue
                }
                #expect(
                    (try? PublicKeyFacts(ofCertificate: der)) == whole.publicKey,
                    "byte \(index) of \(leaf.der.count): \(leaf.der[index]) to \(der[index])")
            }
        }
    }
}
