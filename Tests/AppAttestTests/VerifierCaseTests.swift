// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import DeviceSimulator
import Foundation
import Testing

/// The questions for other verifiers, asked of ours: it gives each the verdict that it is to have, on the first and on the last day.
@Suite struct VerifierCaseTests {
    static let all = Result { try VerifierCase.all() }
    /// 2026-06-02 and 2043-12-31.
    static let days = [1_780_358_400, 2_335_132_800].map { Date(timeIntervalSince1970: $0) }

    private static func code(_ item: VerifierCase, at instant: Date) async throws -> String? {
        let told = item.told
        let app = try AppIdentity(told.applicationId)
        let environment: AttestationEnvironment = told.isProduction ? .production : .development
        let hash = ClientDataHash(hashing: told.clientData)
        let key = try AttestationPublicKey(x963Representation: told.publicKey)
        switch item.kind {
        case .attestation:
            let verifier = AttestationVerifier(
                apps: [app], environments: [environment], roots: try AttestationRoots(pem: told.attestationRootPEM),
                receiptRoots: nil)
            return await verifier.verify(
                item.object, keyId: try #require(KeyIdentifier(bytes: told.keyId)), clientDataHash: hash, at: instant
            ).code
        case .assertion:
            return AssertionVerifier(app: app).verify(
                item.object, publicKey: key, clientDataHash: hash, previousCounter: told.previousCounter
            ).code
        case .receipt:
            let expected = ReceiptExpectations(
                app: app, publicKey: key, environment: environment, maximumAge: told.maximumAge.map(TimeInterval.init))
            return await ReceiptVerifier(roots: try ReceiptRoots(pem: told.receiptRootPEM))
                .verify(item.object, expected, at: instant).code
        }
    }

    @Test(arguments: days)
    func ourVerifierGivesEachItsVerdict(_ day: Date) async throws {
        for item in try VerifierCaseTests.all.get() {
            let code = try await VerifierCaseTests.code(item, at: day)
            #expect(code == item.code, "\(item.id)")
        }
    }

    /// Every group is asked, or there is a reason why it cannot be; and every kind has right forms and wrong ones.
    @Test func noGroupIsLeftOut() throws {
        let cases = try VerifierCaseTests.all.get()
        let asked = Set(cases.compactMap(\.group))
        let others = VerifierCase.notAsked.map(\.group)
        #expect(asked.isDisjoint(with: others))
        #expect(asked.union(others) == Set(1...84))
        for kind in VerifierCase.Kind.allCases {
            let own = cases.filter { $0.kind == kind }
            #expect(own.count { $0.code == nil } >= 25, "\(kind)")
            #expect(own.count { $0.code != nil } >= 25, "\(kind)")
        }
        for system in SimulatedSystem.catalog {
            let forms = cases.filter { $0.code == nil && $0.what.contains(" \(system.version), ") }
            #expect(forms.count >= 8, "\(system)")
        }
    }

    /// Verifiers that want 32 bytes of each coordinate refuse one genuine key of 128.
    @Test func coordinatesWithoutTheirLeadingZeroAreAsked() throws {
        let forms = try VerifierCaseTests.all.get().filter { $0.what.contains("of 31 bytes in the COSE key") }
        #expect(forms.map(\.code) == [nil, nil])
        // The label, and the head of a byte string.
        for (form, head) in zip(forms, [[0x21, 0x58, 31], [0x22, 0x58, 31]] as [[UInt8]]) {
            #expect(form.object.firstRange(of: head) != nil, "\(form.id)")
        }
    }

    @Test func namesAreOfFilesAndUnique() throws {
        let names = try VerifierCaseTests.all.get().map(\.id)
        #expect(Set(names).count == names.count)
        for name in names {
            #expect(name.utf8.count <= 120 && name.wholeMatch(of: /[a-z0-9]+(-[a-z0-9]+)*/) != nil, "\(name)")
        }
    }
}
