// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import Synchronization
import TLSModel
import TLSProbe

@testable import ATSDiagnostics

/// A server that picks its highest common version and then the first of its own suites that is offered.
struct ModelServer: ServerProbing {
    var versions: [TLSVersion] = [.tls12, .tls13]
    var suites: [CipherSuite] = [.ecdheRSAWithAES128GCMSHA256]
    /// Answers this whatever is offered.
    var failure: ConnectionFailure?
    var chain: ChainFacts = ModelServer.goodChain

    func answer(_ offer: HelloOffer) -> HandshakeOutcome {
        if let failure { return .connection(failure) }
        let common = versions.filter { offer.minimumVersion <= $0 && $0 <= offer.maximumVersion }.max()
        guard let version = common else { return .alert(level: 2, description: 70) }
        let own = version == .tls13 ? [.aes128GCMSHA256] : suites
        guard let suite = own.first(where: offer.suites.contains) else { return .alert(level: 2, description: 40) }
        return .negotiated(
            HandshakeObservation(
                version: version, suite: suite, group: suite.hasForwardSecrecy ? .secp256r1 : nil,
                certificates: chain.presented.map(\.der), keyPossession: .proven))
    }

    func evidence(
        of endpoint: Endpoint, offers: [HelloOffer], address: String?, within scope: FetchScope
    ) async -> HostEvidence {
        var evidence = HostEvidence(address: failure == nil ? "192.0.2.1" : nil)
        for offer in offers { evidence.outcomes[offer] = answer(offer) }
        showChain(in: &evidence)
        evidence.hellos = 1
        return evidence
    }

    /// Puts the chain where the network puts it, whatever hello it is shown to.
    func showChain(in evidence: inout HostEvidence) {
        let shown = HandshakeObservation(
            version: .tls13, suite: .aes128GCMSHA256, group: nil, certificates: chain.presented.map(\.der),
            keyPossession: .proven)
        evidence.keep(chain, of: shown, at: Self.instant)
    }

    func scope(ofServerAt address: String) -> FetchScope { .publicAddresses }
    func addresses(of endpoint: Endpoint) async -> [String] { [] }
    func remembering() -> any ServerProbing { self }

    static let host = "api.example.com"
    static let instant = Date(timeIntervalSince1970: 1_790_000_000)

    static let goodChain = chain(leaf: certificate("CN=api.example.com", issuer: "CN=Root"))

    static func chain(leaf: CertificateFacts) -> ChainFacts {
        let root = certificate("CN=Root", issuer: "CN=Root", names: nil)
        return ChainFacts(
            presented: [leaf], path: .anchored([leaf], AnchorFacts(certificate: root, kind: .installed, store: "test")))
    }

    static func certificate(
        _ subject: String, issuer: String, names: [String]? = [host], bits: Int = 2048,
        hash: SignatureFacts.Hash = .sha256, notAfter: Date = instant.addingTimeInterval(86_400 * 60)
    ) -> CertificateFacts {
        CertificateFacts(
            der: Array("\(subject)\(bits)\(hash)\(notAfter)".utf8), subject: subject, issuer: issuer,
            subjectDER: Array(subject.utf8), issuerDER: Array(issuer.utf8), serialNumber: "01",
            notBefore: instant.addingTimeInterval(-86_400), notAfter: notAfter,
            publicKey: PublicKeyFacts(kind: .rsa(bits: bits), sha256: [UInt8](repeating: 7, count: 32), der: []),
            signature: SignatureFacts(algorithm: "1.2.840.113549.1.1.11", hash: hash),
            alternativeNames: names.map { AlternativeNames(dnsNames: $0, addresses: []) },
            extendedKeyUsages: ["1.3.6.1.5.5.7.3.1"])
    }
}

/// A load whose places are known before.
struct ModelLoad: TargetLoading {
    let trace: LoadTrace
    func load(_ url: LoadURL, dictionary: ATSDictionary, profile: OSProfile, address: String?) async -> LoadTrace {
        trace
    }
}

/// A load that keeps what it was asked for.
final class RecordedLoad: TargetLoading {
    let urls = Mutex<[String]>([])
    func load(_ url: LoadURL, dictionary: ATSDictionary, profile: OSProfile, address: String?) async -> LoadTrace {
        urls.withLock { $0.append("\(url)") }
        return LoadTrace(places: [url], end: .loaded)
    }
}

extension TargetDiagnosis {
    init(
        profile: OSProfile, appDictionary: ATSDictionary? = nil, appSDK: LinkedSDK? = nil, systems: [OSProfile] = [],
        probing: any ServerProbing, loading: (any TargetLoading)? = nil, allowsPrivate: Bool = false, instant: Date,
        expiryDays: Int? = nil
    ) {
        var configuration = CheckSession.Configuration()
        configuration.profile = profile
        configuration.appDictionary = appDictionary
        configuration.appSDK = appSDK
        configuration.systems = systems
        configuration.allowsPrivateRedirects = allowsPrivate
        configuration.expiryDays = expiryDays
        self.init(configuration: configuration, probing: probing, loading: loading, instant: instant)
    }

    /// The report of one model server under a profile.
    static func of(
        _ server: ModelServer, os: String = "macos26", sdk: Int? = nil, target: String = ModelServer.host,
        app: ATSDictionary? = nil, appSDK: Int? = nil, load: LoadTrace? = nil
    ) async throws -> TargetReport {
        let system = OSProfile.named(os) ?? .standard
        let profile = sdk.flatMap { LinkedSDK(number: $0) }.map(system.linked) ?? system
        let diagnosis = TargetDiagnosis(
            profile: profile, appDictionary: app, appSDK: appSDK.flatMap { LinkedSDK(number: $0) }, probing: server,
            loading: load.map(ModelLoad.init), instant: ModelServer.instant)
        return await diagnosis.diagnose(try CheckTarget(target))
    }
}
