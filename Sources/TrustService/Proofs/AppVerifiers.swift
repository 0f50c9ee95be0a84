// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import FoundationEssentials
import HTTPService
import TrustStores
import Vocabulary

/// The verifiers of one configured app: Apple's roots, and if the configuration names them a simulator's.
struct AppVerifiers: Sendable {
    /// The verifiers below the roots of one world.
    private struct World: Sendable {
        /// The fingerprint of the roots of attestations, if they are a simulator's.
        let simulatedRoots: [UInt8]?
        let attestations: AttestationVerifier
        let receipts: ReceiptVerifier
        var simulated: Bool { simulatedRoots != nil }

        /// Whether these roots attested a key, as far as it is written with the key.
        func attested(_ key: KeyRecord) -> Bool {
            simulated == key.simulated && (key.simulatedRoots ?? simulatedRoots) == simulatedRoots
        }
    }

    /// A key that an attestation proved, and the fingerprint of the roots if a simulator's signed it.
    typealias Proven = (key: AttestedKey, simulatedRoots: [UInt8]?)

    private let worlds: [World]
    private let assertions: [String: AssertionVerifier]
    private let environments: Set<String>
    private let requireExtensions: Bool

    /// Apple asks that a receipt be at most this old when it arrives.
    static let receiptAge: TimeInterval = 300

    init(_ app: Configuration.App, simulator: SimulatorTrust?) throws(MalformedInput) {
        var identities: [AppIdentity] = []
        for bundle in app.bundleIds { identities.append(try AppIdentity(prefix: app.appIdPrefix, bundleId: bundle)) }
        var policy = AttestationPolicy()
        if let categories = app.allowedValidationCategories {
            policy.validationCategories = .init(
                Set(categories.map { ValidationCategory(rawValue: UInt32(clamping: $0)) }),
                acceptsAbsence: !app.requireExtensions)
        }
        if let versions = app.allowedBundleVersions {
            policy.bundleVersions = .init(Set(versions), acceptsAbsence: !app.requireExtensions)
        }
        requireExtensions = app.requireExtensions
        self.environments = Set(app.environments.map(\.rawValue))
        let environments = Set(app.environments)
        func world(simulated: Bool, _ roots: AttestationRoots, _ receiptRoots: ReceiptRoots) -> World {
            World(
                simulatedRoots: simulated ? roots.fingerprint : nil,
                attestations: AttestationVerifier(
                    apps: identities, environments: environments, roots: roots, receiptRoots: receiptRoots,
                    policy: policy), receipts: ReceiptVerifier(roots: receiptRoots))
        }
        var worlds = [world(simulated: false, .apple, .apple)]
        if let simulator {
            worlds.append(
                world(
                    simulated: true, try AttestationRoots(pem: simulator.attestationRootPEM),
                    try ReceiptRoots(pem: simulator.receiptRootPEM)))
        }
        self.worlds = worlds
        assertions = Dictionary(
            identities.map { ($0.applicationId, AssertionVerifier(app: $0, policy: policy)) },
            uniquingKeysWith: { first, _ in first })
    }

    /// Whether a key of this app that was accepted before would be accepted now.
    func trust(in key: KeyRecord) -> KeyTrust {
        guard worlds.contains(where: { $0.attested(key) }) else { return .simulator }
        guard environments.contains(key.environment) else { return .environment }
        return assertions[key.identity] == nil ? .identity : .trusted
    }

    var trustsSimulator: Bool { worlds.contains(where: \.simulated) }

    /// Whether a receipt root of the configured simulator signed this receipt. Its dates are not judged: it may be an old key's.
    func simulatorSigned(_ receipt: ReceiptRecord, for key: KeyRecord) async -> Bool {
        guard let world = worlds.first(where: \.simulated), let app = try? AppIdentity(key.identity) else {
            return false
        }
        let verdict = await world.receipts.verify(receipt.bytes, ReceiptExpectations(app: app), at: receipt.createdAt)
        if case .accepted = verdict { return true }
        return false
    }

