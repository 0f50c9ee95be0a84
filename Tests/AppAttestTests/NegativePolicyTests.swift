// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceSimulator
import Foundation
import Testing
import Vocabulary

@testable import AppAttest

/// Groups 42, 47 and 48 of the negative list, as far as a policy or an environment of the verifier decides them.
@Suite struct NegativePolicyTests {
    /// A production object at a verifier for development, and the other way round.
    @Test(arguments: [SimulatedApp.Distribution.development, .appStore])
    func group42BothWays(_ distribution: SimulatedApp.Distribution) async throws {
        let app = SimulatedApp("ABCDE12345.com.example.app", bundleVersion: "42", distribution: distribution)
        let stage = try Stage(app: app)
        let object = try stage.authority.attest(stage.request, at: stage.instant).object
        for environment in AttestationEnvironment.allCases {
            let verdict = try await stage.verdict(object, by: stage.verifier(environments: [environment]))
            #expect(verdict.code == (environment == stage.environment ? nil : "attest.environment.mismatch"))
            #expect(verdict.step == (environment == stage.environment ? nil : 8))
        }
    }

    /// One verifier for both environments: each object says where it was made, and its chain is verified once.
    @Test(arguments: [SimulatedApp.Distribution.development, .appStore])
    func bothEnvironmentsTakeOneVerification(_ distribution: SimulatedApp.Distribution) async throws {
        let app = SimulatedApp("ABCDE12345.com.example.app", bundleVersion: "42", distribution: distribution)
        let stage = try Stage(app: app)
        let verifier = try stage.verifier(environments: [.production, .development])
        let verdict = try await stage.verdict(by: verifier)
        let key = try #require(verdict.accepted, "\(verdict)")
        #expect(key.environment == stage.environment)
        #expect(key.receiptVerdict?.code == nil)
        #expect(verifier.chain.remembered.asked == 1)

        // What belongs to no environment is refused with the same codes as by a verifier for one.
        for (fault, code) in [
            (AttestationFault.unknownEnvironment, "attest.environment.unknown"),
            (.sandboxEnvironment, "attest.environment.mismatch"), (.otherEnvironment, nil),
        ] as [(AttestationFault, String?)] {
            let verdict = try await stage.verdict(stage.object(fault: fault), by: verifier)
            #expect(verdict.code == code, "\(fault): \(verdict)")
        }
    }

