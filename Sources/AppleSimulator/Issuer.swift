// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import DeviceSimulator
import Foundation

/// Signs what Apple and the phones sign.
struct Issuer: Sendable {
    /// What attesting a key gives.
    struct Issued {
        let attestation: [UInt8]
        let receipt: [UInt8]
        let subject: IssuedReceipts.Subject
    }

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
        _ key: PhoneKey,
        phone: Phone,
        build: AppBuild,
        clientDataHash: [UInt8],
        at instant: Date,
        fault: AttestationFault?
    ) throws -> Issued {
        let publicKey = Array(key.key.publicKey.x963Representation)
        let app = Issuer.app(key.app, key.environment, build)
        let request = SimulatedAttestationRequest(
            publicKey: publicKey,
            app: app,
            system: .iOS(phone.os),
            clientDataHash: clientDataHash
        )
        let made = try authority.attest(request, at: instant, fault: fault)
        return Issued(
            attestation: made.object,
            receipt: made.receipt,
            subject: IssuedReceipts.Subject(
                keyId: key.id,
                device: phone.id,
                app: key.app,
                environment: key.environment,
                publicKey: publicKey,
                certificate: made.leafCertificate,
                clientDataHash: clientDataHash
            )
        )
    }

    func refreshedReceipt(
        for subject: IssuedReceipts.Subject,
        metric: Int,
        createdAt: Date,
        notBefore: Date,
        expiresAt: Date
    ) throws -> [UInt8] {
        try authority.refreshedReceipt(
            app: Issuer.app(subject.app, subject.environment, AppBuild()),
            publicKey: subject.publicKey,
            leafCertificate: subject.certificate,
            clientDataHash: subject.clientDataHash,
            riskMetric: metric,
            at: createdAt,
            refreshNotBefore: notBefore,
            expiration: expiresAt
        )
    }

    /// The object that `generateAssertion` gives.
    func assertion(
        _ key: PhoneKey,
        phone: Phone,
        build: AppBuild,
        clientDataHash: [UInt8],
        fault: AssertionFault?
    ) throws -> [UInt8] {
        try SimulatedAssertion.make(
            key: key.key,
            app: Issuer.app(key.app, key.environment, build),
            system: .iOS(phone.os),
            counter: key.counter,
            clientDataHash: clientDataHash,
            fault: fault
        )
    }

    private static func app(_ id: String, _ environment: SimulatedEnvironment, _ build: AppBuild) -> SimulatedApp {
        let distribution = environment == .development ? .development : build.distribution
        return SimulatedApp(id, bundleVersion: build.version, distribution: distribution)
    }
}

/// The build of an app that a phone runs: what iOS 27 puts into attestations and assertions.
struct AppBuild: Sendable {
    var version = "1"
    /// Of a production build; a development build has a category of its own.
    var distribution = SimulatedApp.Distribution.appStore
}
