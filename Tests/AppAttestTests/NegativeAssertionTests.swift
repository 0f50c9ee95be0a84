// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import DeviceSimulator
import Foundation
import Testing

/// Groups 61 and 62 of the negative list: the key and the client data of an assertion. What has a name is in `FaultTests`.
@Suite struct NegativeAssertionTests {
    static let signed = #"{"challenge":"AAEC","amount":10,"to":"Zoë"}"#

    /// Each is the same to a reader of JSON, or differs by one byte; the signature is over bytes.
    @Test(arguments: [
        (signed, nil),
        (#"{"challenge":"AAEC","amount":11,"to":"Zoë"}"#, "assert.signature.invalid"),
        (#"{"amount":10,"challenge":"AAEC","to":"Zoë"}"#, "assert.signature.invalid"),
        (#"{"challenge": "AAEC", "amount": 10, "to": "Zoë"}"#, "assert.signature.invalid"),
        (#"{"challenge":"AAEC","amount":10.0,"to":"Zoë"}"#, "assert.signature.invalid"),
        (#"{"challenge":"AAEC","amount":10,"to":"Zo\u00eb"}"#, "assert.signature.invalid"),
        ("{\"challenge\":\"AAEC\",\"amount\":10,\"to\":\"Zoe\u{308}\"}", "assert.signature.invalid"),
        (#"{"challenge":"AAEC","challenge":"AAEC","amount":10,"to":"Zoë"}"#, "assert.signature.invalid"),
        (signed + "\n", "assert.signature.invalid"),
        ("\u{FEFF}" + signed, "assert.signature.invalid"),
        ("", "assert.signature.invalid"),
    ])
    func group62ClientDataIsTakenByteByByte(_ received: String, _ code: String?) throws {
        let stage = try Stage()
        let object = try SimulatedAssertion.make(
            key: stage.key, app: stage.app, system: stage.system, counter: 7,
            clientDataHash: ClientDataHash(hashing: Array(NegativeAssertionTests.signed.utf8)).bytes)
        func verdict(_ hash: ClientDataHash) throws -> AssertionVerdict {
            AssertionVerifier(app: try stage.identity).verify(
                object, publicKey: try stage.attestationKey, clientDataHash: hash, previousCounter: 6)
        }
        #expect(try verdict(ClientDataHash(hashing: Array(received.utf8))).code == code)
        // A precomputed hash is the same as one that is made here, and the client data itself is none.
        let hash = ClientDataHash(hashing: Array(received.utf8)).bytes
        #expect(try verdict(ClientDataHash(precomputed: hash)).code == code)
        if let raw = try? ClientDataHash(precomputed: Array(received.utf8)) {
            #expect(try verdict(raw).code == "assert.signature.invalid")
        }
    }

    /// Each byte of the client data counts, each bit of it.
    @Test func group62EveryBitOfTheClientDataCounts() throws {
        let stage = try Stage()
        let object = try stage.assertion(counter: 7)
        for index in stage.clientData.indices {
            var changed = stage.clientData
            changed[index] ^= 1 << UInt8(index % 8)
            let verdict = AssertionVerifier(app: try stage.identity).verify(
                object, publicKey: try stage.attestationKey, clientDataHash: ClientDataHash(hashing: changed),
                previousCounter: 6)
            #expect(verdict.code == "assert.signature.invalid")
        }
    }
}
