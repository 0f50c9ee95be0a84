// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import DeviceSimulator
import Foundation
import Testing
import Vocabulary

/// What the simulator makes is accepted, and each of its named faults gets the verdict that the fault's own table says.
@Suite struct FaultTests {
    @Test(arguments: SimulatedSystem.catalog)
    func attestationsOfEverySystemAreAccepted(_ system: SimulatedSystem) async throws {
        for distribution in SimulatedApp.Distribution.allCases {
            let app = SimulatedApp("ABCDE12345.com.example.app", bundleVersion: "42", distribution: distribution)
            let stage = try Stage(system, app: app)
            let attestation = try stage.authority.attest(stage.request, at: stage.instant)
            let verdict = try await stage.verdict(attestation.object)
            let key = try #require(verdict.accepted, "\(verdict)")
            #expect(key.receiptVerdict?.code == nil)
            #expect(key.receipt == attestation.receipt)
            #expect(key.environment == (distribution == .development ? .development : .production))
            #expect(key.leaf.osVersion == system.version)
            let hasExtensions = system.version.hasPrefix("27")
            #expect(key.extensions?.bundleVersion == (hasExtensions ? "42" : nil))
            #expect(
                key.extensions?.validationCategory?.rawValue
                    == (hasExtensions ? UInt32(distribution.rawValue) : nil))
            #expect((key.leaf.accessControl != nil) == ["26.1", "27.0"].contains(system.version))
        }
    }

    @Test(arguments: AttestationFault.allCases)
    func attestation(_ fault: AttestationFault) async throws {
        let stage = try Stage()
        let attestation = try stage.authority.attest(stage.request, at: stage.instant, fault: fault)
        let verdict = try await stage.verdict(attestation.object)
        #expect(verdict.code == fault.expectedCode, "\(verdict)")
        #expect(verdict.accepted?.receiptVerdict?.code == fault.row.receiptCode)
    }

    /// A remembered intermediate changes no verdict.
    @Test func verdictsDoNotDependOnMemory() async throws {
        let stage = try Stage()
        let verifier = try stage.verifier()
        for fault in AttestationFault.allCases {
            #expect(try await stage.verdict(by: verifier).code == nil)
            let verdict = try await stage.verdict(stage.object(fault: fault), by: verifier)
            #expect(verdict.code == fault.expectedCode, "\(fault): \(verdict)")
        }
    }

    @Test(arguments: AssertionFault.allCases)
    func assertion(_ fault: AssertionFault) throws {
        let stage = try Stage()
        let verdict = try stage.assertionVerdict(try stage.assertion(counter: 7, fault: fault), previous: 6)
        #expect(verdict.code == fault.expectedCode, "\(verdict)")
    }

    @Test(arguments: SimulatedSystem.catalog)
    func assertionsOfEverySystemAreAccepted(_ system: SimulatedSystem) throws {
        let stage = try Stage(system)
        let verdict = try stage.assertionVerdict(try stage.assertion(counter: 7), previous: 6)
        #expect(verdict.accepted?.counter == 7)
        #expect(verdict.accepted?.extensions?.bundleVersion == (system.version.hasPrefix("27") ? "42" : nil))
    }

    @Test(
        arguments: [
            (1, 0, true), (1, 1, false), (5, 9, false), (0, 0, false), (UInt32.max, UInt32.max - 1, true),
            (0, UInt32.max, false), (1 << 31 + 5, 1 << 31, true),
        ] as [(UInt32, UInt32, Bool)]
    )
    func theCounterMustGrow(_ counter: UInt32, _ previous: UInt32, _ isAccepted: Bool) throws {
        let stage = try Stage()
        let verdict = try stage.assertionVerdict(try stage.assertion(counter: counter), previous: previous)
        #expect(verdict.code == (isAccepted ? nil : "assert.counter.replayed"))
    }

    @Test(arguments: ReceiptFault.allCases)
    func receipt(_ fault: ReceiptFault) async throws {
        let stage = try Stage()
        let verdict = try await stage.receiptVerdict(try stage.refreshedReceipt(fault: fault))
        #expect(verdict.code == fault.expectedCode, "\(verdict)")
        if fault.expectedCode == nil {
            #expect(verdict.accepted?.riskMetric == 3)
            #expect(verdict.accepted?.refreshNotBefore == stage.instant.addingTimeInterval(86_400))
        }
    }

    @Test func anUnknownFieldIsKept() async throws {
        let stage = try Stage()
        let verdict = try await stage.receiptVerdict(try stage.refreshedReceipt(fault: .unknownField))
        #expect(verdict.accepted?.receipt.field(14)?.text == "something new")
    }

    @Test func severalAppsInOneVerifier() async throws {
        let stage = try Stage()
        let other = try AppIdentity("ABCDE12345.com.example.other")
        let verifier = AttestationVerifier(
            apps: [other, try stage.identity], environments: [.production],
            roots: try AttestationRoots(pem: stage.authority.attestationRootPEM), receiptRoots: nil)
        let verdict = try await stage.verdict(by: verifier)
        #expect(verdict.accepted?.app == (try stage.identity))
        #expect(verdict.accepted?.receiptVerdict == nil)
    }

    @Test func anAppClipIsItsApp() async throws {
        let stage = try Stage(app: SimulatedApp("ABCDE12345.com.example.app").clip)
        #expect(try await stage.verdict().accepted?.app == (try stage.identity))
    }

    @Test func policiesSayWhatAbsenceMeans() async throws {
        var policy = AttestationPolicy()
        policy.validationCategories = .init([.appStore], acceptsAbsence: false)
        policy.bundleVersions = .init(["42"], acceptsAbsence: true)
        let old = try Stage(.iOS("18.5"))
        let new = try Stage()
        let beta = try Stage(
            app: SimulatedApp("ABCDE12345.com.example.app", bundleVersion: "42", distribution: .testFlight))
        let late = try Stage(app: SimulatedApp("ABCDE12345.com.example.app", bundleVersion: "43"))
        func code(_ stage: Stage) async throws -> String? { try await stage.verdict(nil, policy).code }
        #expect(try await code(new) == nil)
        #expect(try await code(old) == "attest.policy.validation-category")
        #expect(try await code(beta) == "attest.policy.validation-category")
        #expect(try await code(late) == "attest.policy.bundle-version")
        policy.validationCategories?.acceptsAbsence = true
        #expect(try await code(old) == nil)
    }

    @Test func aMacPolicyRequiresItsAccessControl() async throws {
        var policy = AttestationPolicy()
        policy.requiredAccessControl = AttestationPolicy.macFullSecurityAccessControl
        for (system, code) in [
            (SimulatedSystem.macOS("27.0"), nil), (.iOS("27.0"), "attest.policy.access-control"),
            (.iOS("18.5"), "attest.policy.access-control"),
        ] as [(SimulatedSystem, String?)] {
            let stage = try Stage(system)
            #expect(try await stage.verdict(nil, policy).code == code)
        }
    }

    @Test func theSandboxIdentifierIsAnOption() async throws {
        let stage = try Stage(app: SimulatedApp("ABCDE12345.com.example.app", distribution: .development))
        let object = try stage.authority.attest(stage.request, at: stage.instant, fault: .sandboxEnvironment).object
        var policy = AttestationPolicy()
        guard case .refused(let refusal) = try await stage.verdict(object, policy) else {
            Issue.record("accepted")
            return
        }
        #expect(refusal.code == "attest.environment.mismatch")
        // The environment is right, and only the option is missing.
        let explained = try stage.verifier().explained(refusal, of: object, clientDataHash: stage.hash)
        #expect(explained.mistake?.action.contains("--accept-sandbox-identifier") == true, "\(explained)")
        policy.acceptsSandboxIdentifier = true
        #expect(try await stage.verdict(object, policy).accepted?.environment == .development)
    }

    @Test func unknownShapesAreDescribed() async throws {
        let stage = try Stage()
        let object = try stage.authority.attest(stage.request, at: stage.instant, fault: .shortCategory).object
        guard case .refused(let refusal) = try await stage.verdict(object) else {
            Issue.record("accepted")
            return
        }
        #expect(refusal.reason.contains(#"{"apple_validation_category_01": bytes(3)}"#))
    }

    /// Apple documents the category as a number; devices write its four bytes.
    @Test(
        arguments: [
            ([0x04], 4), ([0x0A], 10), ([0x1A, 0xFF, 0xFF, 0xFF, 0xFF], 0xFFFF_FFFF),
            ([0x1B, 0, 0, 0, 1, 0, 0, 0, 0], nil),
        ] as [([UInt8], UInt32?)]
    )
    func theCategoryMayBeANumber(_ number: [UInt8], _ category: UInt32?) async throws {
        let stage = try Stage()
        let trailer = CBOR.map([(CBOR.text("apple_validation_category_01"), number)])
        let object = try stage.authority.attest(stage.request, at: stage.instant) {
            $0.flags = 0xC0
            $0.trailer = trailer
        }
        .object
        let verdict = try await stage.verdict(object)
        #expect(verdict.accepted?.extensions?.validationCategory?.rawValue == category)
        #expect(verdict.code == (category == nil ? "attest.extensions.unknown-shape" : nil))
        #expect(ValidationCategory.other.rawValue == 10)
    }

    @Test func unknownExtensionKeysAreKept() async throws {
        let stage = try Stage()
        let verdict = try await stage.verdict(stage.object(fault: .unknownExtensionKey))
        let extensions = try #require(verdict.accepted?.extensions)
        #expect(extensions.unknown.map(\.key) == ["apple_new_01"])
        #expect(extensions.unknown.first?.encodedValue == [0x07])
    }
}
