// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
public import FoundationEssentials
import Vocabulary

/// A receipt that Apple signed and that matches the expectations. Only ``ReceiptVerifier`` can make one.
public struct VerifiedReceipt: Sendable {
    /// Every field, known or not.
    package let receipt: Receipt
    /// ATTEST or RECEIPT (field 6).
    public let type: ReceiptType
    /// Team prefix and bundle id (field 2).
    public let applicationId: String
    /// The attested key.
    public let publicKey: AttestationPublicKey
    /// nil if the receipt does not say.
    public let environment: AttestationEnvironment?
    /// When Apple made the receipt (field 12).
    public let creationTime: Date
    /// When a newer receipt may be asked for; nil in a first receipt.
    public let refreshNotBefore: Date?
    /// nil if the receipt does not say.
    public let expirationTime: Date?
    /// How many keys this device attested for the app in the last 30 days, about; nil in a first receipt.
    public let riskMetric: Int?
}

/// The verdict on a receipt.
public enum ReceiptVerdict: Sendable {
    /// Every check passed.
    case accepted(VerifiedReceipt)
    /// The first check that failed.
    case refused(Refusal)

    /// The code of a refusal; nil for an accepted receipt.
    package var refusal: Refusal? {
        if case .refused(let refusal) = self { refusal } else { nil }
    }
}

/// What a receipt must be for; nil accepts anything.
public struct ReceiptExpectations: Sendable {
    package var app: AppIdentity
    package var publicKey: AttestationPublicKey?
    package var environment: AttestationEnvironment?
    package var type: ReceiptType?
    package var clientDataHash: ClientDataHash?
    package var maximumAge: TimeInterval?

    /// Makes one from its parts.
    ///
    /// - Parameters:
    ///   - app: the app, field 2.
    ///   - publicKey: the attested key, field 3.
    ///   - environment: the environment, field 7, if the receipt says so.
    ///   - type: the type, field 6.
    ///   - clientDataHash: the client data hash, field 4; compared in a first receipt only.
    ///   - maximumAge: the oldest age since field 12, in seconds; Apple asks for five minutes when a receipt arrives. A stored receipt has no limit.
    public init(
        app: AppIdentity, publicKey: AttestationPublicKey? = nil, environment: AttestationEnvironment? = nil,
        type: ReceiptType? = nil, clientDataHash: ClientDataHash? = nil, maximumAge: TimeInterval? = nil
    ) {
        self.app = app
        self.publicKey = publicKey
        self.environment = environment
        self.type = type
        self.clientDataHash = clientDataHash
        self.maximumAge = maximumAge
    }
}

/// Verifies receipts, those inside attestations and those that Apple gives in exchange.
///
///     let verdict = await ReceiptVerifier(roots: .apple).verify(bytes, .init(app: app, publicKey: key), at: now)
///
/// The chain is judged at the receipt's creation, so that a stored receipt does not go bad when Apple's signer changes each year.
/// The root that a receipt carries is never trusted.
public struct ReceiptVerifier: Sendable {
    /// How far ahead a receipt's creation may be, because clocks differ: 60 seconds.
    package static let clockTolerance: TimeInterval = 60

    private let chain: ChainVerifier

    /// - Parameter rememberedAuthorities: how many verified intermediates are kept.
    public init(roots: ReceiptRoots, rememberedAuthorities: Int = 16) {
        chain = ChainVerifier(anchors: roots.anchors, rememberedLimit: rememberedAuthorities)
    }

    /// Reads and judges a receipt. Bytes that are not a receipt are refused with a `malformed.` code.
    public func verify(
        _ receipt: some Collection<UInt8>, _ expected: ReceiptExpectations, at instant: Date
    ) async -> ReceiptVerdict {
        do {
            return await verify(try Receipt(decoding: receipt), expected, at: instant)
        } catch {
            return .refused(Refusal(malformed: error))
        }
    }

