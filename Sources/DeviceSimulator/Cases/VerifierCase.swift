// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

/// One question to another verifier: what it knows, the object, and the right answer.
package struct VerifierCase: Sendable {
    package enum Kind: String, Sendable, CaseIterable { case attestation, assertion, receipt }

    /// What a server knows before the object comes.
    package struct Told: Sendable {
        package var applicationId: String
        package var isProduction: Bool
        /// 32 bytes.
        package var keyId: [UInt8]
        /// The server's challenge, or an assertion's client data: its SHA-256 is the client data hash.
        package var clientData: [UInt8]
        /// `0x04`, x, y: 65 bytes.
        package var publicKey: [UInt8]
        /// The counter that is stored for the key.
        package var previousCounter: UInt32 = 0
        /// The oldest age of a receipt in seconds; nil asks for none.
        package var maximumAge: Int?
        package var attestationRootPEM: String
        package var receiptRootPEM: String

        package var clientDataHash: [UInt8] { sha256(clientData) }
    }

    /// Unique, in lower-case letters, digits and hyphens: the name of a file too.
    package var id: String
    package let kind: Kind
    /// The group in `docs/audit/negative-groups.md`; nil for a right form and for what the list has under another kind of object.
    package let group: Int?
    package let what: String
    package let object: [UInt8]
    package let told: Told
    /// The code with which our verifier refuses; nil if a right verifier accepts.
    package let code: String?
}

extension VerifierCase {
    /// Groups of the list that cannot be asked of a verifier alone, each with the reason.
    package static let notAsked: [(group: Int, why: String)] =
        [(19, "the adapter decodes the base64"), (48, "a policy that an app chooses")]
        + [50, 51, 52, 53, 54, 59, 63, 66, 67].map { ($0, "the state of a service") }
        + [(80, "the purpose of a receipt is known where it is used"), (83, "requests to Apple")]

    /// Every case, from one simulated Apple. They can be judged at any time from 2026-06-02 to 2043-12-31.
    package static func all() throws -> [VerifierCase] {
        var random = SimulatorRandom(seed: 0x7E57)
        let stage = Stage(authority: try SimulatedAuthority(random: &random), key: random.p256(), other: random.p256())
        let cases = try stage.rightForms() + stage.attestations() + stage.assertions() + stage.receipts()
        var used: Set<String> = []
        return cases.map { item in
            var (item, number) = (item, 2)
            let name = item.id
            while !used.insert(item.id).inserted {
                item.id = "\(name)-\(number)"
                number += 1
            }
            return item
        }
    }

    /// The name of a case: kind, group and words.
    fileprivate static func id(_ kind: Kind, _ group: Int?, _ what: String) -> String {
        let words = what.lowercased().split { !$0.isASCII || !($0.isLetter || $0.isNumber) }.joined(separator: "-")
        return "\(kind.rawValue)-\(group.map { String($0) } ?? "form")-\(words)"
    }
}

/// The authority, key and app of all cases.
private struct Stage {
    let authority: SimulatedAuthority
    let key: P256.Signing.PrivateKey
    let other: P256.Signing.PrivateKey

    /// When everything was made: 2026-06-01T00:00:00Z.
    let made = Date(timeIntervalSince1970: 1_780_272_000)
    /// The time that has not come: 2044-01-01T00:00:00Z.
    let later = Date(timeIntervalSince1970: 2_335_219_200)
    let app = SimulatedApp("ABCDE12345.com.example.app", bundleVersion: "42")
    let system = SimulatedSystem.iOS("27.0")
    let clientData = Array("a challenge from the server".utf8)

    var point: [UInt8] { Array(key.publicKey.x963Representation) }
    var otherPoint: [UInt8] { Array(other.publicKey.x963Representation) }

    func told(_ app: SimulatedApp) -> VerifierCase.Told {
        VerifierCase.Told(
            applicationId: app.applicationId, isProduction: app.isProduction, keyId: sha256(point),
            clientData: clientData, publicKey: point, attestationRootPEM: authority.attestationRootPEM,
            receiptRootPEM: authority.receiptRootPEM)
    }

    func item(
        _ kind: VerifierCase.Kind, _ group: Int?, _ what: String, _ code: String?, _ object: [UInt8],
        of app: SimulatedApp? = nil, telling adjust: (inout VerifierCase.Told) -> Void = { _ in }
    ) -> VerifierCase {
        var told = told(app ?? self.app)
        adjust(&told)
        return VerifierCase(
            id: VerifierCase.id(kind, group, what), kind: kind, group: group, what: what, object: object, told: told,
            code: code)
    }

    // MARK: Objects

    func request(_ system: SimulatedSystem, _ app: SimulatedApp) -> SimulatedAttestationRequest {
        SimulatedAttestationRequest(publicKey: point, app: app, system: system, clientDataHash: sha256(clientData))
    }

    func attestation(
        _ system: SimulatedSystem? = nil, _ app: SimulatedApp? = nil,
        changing adjust: (inout AttestationRecipe) throws -> Void = { _ in }
    ) throws -> SimulatedAttestation {
        try authority.attest(request(system ?? self.system, app ?? self.app), at: made) { recipe in
            recipe.leaf.notAfter = authority.validity.upperBound
            recipe.receipt.expiration = authority.validity.upperBound
            try adjust(&recipe)
        }
    }