    /// Judges an attestation and its receipt as they arrive.
    ///
    /// - Throws: ``Problem`` if the service cannot judge.
    func attest(
        _ object: AttestationObject, keyId: KeyIdentifier, hash: ClientDataHash, at now: Date
    ) async throws(Problem) -> Judged<Proven> {
        var refusal = ProofRefusal(.attestChainUntrusted)
        for world in worlds {
            switch await world.attestations.verify(object, keyId: keyId, clientDataHash: hash, at: now) {
            case .accepted(let key):
                if requireExtensions, key.extensions?.validationCategory == nil {
                    return .failure(
                        ProofRefusal(.attestPolicyValidationCategory, evidence: "the extensions are missing"))
                }
                if let stale = try AppVerifiers.receiptRefusal(of: key, at: now) { return .failure(stale) }
                return .success((key, world.simulatedRoots))
            case .refused(let why):
                refusal = ProofRefusal(why)
                // Only what these roots did not sign may be another world's.
                guard why.code == .attestChainUntrusted else { return .failure(refusal) }
            }
        }
        return .failure(refusal)
    }

    /// An object whose receipt is refused is refused as a whole, and a receipt must be fresh when it arrives.
    private static func receiptRefusal(of key: AttestedKey, at now: Date) throws(Problem) -> ProofRefusal? {
        switch key.receiptVerdict {
        case .refused(let why): return ProofRefusal(why)
        case .accepted(let receipt):
            if now.timeIntervalSince(receipt.creationTime) <= receiptAge { return nil }
            return ProofRefusal(.receiptTooOld, evidence: "the receipt is older than \(Int(receiptAge)) seconds")
        case nil: throw Problem(.internalError, evidence: "the receipt was not judged")
        }
    }

    /// Judges an assertion of a stored key.
    ///
    /// - Throws: ``Problem`` if the stored point is not on the curve.
    func assert(
        _ object: AssertionObject, by key: StoredKey, hash: ClientDataHash, above counter: UInt32
    ) throws(Problem) -> Judged<VerifiedAssertion> {
        guard let verifier = assertions[key.identity] else { return .failure(.otherIdentity) }
        let publicKey: AttestationPublicKey
        do throws(MalformedInput) {
            publicKey = try AttestationPublicKey(x963Representation: key.publicKeyBytes)
        } catch {
            throw Problem(.internalError, evidence: "the stored key cannot be read")
        }
        switch verifier.verify(object, publicKey: publicKey, clientDataHash: hash, previousCounter: counter) {
        case .accepted(let assertion): return .success(assertion)
        case .refused(let why): return .failure(ProofRefusal(why))
        }
    }

    /// A refusal of an attestation with what explains it. No root is asked, so any world does.
    func explained(
        _ refusal: Refusal, of attestation: [UInt8], _ signed: SignedInput
    ) -> Refusal {
        worlds.first?.attestations.explained(
            refusal, of: attestation, clientDataHash: signed.hash, clientData: signed.hashed) ?? refusal
    }

    /// A refusal of an assertion by a stored key with what explains it.
    func explained(
        _ refusal: Refusal, of assertion: [UInt8], by key: StoredKey, _ signed: SignedInput
    ) -> Refusal {
        guard let verifier = assertions[key.identity],
            let publicKey = try? AttestationPublicKey(x963Representation: key.publicKeyBytes)
        else { return refusal }
        return verifier.explained(
            refusal, of: assertion, publicKey: publicKey, clientDataHash: signed.hash, clientData: signed.hashed)
    }

    /// Whether a stored key made the signature of an assertion, whatever else may be wrong with it.
    func hasSigned(_ object: AssertionObject, _ key: StoredKey, _ signed: SignedInput) -> Bool {
        switch try? assert(object, by: key, hash: signed.hash, above: 0) {
        case .success?: true
        case .failure(let refusal)?:
            refusal.verdict.map { $0.code != .assertSignatureInvalid } ?? false
        case nil: false
        }
    }

    /// Judges a receipt that Apple gave in exchange for the one of a lease.
    func refreshed(
        _ bytes: [UInt8], for lease: ReceiptLease, at now: Date
    ) async throws(Problem) -> Judged<VerifiedReceipt> {
        guard let world = worlds.first(where: { $0.simulated == lease.key.simulated }) else {
            return .failure(ProofRefusal(.receiptChainUntrusted, evidence: "the simulator is no longer trusted"))
        }
        let expected: ReceiptExpectations
        do throws(MalformedInput) {
            expected = ReceiptExpectations(
                app: try AppIdentity(lease.key.identity),
                publicKey: try AttestationPublicKey(x963Representation: lease.key.publicKeyBytes),
                environment: lease.key.environment == "production" ? .production : .development, type: .receipt,
                maximumAge: AppVerifiers.receiptAge)
        } catch {
            throw Problem(.internalError, evidence: "the stored key cannot be read")
        }
        switch await world.receipts.verify(bytes, expected, at: now) {
        case .accepted(let receipt): return .success(receipt)
        case .refused(let why): return .failure(ProofRefusal(why))
        }
    }
}