    struct Policy: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// What the object says; nil leaves the map out.
        let category: UInt8?
        let version: String?
        let acceptsAbsence: Bool
        let code: String?
    }

    /// A policy for the App Store's version 42.
    @Test(arguments: [
        Policy(testDescription: "as wanted", category: 4, version: "42", acceptsAbsence: false, code: nil),
        Policy(
            testDescription: "category 3 at a production policy", category: 3, version: "42", acceptsAbsence: false,
            code: "attest.policy.validation-category"),
        Policy(
            testDescription: "category 99", category: 99, version: "42", acceptsAbsence: true,
            code: "attest.policy.validation-category"),
        Policy(
            testDescription: "another version", category: 4, version: "41", acceptsAbsence: true,
            code: "attest.policy.bundle-version"),
        Policy(
            testDescription: "no map", category: nil, version: nil, acceptsAbsence: false,
            code: "attest.policy.validation-category"),
        Policy(testDescription: "no map, which may be", category: nil, version: nil, acceptsAbsence: true, code: nil),
        Policy(
            testDescription: "a map without the category", category: nil, version: "42", acceptsAbsence: false,
            code: "attest.policy.validation-category"),
        Policy(
            testDescription: "a map without the version", category: 4, version: nil, acceptsAbsence: false,
            code: "attest.policy.bundle-version"),
    ])
    func group47Policies(_ item: Policy) async throws {
        var policy = AttestationPolicy()
        policy.validationCategories = .init([.appStore], acceptsAbsence: item.acceptsAbsence)
        policy.bundleVersions = .init(["42"], acceptsAbsence: item.acceptsAbsence)
        let stage = try Stage()
        var entries: [([UInt8], [UInt8])] = []
        if let version = item.version {
            entries.append((CBOR.text("apple_bundle_version_01"), CBOR.text(version)))
        }
        if let category = item.category {
            entries.append((CBOR.text("apple_validation_category_01"), CBOR.bytes([category, 0, 0, 0])))
        }
        let trailer = entries.isEmpty ? [] : CBOR.map(entries)
        let object = try stage.authority.attest(stage.request, at: stage.instant) {
            $0.flags = trailer.isEmpty ? 0x40 : 0xC0
            $0.trailer = trailer
        }
        .object
        #expect(try await stage.verdict(object, policy).code == item.code)
        // Without a policy the same object is accepted.
        #expect(try await stage.verdict(object).code == nil)

        // The same policy judges the map of an assertion.
        var assertion = stage.assertion
        assertion.flags = trailer.isEmpty ? 0x40 : 0xC0
        assertion.trailer = trailer
        let verdict = AssertionVerifier(app: try stage.identity, policy: policy).verify(
            try assertion.object(signedBy: stage.key), publicKey: try stage.attestationKey, clientDataHash: stage.hash,
            previousCounter: 6)
        #expect(verdict.code == item.code?.replacing("attest.", with: "assert."))
    }

    static let accessControl = ASN1.apple(8, 6)

    static func list(_ bytes: [UInt8]) -> [UInt8] { ASN1.sequence(ASN1.tagged(3, ASN1.octets(bytes))) }

    /// What a Mac's leaf may hold in place of the access control that a policy requires; nil leaves the extension out.
    static let accessControls: [(what: String, value: [UInt8]?, code: String?)] = [
        ("the one that is required", list(AttestationPolicy.macFullSecurityAccessControl), nil),
        ("absent", nil, "attest.policy.access-control"),
        ("empty", [], "attest.policy.access-control"),
        ("no DER", [0x30, 0x80, 0x00], "attest.policy.access-control"),
        ("of an empty list", list([]), "attest.policy.access-control"),
        (
            "cut by a byte", list(AttestationPolicy.macFullSecurityAccessControl.dropLast()),
            "attest.policy.access-control"
        ),
        (
            "longer by a byte", list(AttestationPolicy.macFullSecurityAccessControl + [0]),
            "attest.policy.access-control"
        ),
        (
            "under another tag",
            ASN1.sequence(ASN1.tagged(2, ASN1.octets(AttestationPolicy.macFullSecurityAccessControl))),
            "attest.policy.access-control"
        ),
        (
            "behind another list",
            ASN1.sequence(
                ASN1.tagged(3, ASN1.octets([0x30, 0x00])),
                ASN1.tagged(3, ASN1.octets(AttestationPolicy.macFullSecurityAccessControl))),
            "attest.policy.access-control"
        ),
    ]

    @Test(arguments: accessControls.indices)
    func group48MacAccessControl(_ index: Int) async throws {
        let (what, value, code) = NegativePolicyTests.accessControls[index]
        let stage = try Stage(.macOS("27.0"))
        let object = try stage.authority.attest(stage.request, at: stage.instant) { recipe in
            recipe.leaf.extensions.removeAll { $0.id == NegativePolicyTests.accessControl }
            if let value {
                recipe.leaf.extensions.append(CertificateExtension(NegativePolicyTests.accessControl, value))
            }
        }
        .object
        var policy = AttestationPolicy()
        policy.requiredAccessControl = AttestationPolicy.macFullSecurityAccessControl
        let verdict = try await stage.verdict(object, policy)
        // The code of each refusal: attest.policy.access-control, at the last step.
        #expect(verdict.code == code, "\(what)")
        #expect(verdict.step == (code == nil ? nil : 12), "\(what)")
        // Nobody who does not ask is bothered, and the value is there to be seen.
        let key = try #require(try await stage.verdict(object).accepted, "\(what)")
        if code == nil { #expect(key.leaf.accessControl == AttestationPolicy.macFullSecurityAccessControl) }
        if value == nil { #expect(key.leaf.accessControl == nil) }
    }

    /// A phone's list is another than a Mac's: `attest.policy.access-control` where a policy for Macs meets one.
    @Test func group48APhoneIsNoMac() async throws {
        let stage = try Stage(.iOS("27.0"))
        var policy = AttestationPolicy()
        policy.requiredAccessControl = AttestationPolicy.macFullSecurityAccessControl
        #expect(try await stage.verdict(nil, policy).code == "attest.policy.access-control")
        #expect(try await stage.verdict().accepted?.leaf.accessControl?.count == 69)
    }
}
