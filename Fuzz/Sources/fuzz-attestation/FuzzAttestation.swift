// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Foundation
import FuzzDriver

/// CBOR with authenticator data: the input as an attestation and an assertion, and as the authenticator data of both.
///
/// Nothing may crash, and nothing made by a mutation may be accepted: the key that is asked for is nobody's.
@main
enum FuzzAttestation {
    static func main() throws {
        let app = try AppIdentity("ABCDE12345.com.example.app")
        let verifier = AttestationVerifier(
            apps: [app],
            environments: [.production],
            roots: .apple,
            receiptRoots: .apple
        )
        guard let keyId = KeyIdentifier(bytes: [UInt8](repeating: 7, count: 32)) else { return }
        FuzzDriver.run(corpus: "attestation") { input in
            attempt(input, verifier, keyId)
            let data = Array(input.prefix(60_000))
            attempt([0xA2] + text("signature") + bytes([]) + text("authenticatorData") + bytes(data), verifier, keyId)
            let statement = [0xA2] + text("x5c") + [0x82] + bytes(data) + bytes([]) + text("receipt") + bytes([])
            let head = [0xA3] + text("fmt") + text("apple-appattest") + text("attStmt")
            attempt(head + statement + text("authData") + bytes(data), verifier, keyId)
        }
    }

    private static func attempt(_ object: [UInt8], _ verifier: AttestationVerifier, _ keyId: KeyIdentifier) {
        _ = try? AssertionObject(decoding: object)
        guard (try? AttestationObject(decoding: object)) != nil else { return }
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            let verdict = await verifier.verify(
                object,
                keyId: keyId,
                clientDataHash: ClientDataHash(hashing: [1, 2, 3]),
                at: Date(timeIntervalSince1970: 1_776_795_192)
            )
            if case .accepted = verdict { fatalError("a mutation was accepted") }
            done.signal()
        }
        done.wait()
    }

    private static func text(_ string: String) -> [UInt8] { [0x60 | UInt8(string.utf8.count)] + Array(string.utf8) }

    private static func bytes(_ content: [UInt8]) -> [UInt8] {
        switch content.count {
        case 0..<24: [0x40 | UInt8(content.count)] + content
        case 24..<256: [0x58, UInt8(content.count)] + content
        default: [0x59, UInt8(content.count >> 8 & 0xFF), UInt8(content.count & 0xFF)] + content
        }
    }
}