    func assertion(
        _ system: SimulatedSystem? = nil, _ app: SimulatedApp? = nil, counter: UInt32 = 7
    ) -> SimulatedAssertion {
        SimulatedAssertion(
            app: app ?? self.app, system: system ?? self.system, counter: counter, clientDataHash: sha256(clientData))
    }

    func receipt(
        _ type: SimulatedReceipt.ReceiptType, _ app: SimulatedApp? = nil, leaf: [UInt8]? = nil
    ) throws -> SimulatedReceipt {
        let app = app ?? self.app
        return SimulatedReceipt(
            type: type, applicationId: app.applicationId,
            certificate: try leaf ?? attestation(nil, app).leafCertificate,
            clientHash: sha256(clientData), token: authority.token(for: point), isProduction: app.isProduction,
            creation: made, riskMetric: type == .receipt ? 3 : nil,
            refreshNotBefore: type == .receipt ? made.addingTimeInterval(86_400) : nil,
            expiration: authority.validity.upperBound)
    }

    /// Group 2, at sixteen places.
    func truncated(_ kind: VerifierCase.Kind, _ right: [UInt8], _ code: String) -> [VerifierCase] {
        (1...16).map { part in
            item(kind, 2, "cut off at \(part) of 17", code, Array(right.prefix(right.count * part / 17)))
        }
    }

    // MARK: Right forms

    /// What devices of every system send, in both environments and from an App Clip, and what Apple answers.
    func rightForms() throws -> [VerifierCase] {
        var cases: [VerifierCase] = []
        for system in SimulatedSystem.catalog {
            let name = "\(system.platform == "macosx" ? "macOS" : "iOS") \(system.version)"
            var development = app
            development.distribution = .development
            for (app, kind) in [(app, "production"), (development, "development"), (app.clip, "an App Clip")] {
                if app.isAppClip, system.platform == "macosx" { continue }
                let what = "\(name), \(kind)"
                let made = try attestation(system, app)
                cases.append(item(.attestation, nil, what, nil, made.object, of: app))
                let signed = try assertion(system, app).object(signedBy: key)
                cases.append(item(.assertion, nil, what, nil, signed, of: app) { $0.previousCounter = 6 })
                cases.append(item(.receipt, nil, "the first, \(what)", nil, made.receipt, of: app))
                let renewed = try authority.receipt(try receipt(.receipt, app, leaf: made.leafCertificate))
                cases.append(item(.receipt, nil, "a renewed one, \(what)", nil, renewed, of: app))
            }
        }
        for distribution in SimulatedApp.Distribution.allCases where distribution != .development {
            var app = app
            app.distribution = distribution
            let what = "validation category \(distribution.rawValue)"
            cases.append(item(.attestation, nil, what, nil, try attestation(nil, app).object, of: app))
        }
        return try cases + shortCoordinates()
    }

    /// Keys with an x or a y that begins with a zero, as one key of 128 has: devices leave the zero out of the COSE key.
    private func shortCoordinates() throws -> [VerifierCase] {
        try [("x", [1, 0x7B] as [UInt8]), ("y", [0, 0x2B])].map { name, scalar in
            let key = try P256.Signing.PrivateKey(rawRepresentation: [UInt8](repeating: 0, count: 30) + scalar)
            let stage = Stage(authority: authority, key: key, other: other)
            let object = try stage.attestation {
                $0.coseKey = AttestationRecipe.cose(point: stage.point, withZeros: false)
            }.object
            return stage.item(.attestation, nil, "\(name) of 31 bytes in the COSE key", nil, object)
        }
    }

    // MARK: Attestations

    func attestations() throws -> [VerifierCase] {
        let right = try attestation().object
        var cases: [VerifierCase] = []
        for row in NegativeCases.objects {
            var object = right
            try row.change(&object)
            cases.append(item(.attestation, row.group, row.what, row.code, object))
        }
        cases += truncated(.attestation, right, "malformed.cbor")
        // Whether a verifier of attestations judges the receipt inside is its own affair.
        let faults = AttestationFault.allCases.map(\.row).filter { $0.receiptCode == nil }
        for row in NegativeCases.chains + NegativeCases.data + faults {
            let object = try attestation {
                if row.what == AttestationFault.leafNotYetValid.rawValue { $0.instant = later }
                try row.change(&$0)
            }.object
            cases.append(item(.attestation, row.group, row.what, row.code, object))
        }
        cases += try otherAuthorities()
        var development = app
        development.distribution = .development
        let made = try attestation(nil, development).object
        cases += [
            item(.attestation, 42, "a production key at the development app", "attest.environment.mismatch", right) {
                $0.isProduction = false
            },
            item(.attestation, 42, "a development key at the production app", "attest.environment.mismatch", made),
            item(.attestation, 45, "another key identifier is expected", "attest.key-id.mismatch", right) {
                $0.keyId = sha256(otherPoint)
            },
            item(.attestation, 49, "another challenge is expected", "attest.nonce.mismatch", right) {
                $0.clientData = Array("another challenge".utf8)
            },
            item(.attestation, 49, "the challenge was hashed twice", "attest.nonce.mismatch", right) {
                $0.clientData = sha256(clientData)
            },
        ]
        return cases
    }