    /// Judges a receipt that was read before.
    package func verify(_ receipt: Receipt, _ expected: ReceiptExpectations, at instant: Date) async -> ReceiptVerdict {
        do {
            return .accepted(try await judge(receipt, expected, instant))
        } catch {
            return .refused(error)
        }
    }

    /// Apple's steps ("Assessing fraud risk", read 2026-11-21: https://developer.apple.com/documentation/devicecheck/assessing-fraud-risk),
    /// then ours from 7 on.
    private func judge(
        _ receipt: Receipt, _ expected: ReceiptExpectations, _ instant: Date
    ) async throws(Refusal) -> VerifiedReceipt {
        // Step 1: the signature.
        guard let signer = receipt.message.signerCertificate(), let key = SigningKey(signer.record) else {
            throw Refusal(.receiptSignatureInvalid, step: 1, "the signer's certificate is not in the receipt")
        }
        guard receipt.message.isSigned(by: key) else {
            throw Refusal(.receiptSignatureInvalid, step: 1, "the signature does not verify with the signer's key")
        }

        // Step 2: the chain, at the time at which the receipt says it was made.
        try await checkChain(receipt, signer.record, signer.der)

        // Step 3: the fields.
        let facts = try facts(of: receipt)

        // Step 4: the app.
        guard facts.applicationId.utf8.elementsEqual(expected.app.applicationId.utf8) else {
            var refusal = Refusal(
                .receiptAppIdMismatch, step: 4, "the receipt is for another app",
                [
                    ComparedValue(
                        "appId", expected: expected.app.applicationId,
                        found: facts.applicationId.terminalSafe(limit: 512))
                ])
            refusal.mistake = ProofMistake.appId(expected: [expected.app], found: facts.applicationId)
            throw refusal
        }

        // Step 5: the age.
        let age = instant.timeIntervalSince(facts.creationTime)
        guard age >= -ReceiptVerifier.clockTolerance else {
            throw Refusal(
                .receiptFromTheFuture, step: 5, "the receipt was created after the time of verification",
                [.time(instant, "from", facts.creationTime)])
        }
        if let maximum = expected.maximumAge, age > maximum {
            throw Refusal(
                .receiptTooOld, step: 5, "the receipt is older than \(Int(exactly: maximum.rounded()) ?? 0) seconds",
                [.time(instant, "created", facts.creationTime)])
        }
        if let expiration = facts.expirationTime, instant > expiration {
            throw Refusal(
                .receiptExpired, step: 5, "the receipt expired at \(RFC3339.text(expiration))",
                [.time(instant, "until", expiration)])
        }

        // Step 6: the key.
        if let expectedKey = expected.publicKey, facts.publicKey != expectedKey {
            throw Refusal(
                .receiptPublicKeyMismatch, step: 6, "the receipt is for another key",
                [
                    ComparedValue(
                        "publicKey", expected: expectedKey.x963Representation,
                        found: facts.publicKey.x963Representation)
                ])
        }

        // Step 7 (ours): type and environment are those expected, and a first receipt has no metric and the client data hash.
        if let type = expected.type, facts.type != type {
            throw Refusal(
                .receiptTypeMismatch, step: 7, "the receipt is not of type \(type)",
                [ComparedValue("type", expected: type.rawValue, found: facts.type.rawValue)])
        }
        if facts.type == .attest, receipt.field(17) != nil {
            throw Refusal(.receiptTypeMismatch, step: 7, "a first receipt has no risk metric")
        }
        if let environment = expected.environment, let found = facts.environment, found != environment {
            var refusal = Refusal(
                .receiptEnvironmentMismatch, step: 7, "the receipt belongs to the other environment",
                [ComparedValue("environment", expected: environment.rawValue, found: found.rawValue)])
            refusal.mistake = .environment
            throw refusal
        }
        if facts.type == .attest, let expectedHash = expected.clientDataHash, let hash = receipt.clientDataHash,
            hash != expectedHash.bytes
        {
            throw Refusal(
                .receiptFieldInvalid, step: 7, "the receipt's field 4 is not the client data hash",
                [ComparedValue("clientDataHash", expected: expectedHash.bytes, found: hash)])
        }
        return facts
    }

