// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import Foundation
import PropertyLists
import Synchronization
import TLSModel
import TLSProbe
import Testing
import Vocabulary

@testable import ATSDiagnostics

@Suite struct TargetDiagnosisTests {
    private static func letters(_ report: TargetReport) -> String {
        String(report.results.map { String($0.result.rawValue.prefix(1)) }.joined())
    }

    private static func exception(_ keys: [String: PropertyListValue]) -> SmallestException {
        .dictionary(
            ATSDictionary(.dictionary(["NSExceptionDomains": .dictionary([ModelServer.host: .dictionary(keys)])])))
    }

    @Test func aGoodServerNeedsNoException() async throws {
        let report = try await TargetDiagnosis.of(ModelServer())
        #expect(report.results.allSatisfy { $0.result == .pass })
        #expect(report.smallestException == .none)
        #expect(report.decisive?.because.isEmpty == true)
    }

    @Test func oldVersionNeedsTheLowestMinimumThatTheServerHas() async throws {
        let eleven = try await TargetDiagnosis.of(
            ModelServer(versions: [.tls11], suites: [.ecdheRSAWithAES128CBCSHA]), sdk: 18)
        #expect(Self.letters(eleven) == "FPFFPPFFFFPPFFPP")
        #expect(eleven.decisive?.because.first?.code == "ats.tls.version-too-low")
        #expect(eleven.smallestException == Self.exception(["NSExceptionMinimumTLSVersion": .string("TLSv1.1")]))
        let ten = try await TargetDiagnosis.of(ModelServer(versions: [.tls10], suites: [.rsaWithAES128CBCSHA]), sdk: 18)
        #expect(
            ten.smallestException
                == Self.exception([
                    "NSExceptionMinimumTLSVersion": .string("TLSv1.0"),
                    "NSExceptionRequiresForwardSecrecy": .boolean(false),
                ])
        )
    }

    /// Linked on 26 and run on 26, nothing in a dictionary makes an app speak TLS 1.0 or 1.1; with an older one of the two it does.
    @Test(
        arguments: [
            ("macos26", nil, false), ("ios27", nil, false), ("macos26", 26, false), ("ios18", nil, true),
            ("macos15", 27, true), ("macos26", 18, true), ("ios27", 18, true), ("published", nil, true),
        ] as [(String, Int?, Bool)]
    )
    func whetherAnExceptionHelpsDependsOnSystemAndSDK(_ os: String, _ sdk: Int?, _ helps: Bool) async throws {
        let report = try await TargetDiagnosis.of(
            ModelServer(versions: [.tls10], suites: [.ecdheRSAWithAES128CBCSHA]), os: os, sdk: sdk)
        let wanted = Self.exception(["NSExceptionMinimumTLSVersion": .string("TLSv1.0")])
        #expect(report.smallestException == (helps ? wanted : .noneHelps))
        let row = try #require(report.results.first { $0.configuration.name == "TLSv1.0" })
        #expect(row.result == (helps ? .pass : .fail))
        if !helps {
            #expect(row.error?.code == -1200 && row.error?.streamCode == -9836)
            #expect(row.because.first?.code == "ats.tls.version-too-low")
        }
        // What follows from Apple's words and was not measured says so.
        #expect(row.notes.contains { $0.code == "ats.note.sdk-inferred" } == (sdk == 18))
    }

    /// An app's own SDK moves the row of its dictionary and no other.
    @Test func theAppsSDKMovesItsOwnRow() async throws {
        let server = ModelServer(versions: [.tls11], suites: [.ecdheRSAWithAES128CBCSHA])
        let app = ExceptionLadder.dictionary([ModelServer.host: ExceptionEntry(minimumTLSVersion: .tls11)])
        let old = try await TargetDiagnosis.of(server, app: app, appSDK: 18)
        #expect(old.decisive?.result == .pass && old.decisive?.sdk?.number == 18)
        #expect(old.results.dropLast().allSatisfy { $0.result == .fail && $0.sdk?.number == 26 })
        #expect(old.smallestException == .noneHelps)
        let new = try await TargetDiagnosis.of(server, app: app, appSDK: 26)
        #expect(new.decisive?.result == .fail)
        #expect(new.decisive?.notes.contains { $0.code == "ats.note.stack-minimum" } == true)
    }

    @Test func noForwardSecrecyIsNamedAndFixed() async throws {
        let report = try await TargetDiagnosis.of(ModelServer(versions: [.tls12], suites: [.rsaWithAES128GCMSHA256]))
        #expect(Self.letters(report) == "FPFFFFPPFPPPFPPP")
        #expect(report.decisive?.because.first?.code == "ats.tls.no-forward-secrecy")
        #expect(report.smallestException == Self.exception(["NSExceptionRequiresForwardSecrecy": .boolean(false)]))
        #expect(report.hello.kind == .wider)
    }

    @Test func badCertificatesHaveNoExceptionAndNeedADelegate() async throws {
        let expired = ModelServer.certificate(
            "CN=x", issuer: "CN=Root", notAfter: ModelServer.instant.addingTimeInterval(-5))
        let report = try await TargetDiagnosis.of(ModelServer(chain: ModelServer.chain(leaf: expired)))
        #expect(report.results.allSatisfy { $0.result == .fail && $0.because.first?.code == "ats.trust.expired" })
        #expect(report.smallestException == .noneHelps)
        let insecure = try #require(report.results.last)
        #expect(insecure.because.contains { $0.code == "ats.trust.needs-delegate" })
        #expect(report.decisive?.because.contains { $0.code == "ats.trust.needs-delegate" } == false)
    }

    @Test(arguments: [
        (ConnectionFailure.refused, "ats.net.refused"), (.timeout, "ats.net.timeout"), (.reset, "ats.net.reset"),
        (.closed, "ats.net.closed"), (.notTLS(prefix: []), "ats.net.not-tls"), (.nameNotFound("x"), "ats.net.dns"),
    ])
    func withoutAConversationNothingIsDetermined(_ failure: ConnectionFailure, _ code: String) async throws {
        let report = try await TargetDiagnosis.of(ModelServer(failure: failure))
        #expect(report.results.allSatisfy { $0.result == .undetermined && $0.because.first?.code.rawValue == code })
        #expect(report.smallestException == .noneHelps)
    }

    @Test func redirectToCleartextNeedsInsecureHTTPForItsHost() async throws {
        let places = ["https://api.example.com:443/", "http://other.example/"].map { try? LoadURL($0) }.compactMap(
            \.self)
        let report = try await TargetDiagnosis.of(ModelServer(), load: LoadTrace(places: places, end: .loaded))
        #expect(Self.letters(report) == "FPFFFFFFFFFFFFFF")
        #expect(report.decisive?.error?.code == -1022)
        #expect(report.decisive?.because.first?.code == "ats.http.redirect-blocked")
        #expect(
            report.smallestException.dictionary?.propertyListValue
                == .dictionary([
                    "NSExceptionDomains": .dictionary([
                        "other.example": .dictionary(["NSExceptionAllowsInsecureHTTPLoads": .boolean(true)])
                    ])
                ])
        )
    }

    @Test("A cause behind a redirect says where that leads")
    func redirectToAnotherHost() async throws {
        let places = ["https://api.example.com:443/", "https://other.example/"].compactMap { try? LoadURL($0) }
        let report = try await TargetDiagnosis.of(ModelServer(), load: LoadTrace(places: places, end: .loaded))
        let cause = try #require(report.decisive?.because.first)
        #expect(cause.code == .trustWrongHost)
        #expect(cause.message.hasPrefix("The server redirects to https://other.example/. The certificate is for"))
    }

    @Test func aLoopFailsAndSilenceAfterTLSIsUndetermined() async throws {
        let here = try LoadURL("https://api.example.com:443/")
        let loop = LoadTrace(
            places: [here], end: .refused(.connection(.timeout), [Cause("ats.http.redirect-loop", "A loop.")]))
        let looped = try await TargetDiagnosis.of(ModelServer(), load: loop)
        #expect(looped.results.allSatisfy { $0.result == .fail && $0.because.first?.code == "ats.http.redirect-loop" })
        #expect(looped.smallestException == .noneHelps)
        let silent = LoadTrace(places: [here], end: .noAnswer(nil, [Cause("ats.http.no-answer", "Nothing.")]))
        let unanswered = try await TargetDiagnosis.of(ModelServer(), load: silent)
        #expect(unanswered.results.allSatisfy { $0.result == .undetermined })
    }

    @Test func theAppsDictionaryIsOneMoreAndDecides() async throws {
        let app = ATSDictionary(
            .dictionary([
                "NSExceptionDomains": .dictionary([
                    "example.com": .dictionary([
                        "NSIncludesSubdomains": .boolean(true), "NSExceptionMinimumTLSVersion": .string("TLSv1.0"),
                    ])
                ])
            ])
        )
        let server = ModelServer(versions: [.tls10], suites: [.ecdheRSAWithAES128CBCSHA])
        let report = try await TargetDiagnosis.of(server, sdk: 18, app: app)
        #expect(report.results.count == 17)
        #expect(report.results.first?.result == .fail)
        #expect(report.decisive?.configuration.isAppDictionary == true)
        #expect(report.decisive?.result == .pass)
    }

    /// Redirects of a public server may not be used to look into a private network.
    @Test(arguments: [
        (false, false, nil, false), (true, false, nil, true), (false, true, nil, true),
        // A public server on the way, which only the load has seen.
        (true, false, FetchScope.publicAddresses, false), (true, true, .publicAddresses, true),
    ])
    func redirectsReachPrivateAddressesOnlyFromPrivateOnes(
        _ isPrivate: Bool, _ isAllowed: Bool, _ scope: FetchScope?, _ wanted: Bool
    )
        async throws
    {
        let places = ["https://api.example.com:443/", "https://inner.example/"].compactMap { try? LoadURL($0) }
        let seen = Seen()
        let scopes = scope.map { [Endpoint(host: "inner.example", port: 443): $0] } ?? [:]
        let diagnosis = TargetDiagnosis(
            profile: .standard, probing: RecordingProbe(isPrivate: isPrivate, seen: seen),
            loading: ModelLoad(trace: LoadTrace(places: places, end: .loaded, scopes: scopes)),
            allowsPrivate: isAllowed,
            instant: ModelServer.instant)
        _ = await diagnosis.diagnose(try CheckTarget(ModelServer.host))
        #expect(await seen.permissions["api.example.com"] == true)
        #expect(await seen.permissions["inner.example"] == wanted)
    }

    actor Seen {
        var permissions: [String: Bool] = [:]
        func note(_ host: String, _ allowed: Bool) { permissions[host] = allowed }
    }

    struct RecordingProbe: ServerProbing {
        let isPrivate: Bool
        let seen: Seen
        func evidence(
            of endpoint: Endpoint, offers: [HelloOffer], address: String?, within scope: FetchScope
        ) async
            -> HostEvidence
        {
            await seen.note(endpoint.host, scope.allows(address: "10.0.0.9"))
            return await ModelServer().evidence(
                of: endpoint, offers: offers, address: address, within: scope)
        }
        func scope(ofServerAt address: String) -> FetchScope { FetchScope(of: isPrivate ? .privateNetwork : .global) }
        func remembering() -> any ServerProbing { self }
        func addresses(of endpoint: Endpoint) async -> [String] { [] }
    }

    /// A refused load counts for every suite that the client offers, and for no other.
    @Test(arguments: [
        (CipherSuite.ecdheRSAWithAES128GCMSHA256, "macos26", false),
        (.ecdheRSAWithAES128CBCSHA256, "published", false), (.ecdheECDSAWithAES128CBCSHA256, "published", false),
        (.ecdheRSAWithAES256CBCSHA384, "published", true), (.ecdheECDSAWithAES256CBCSHA384, "published", true),
    ])
    func aRefusedLoadCountsIfTheClientOffersTheSuite(_ suite: CipherSuite, _ os: String, _ passes: Bool) async throws {
        let here = try LoadURL("https://api.example.com:443/")
        let refused = LoadTrace(
            places: [here],
            end: .handshakeRefused(.secureConnectionFailed(-9824), [Cause("ats.tls.handshake-failed", "No.")]))
        let server = ModelServer(versions: [.tls12], suites: [suite])
        let report = try await TargetDiagnosis.of(server, os: os, load: refused)
        #expect(report.decisive?.result == (passes ? .pass : .fail))
        #expect(report.notes.contains { $0.code == "ats.note.load-not-made" } == passes)
        let handshake = HandshakeObservation(version: .tls12, suite: suite, keyPossession: .proven)
        #expect((ATSClient.missing(handshake) == nil) == !passes)
    }

    // MARK: - Behind a certificate that only the app's code accepts

    private static func selfSigned(_ server: ModelServer = ModelServer()) -> ModelServer {
        var server = server
        let names = [ModelServer.host, "other.example"]
        let leaf = ModelServer.certificate("CN=own", issuer: "CN=own", names: names)
        server.chain = ChainFacts(presented: [leaf], path: .unanchored([leaf]))
        return server
    }

    @Test("An exception and a delegate are proposed for the whole way of the load, or not at all")
    func theWayBehindACertificate() async throws {
        let places = ["https://api.example.com:443/", "https://other.example/"].compactMap { try? LoadURL($0) }
        let first = Array(places.prefix(1))
        let loop = LoadTrace(
            places: first, end: .refused(URLLoadError(-1007), [Cause(.httpRedirectLoop, "Round and round.")]))
        let looped = try await TargetDiagnosis.of(Self.selfSigned(), load: loop)
        #expect(looped.proposal == nil && looped.causeBehindCertificate?.code == .httpRedirectLoop)
        let text = CheckText(colored: false, verbose: false).render(looped)
        #expect(text.contains("no exception helps: if the app's own code accepts") && text.contains("Round and round."))

        let old = Self.selfSigned(ModelServer(versions: [.tls11], suites: [.ecdheRSAWithAES128CBCSHA]))
        let redirected = LoadTrace(places: places, end: .loaded)
        let led = try await TargetDiagnosis.of(old, sdk: 18, load: redirected)
        let keys = try #require(led.proposal.flatMap { $0.kind == .withDelegate ? $0.keys : nil })
        for host in ["api.example.com", "other.example"] {
            for key in ["NSExceptionMinimumTLSVersion = TLSv1.1", "NSExceptionAllowsInsecureHTTPLoads = YES"] {
                #expect(keys.contains("NSExceptionDomains.\(host).\(key)"), "\(keys)")
            }
        }
        #expect(try await TargetDiagnosis.of(old, load: redirected).proposal == nil)

        let silent = LoadTrace(places: first, end: .noAnswer(nil, [Cause(.httpNoAnswer, "Not a word.")]))
        let unknown = try await TargetDiagnosis.of(Self.selfSigned(), load: silent)
        let words = CheckText(colored: false, verbose: false).render(unknown)
        #expect(words.contains("delegate") && words.contains("not known: Not a word."), "\(words)")

        // Where the policy blocks before the certificate is looked at, the delegate has its reason beside it.
        let blocked = await TargetDiagnosis(
            profile: try #require(OSProfile.named("ios9")), probing: Self.selfSigned(), instant: ModelServer.instant
        ).diagnose(try CheckTarget("nas.local"))
        #expect(blocked.decisive?.because.map(\.code) == ["ats.local.blocked"])
        let reason = CheckText(colored: false, verbose: false).render(blocked)
        #expect(reason.contains("the load fails all the same (ats.trust.self-signed: "), "\(reason)")
    }

    @Test("A server whose certificate is not trusted is not sent the query")
    func theQueryIsForWhoIsTrusted() async throws {
        let target = "https://\(ModelServer.host):443/path?token=secret"
        for (server, asked) in [(Self.selfSigned(), "https://\(ModelServer.host):443/path"), (ModelServer(), target)] {
            let load = RecordedLoad()
            let diagnosis = TargetDiagnosis(
                profile: .standard, probing: server, loading: load, instant: ModelServer.instant)
            _ = await diagnosis.diagnose(try CheckTarget(target))
            #expect(load.urls.withLock { $0 } == [asked])
        }
    }

    @Test("Beside a delegate the edit of the app's own dictionary is shown, and it is the one that was judged")
    func theEditBesideADelegate() async throws {
        let own = ExceptionEntry(minimumTLSVersion: .tls13, hardening: HardeningLevel.none)
        let app = ExceptionLadder.dictionary([
            ModelServer.host: own, "cdn.example": ExceptionEntry(requiresForwardSecrecy: false),
        ])
        let server = Self.selfSigned(ModelServer(versions: [.tls12]))
        let report = try await TargetDiagnosis.of(server, app: app)
        let proposal = try #require(report.proposal)
        let prefix = "NSExceptionDomains.api.example.com."
        #expect(
            proposal.keys
                == "\(prefix)NSExceptionAllowsInsecureHTTPLoads = YES, \(prefix)NSExceptionMinimumTLSVersion = TLSv1.2")
        #expect(CheckText(colored: false, verbose: false).render(report).contains("and your delegate"))
        #expect(report.exceptionWithDelegate?.exceptions["cdn.example"] == app.exceptions["cdn.example"])
        let edited = try await TargetDiagnosis.of(server, app: proposal.after)
        #expect(edited.decisive?.because.contains { $0.code == .trustNeedsDelegate } == true)
        #expect(edited.proposal?.keys.isEmpty == true)
        // The way behind the certificate is seen with another SDK too.
        let loop = LoadTrace(
            places: [try LoadURL("https://api.example.com:443/")],
            end: .refused(nil, [Cause(.httpRedirectLoop, "No end.")]))
        let old = try await TargetDiagnosis.of(server, app: app, appSDK: 18, load: loop)
        #expect(old.proposal == nil && old.causeBehindCertificate?.code == .httpRedirectLoop)
    }

    @Test("No other dictionary is proposed in place of the app's own: its pins would be gone")
    func pinsStay() async throws {
        let app = try ATSDictionary(
            PropertyListValue(
                json: Array(
                    #"{"NSPinnedDomains":{"api.example.com":{"NSPinnedLeafIdentities":[{"SPKI-SHA256-BASE64":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}]}}}"#
                        .utf8)))
        let server = ModelServer(versions: [.tls11], suites: [.ecdheRSAWithAES128CBCSHA])
        for sdk in [18, 26] { #expect(try await TargetDiagnosis.of(server, app: app, appSDK: sdk).proposal == nil) }
    }

    /// The search against brute force: no dictionary of the space with fewer keys loads what the found one loads.
    @Test(arguments: [18, 26]) func theSmallestExceptionHasNoSmallerOne(_ sdk: Int) async throws {
        let profile = OSProfile.standard.linked(on: try #require(LinkedSDK(number: sdk)))
        for version in [TLSVersion.tls10, .tls11, .tls12, .tls13] {
            for suite in CipherSuiteSamples.all {
                let server = ModelServer(versions: [version], suites: [suite])
                let target = try CheckTarget(ModelServer.host)
                let diagnosis = TargetDiagnosis(profile: profile, probing: server, instant: ModelServer.instant)
                let judge = await diagnosis.evidence(of: target)
                let found = judge.smallestException()
                let passing = ExceptionLadder.entries.map { ExceptionLadder.dictionary([ModelServer.host: $0]) }
                    .filter { judge.judge(dictionary: $0).result == .pass }
                guard let dictionary = found.dictionary else {
                    #expect(passing.isEmpty)
                    continue
                }
                #expect(judge.judge(dictionary: dictionary).result == .pass)
                let keys = Set(dictionary.settings)
                for other in passing where Set(other.settings).isSubset(of: keys) {
                    #expect(Set(other.settings) == keys, "\(other) is smaller than \(dictionary)")
                }
            }
        }
    }
}

enum CipherSuiteSamples {
    static let all: [CipherSuite] = [
        .ecdheRSAWithAES128GCMSHA256, .ecdheRSAWithAES128CBCSHA, .ecdheRSAWithAES256CBCSHA384, .rsaWithAES128GCMSHA256,
        .rsaWithAES128CBCSHA, .rsaWithAES128CBCSHA256, .rsaWith3DESCBCSHA, .dheRSAWithAES128GCMSHA256,
    ]
}