    /// Groups 26 and 28: a WebAuthn chain, and an intermediate whose time is over.
    private func otherAuthorities() throws -> [VerifierCase] {
        var random = authority.random(for: "other authorities", of: point)
        func name(_ text: String) -> [UInt8] { SimulatedAuthority.name("SIMULATED WebAuthn " + text) }
        let (root, below) = (SimulatorKey.p384(random.p384()), SimulatorKey.p384(random.p384()))
        var recipe = CertificateRecipe(
            serialNumber: [1], issuer: name("Root CA"), subject: name("CA 1"), notBefore: authority.validity.lowerBound,
            notAfter: authority.validity.upperBound, keyInfo: below.keyInfo,
            extensions: [.basicConstraints(authority: true, pathLength: 0), .keyUsage(0x06)], usesSHA384: true)
        let foreign = try recipe.signed(by: root)
        let formats = [("apple", "attest.format.unknown"), ("apple-appattest", "attest.chain.untrusted")]
        var cases = try formats.map { format, code in
            let object = try attestation {
                $0.format = CBOR.text(format)
                $0.leaf.issuer = name("CA 1")
                $0.leafSigner = below
                $0.adjustChain = { [$0[0], foreign] }
            }.object
            return item(.attestation, 26, "a chain of WebAuthn with the format \(format)", code, object)
        }
        recipe.issuer = authority.attestationRoot.subject
        recipe.subject = authority.attestationCA.subject
        recipe.keyInfo = authority.attestationCA.key.keyInfo
        recipe.notAfter = made.addingTimeInterval(-86_400)
        let expired = try recipe.signed(by: authority.attestationRoot.key)
        let object = try attestation { $0.adjustChain = { [$0[0], expired] } }.object
        cases.append(item(.attestation, 28, "an intermediate whose time is over", "attest.chain.expired", object))
        return cases
    }

    // MARK: Assertions

    func assertions() throws -> [VerifierCase] {
        let right = try assertion().object(signedBy: key)
        var cases = truncated(.assertion, right, "malformed.cbor")
        for row in AssertionFault.allCases.map(\.row) {
            var changed = assertion()
            try row.change(&changed)
            let object = try changed.object(signedBy: key)
            cases.append(item(.assertion, row.group, row.what, row.code, object) { $0.previousCounter = 6 })
        }
        for previous in [7, 8, UInt32.max] as [UInt32] {
            let what = "the counter 7 after \(previous)"
            cases.append(item(.assertion, 58, what, "assert.counter.replayed", right) { $0.previousCounter = previous })
        }
        let code = "malformed.authenticator-data"
        for length in [0, 1, 36, 38] {
            var changed = assertion(.iOS("18.5"))
            changed.adjustAuthenticatorData = { Array(($0 + [0xF6]).prefix(length)) }
            let object = try changed.object(signedBy: key)
            cases.append(
                item(.assertion, 65, "authenticator data of \(length) bytes", code, object) { $0.previousCounter = 6 })
        }
        cases += [
            item(.assertion, 61, "another key is expected", "assert.signature.invalid", right) {
                $0.publicKey = otherPoint
                $0.keyId = sha256(otherPoint)
            },
            item(.assertion, 62, "other client data is expected", "assert.signature.invalid", right) {
                $0.clientData = Array("a challenge from the server ".utf8)
            },
            item(.assertion, 60, "another app is expected", "assert.app-id.mismatch", right) {
                $0.applicationId = "ABCDE12345.com.example.app2"
            },
            item(.assertion, 64, "an attestation", "malformed.assertion", try attestation().object),
        ]
        return cases
    }

    // MARK: Receipts

    func receipts() throws -> [VerifierCase] {
        let content = try receipt(.receipt)
        let right = try authority.receipt(content)
        var cases = truncated(.receipt, right, "malformed.receipt")
        // Groups 80 and 81 ask what a receipt is for.
        for row in NegativeCases.receipts.filter({ $0.group != 80 }) + ReceiptFault.allCases.map(\.row) {
            var content = content
            if row.what == ReceiptFault.fromTheFuture.rawValue { content.creation = later }
            let object = try authority.receipt(content) { try row.change(&$0) }
            cases.append(item(.receipt, row.group, row.what, row.code, object))
        }
        cases += [
            item(.receipt, 75, "another app is expected", "receipt.app-id.mismatch", right) {
                $0.applicationId = "ABCDE12345.com.example.app2"
            },
            item(.receipt, 76, "another key is expected", "receipt.public-key.mismatch", right) {
                $0.publicKey = otherPoint
                $0.keyId = sha256(otherPoint)
            },
            item(.receipt, 77, "made longer ago than five minutes", "receipt.too-old", right) { $0.maximumAge = 300 },
            item(.receipt, 81, "the other environment is expected", "receipt.environment.mismatch", right) {
                $0.isProduction = false
            },
        ]
        return cases
    }
}