    private func checkChain(
        _ receipt: Receipt, _ signer: CertificateRecord, _ signerDER: ArraySlice<UInt8>
    ) async throws(Refusal) {
        // A receipt without a readable time is judged as if made while its signer was valid; step 3 refuses it.
        let creation = receipt.creationTime ?? signer.notBefore
        var fault = ChainFault.untrusted("the signer's issuer is not in the receipt")
        for der in receipt.message.certificates {
            guard let candidate = try? CertificateRecord(der: der), candidate.subject == signer.issuer,
                candidate.serialNumber != signer.serialNumber
            else { continue }
            let authority: Authority
            do {
                authority = try await chain.authority(der, at: creation)
                try chain.checkLeaf(signer, below: authority, at: creation)
            } catch {
                fault = error
                continue
            }
            guard authority.isApplicationIntegration, signer.value(of: OID.receiptSigner) != nil else {
                throw Refusal(
                    .receiptChainMarkerMissing, step: 2,
                    "the signer or its CA lacks the marker extension of App Attest receipts")
            }
            // What else came along must be of this chain: nobody else has looked at it.
            let isWhole = receipt.message.certificates.allSatisfy { other in
                other == signerDER || other == der || chain.anchors.hold(other)
            }
            if isWhole { return }
            fault = .untrusted("a certificate in the receipt is not part of its chain")
        }
        switch fault {
        case .malformed(let reason), .untrusted(let reason), .signature(let reason), .expired(let reason, _),
            .notYetValid(let reason, _):
            let authority = receipt.message.certificates.first { $0 != signerDER }
            throw Refusal(
                .receiptChainUntrusted, step: 2, reason, authority.map { chain.comparedIssuer(of: $0) } ?? [])
        }
    }

    private func facts(of receipt: Receipt) throws(Refusal) -> VerifiedReceipt {
        var seen: Set<Int> = []
        for field in receipt.fields where !seen.insert(field.number).inserted {
            throw Refusal(.receiptFieldDuplicate, step: 3, "field \(field.number) occurs twice")
        }
        for number in [2, 3, 6, 12] where !seen.contains(number) {
            throw Refusal(.receiptFieldMissing, step: 3, "field \(number) is missing")
        }
        func invalid(_ number: Int) -> Refusal {
            Refusal(.receiptFieldInvalid, step: 3, "field \(number) cannot be read")
        }
        guard let applicationId = receipt.applicationId else { throw invalid(2) }
        guard let certificate = receipt.attestedCertificate, let record = try? CertificateRecord(der: certificate[...]),
            let publicKey = try? AttestationPublicKey(x963Representation: record.keyBits)
        else { throw invalid(3) }
        guard let type = receipt.type, type == .attest || type == .receipt else { throw invalid(6) }
        let environment: AttestationEnvironment?
        switch receipt.field(7)?.value {
        case nil: environment = nil
        case let name?:
            guard let known = AttestationEnvironment.allCases.first(where: { name.elementsEqual($0.receiptName.utf8) })
            else { throw invalid(7) }
            environment = known
        }
        guard let creationTime = receipt.creationTime else { throw invalid(12) }
        for number in [19, 21] {
            if let field = receipt.field(number), Receipt.time(field.value) == nil { throw invalid(number) }
        }
        if let field = receipt.field(17), Receipt.metric(field.value) == nil { throw invalid(17) }
        return VerifiedReceipt(
            receipt: receipt, type: type, applicationId: applicationId, publicKey: publicKey, environment: environment,
            creationTime: creationTime, refreshNotBefore: receipt.refreshNotBefore,
            expirationTime: receipt.expirationTime, riskMetric: receipt.riskMetric)
    }
}
