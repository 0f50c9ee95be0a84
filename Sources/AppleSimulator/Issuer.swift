// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceSimulator
import FoundationEssentials

/// Signs what Apple signs.
struct Issuer: Sendable {
    private let authority: SimulatedAuthority

    init(seed: Seed) throws {
        var random = SimulatorRandom(seed: seed.bytes("authority").prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
        authority = try SimulatedAuthority(random: &random)
    }

    var attestationRootPEM: String { authority.attestationRootPEM }
    var receiptRootPEM: String { authority.receiptRootPEM }

    /// The first instant at which everything in the chains is valid.
    var startOfValidity: Date { authority.validity.lowerBound }

    func attest(
        _ request: SimulatedAttestationRequest, at instant: Date, fault: AttestationFault?
    ) throws -> SimulatedAttestation {
        try authority.attest(request, at: instant, fault: fault)
    }

    func refreshedReceipt(
        for subject: IssuedReceipts.Subject, metric: Int, createdAt: Date, notBefore: Date, expiresAt: Date
    ) throws -> [UInt8] {
        try authority.refreshedReceipt(
            app: SimulatedApp(
                subject.app, distribution: subject.environment == .development ? .development : .appStore),
            publicKey: subject.publicKey, leafCertificate: subject.certificate, clientDataHash: subject.clientDataHash,
            riskMetric: metric, at: createdAt, refreshNotBefore: notBefore, expiration: expiresAt)
    }
}
