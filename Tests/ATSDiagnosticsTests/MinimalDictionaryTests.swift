// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import PropertyLists
import TLSModel
import TestSupport
import Testing
import Vocabulary

@testable import ATSDiagnostics

@Suite struct MinimalDictionaryTests {
    /// - Parameter sdk: 18 by default, so that there is more than one exception about versions.
    private static func judges(
        _ servers: [(String, ModelServer)], app: ATSDictionary? = nil, sdk: Int = 18
    ) async throws -> DictionarySearch {
        let profile = OSProfile.standard.linked(on: try #require(LinkedSDK(number: sdk)))
        var judges: [(target: CheckTarget, judge: ConfigurationJudge)] = []
        for (host, server) in servers {
            let target = try CheckTarget(host)
            var server = server
            server.chain = ModelServer.chain(
                leaf: ModelServer.certificate("CN=\(host)", issuer: "CN=Root", names: [host]))
            let diagnosis = TargetDiagnosis(
                profile: profile, appDictionary: app, probing: server, instant: ModelServer.instant)
            judges.append((target, await diagnosis.evidence(of: target)))
        }
        return DictionarySearch(judges)
    }

    private static let good = ModelServer()
    private static let old = ModelServer(versions: [.tls10], suites: [.ecdheRSAWithAES128CBCSHA])
    private static let secret = ModelServer(versions: [.tls12], suites: [.rsaWithAES128GCMSHA256])
    private static let hopeless = ModelServer(versions: [.tls12], suites: [.dheRSAWithAES128GCMSHA256])

    @Test func goodServersNeedNothing() async throws {
        let result = try await Self.judges([("a.example", Self.good), ("b.example", Self.good)]).minimal()
        #expect(result.dictionary.isEmpty)
        #expect(result.needed.isEmpty && result.impossible.isEmpty && result.dead.isEmpty)
    }

    @Test func everyKeyHasATargetThatFailsWithoutIt() async throws {
        let search = try await Self.judges([
            ("a.example", Self.good), ("old.example", Self.old), ("rsa.example", Self.secret),
            ("no.example", Self.hopeless),
        ])
        let result = search.minimal()
        #expect(
            result.dictionary.propertyListValue
                == .dictionary([
                    "NSExceptionDomains": .dictionary([
                        "old.example": .dictionary(["NSExceptionMinimumTLSVersion": .string("TLSv1.0")]),
                        "rsa.example": .dictionary(["NSExceptionRequiresForwardSecrecy": .boolean(false)]),
                    ])
                ])
        )
        #expect(result.needed.map(\.without) == ["ats.tls.version-too-low", "ats.tls.no-forward-secrecy"])
        #expect(result.needed.map(\.target) == ["https://old.example:443/", "https://rsa.example:443/"])
        #expect(result.impossible.map(\.target) == ["https://no.example:443/"])
        #expect(result.impossible.first?.isUndetermined == false)
    }

    @Test func deadExceptionsAreFoundAndLiveOnesKept() async throws {
        let app = ATSDictionary(
            .dictionary([
                "NSAllowsArbitraryLoads": .boolean(true),
                "NSExceptionDomains": .dictionary([
                    "old.example": .dictionary([
                        "NSExceptionMinimumTLSVersion": .string("TLSv1.0"),
                        "NSExceptionAllowsInsecureHTTPLoads": .boolean(true),
                    ]),
                    "a.example": .dictionary(["NSExceptionRequiresForwardSecrecy": .boolean(false)]),
                    "gone.example": .dictionary(["NSExceptionAllowsInsecureHTTPLoads": .boolean(true)]),
                ]),
            ])
        )
        let result = try await Self.judges([("a.example", Self.good), ("old.example", Self.old)], app: app).minimal(
            app: app)
        let prefix = "NSAppTransportSecurity."
        #expect(
            Set(result.dead.map(\.keyPath)) == [
                prefix + "NSAllowsArbitraryLoads",
                prefix + "NSExceptionDomains.old.example.NSExceptionAllowsInsecureHTTPLoads",
                prefix + "NSExceptionDomains.a.example.NSExceptionRequiresForwardSecrecy",
                prefix + "NSExceptionDomains.gone.example.NSExceptionAllowsInsecureHTTPLoads",
            ]
        )
    }

    private static let silent = ModelServer(failure: .refused)

    @Test("Where nothing is known of a target, nothing is said to be needed or not, nor that it was not reached")
    func unreachedTargetsAreNotSaidToNeedNothing() async throws {
        let text = try await Self.judges([("a.example", Self.silent)]).minimal().text(os: "macos26")
        #expect(text.hasPrefix("Whether the target needs an exception on macos26 is unknown"), "\(text)")
        #expect(text.contains("unknown     https://a.example:443/") && !text.contains("No exception is needed"))
        let two = try await Self.judges([("a.example", Self.silent), ("b.example", Self.silent)]).minimal()
        #expect(two.text(os: "macos26").hasPrefix("Whether the targets need an exception on macos26 is unknown"))
        let mixed = try await Self.judges([("a.example", Self.silent), ("no.example", Self.hopeless)]).minimal()
        #expect(mixed.text(os: "macos26").hasPrefix("No exception helps on macos26 for the targets whose answer"))
        let reached = "for the targets whose answer is known"
        let some = try await Self.judges([("a.example", Self.silent), ("b.example", Self.good)]).minimal()
        #expect(some.text(os: "macos26").hasPrefix("No exception is needed on macos26 \(reached)"))
        let old = try await Self.judges([("a.example", Self.silent), ("old.example", Self.old)]).minimal()
        #expect(old.text(os: "macos26").hasPrefix("The smallest dictionary on macos26 \(reached):"))
        let hopeless = try await Self.judges([("no.example", Self.hopeless)]).minimal()
        #expect(hopeless.text(os: "macos26").hasPrefix("No exception helps on macos26."))
        let good = try await Self.judges([("a.example", Self.good)]).minimal()
        #expect(good.text(os: "macos26").hasPrefix("No exception is needed on macos26: the empty dictionary {}"))
    }

    @Test("A server is said to comply only of a key that decides about it")
    func theReasonOfADeadKeyIsItsOwn() async throws {
        let open = PropertyListValue.dictionary([
            "NSExceptionAllowsInsecureHTTPLoads": .boolean(true), "NSIncludesSubdomains": .boolean(true),
        ])
        let app = ATSDictionary(
            .dictionary([
                "NSAllowsLocalNetworking": .boolean(true),
                "NSExceptionDomains": .dictionary([
                    "a.example": open, "example": open, "A.example": open, "a.example:443": open, "c.example": open,
                ]),
            ])
        )
        let dead = try await Self.judges([("a.example", Self.good)], app: app).minimal(app: app).dead
        func why(_ path: String) -> String? { dead.first { $0.keyPath == "NSAppTransportSecurity." + path }?.why }
        let key = "NSExceptionAllowsInsecureHTTPLoads"
        #expect(why("NSExceptionDomains.a.example.\(key)")?.hasSuffix("its server complies today.") == true, "\(dead)")
        for other in ["NSAllowsLocalNetworking", "NSExceptionDomains.example.\(key)"] {
            #expect(why(other)?.hasPrefix("It decides about none of the targets") == true, "\(dead)")
        }
        #expect(why("NSExceptionDomains.A.example.\(key)")?.contains("letter by letter") == true, "\(dead)")
        #expect(why("NSExceptionDomains.a.example:443.\(key)")?.contains("no port") == true, "\(dead)")
        #expect(why("NSExceptionDomains.c.example.\(key)")?.contains("on this host") == true, "\(dead)")
    }

    @Test("What the smallest dictionary needs is not called dead where another key keeps it from having an effect")
    func neededKeysAreNotDead() async throws {
        var app = ATSDictionary()
        app.exceptions = ["rsa.example": ExceptionEntry(requiresForwardSecrecy: false)]
        app.pinnedDomains = [PinnedDomain(domain: "rsa.example", leaves: [])]
        let result = try await Self.judges([("rsa.example", Self.secret)], app: app).minimal(app: app)
        let key = "NSAppTransportSecurity.NSExceptionDomains.rsa.example.NSExceptionRequiresForwardSecrecy"
        #expect(result.needed.map(\.keyPath) == [key] && result.dead.isEmpty, "\(result.dead)")
    }

    @Test("A key is not called dead because its server could not be reached")
    func keysOfUnreachedTargetsAreNotDead() async throws {
        let app = ATSDictionary(
            .dictionary([
                "NSAllowsArbitraryLoads": .boolean(true),
                "NSExceptionDomains": .dictionary([
                    // Known after the build only.
                    "$(HOST)": .dictionary(["NSExceptionAllowsInsecureHTTPLoads": .boolean(true)]),
                    "down.example": .dictionary(["NSExceptionAllowsInsecureHTTPLoads": .boolean(true)]),
                    "gone.example": .dictionary(["NSExceptionAllowsInsecureHTTPLoads": .boolean(true)]),
                    "no.example": .dictionary(["NSExceptionAllowsInsecureHTTPLoads": .boolean(true)]),
                ]),
            ])
        )
        let search = try await Self.judges(
            [("api.down.example", Self.silent), ("down.example", Self.silent), ("no.example", Self.hopeless)], app: app)
        let dead = search.minimal(app: app).dead
        let prefix = "NSAppTransportSecurity.NSExceptionDomains."
        #expect(
            dead.map(\.keyPath).sorted() == [
                prefix + "gone.example.NSExceptionAllowsInsecureHTTPLoads",
                prefix + "no.example.NSExceptionAllowsInsecureHTTPLoads",
            ]
        )
        #expect(dead.first { $0.keyPath.contains("no.example") }?.why.contains("does not load") == true, "\(dead)")
        // Of targets that do not load nothing else is said.
        #expect(dead.first { $0.keyPath.contains("gone.example") }?.why.contains(" load") == false, "\(dead)")
    }

    /// Linked on 26 the exception for TLS 1.0 has no effect: it is never proposed, and dead where an app has it.
    @Test func anExceptionThatTheNetworkStackIgnoresIsNeverProposedAndDead() async throws {
        var app = ATSDictionary()
        app.exceptions = ["old.example": ExceptionEntry(minimumTLSVersion: .tls10)]
        let result = try await Self.judges([("old.example", Self.old)], app: app, sdk: 26).minimal(app: app)
        #expect(result.dictionary.isEmpty && result.needed.isEmpty)
        #expect(result.impossible.map(\.because) == ["ats.tls.version-too-low"])
        #expect(
            result.dead.map(\.keyPath) == [
                "NSAppTransportSecurity.NSExceptionDomains.old.example.NSExceptionMinimumTLSVersion"
            ]
        )
        #expect(result.dead.first?.why.contains("tlsMinimumSupportedProtocolVersion") == true)
    }

    /// Every dictionary over two hosts with every combination of keys: none with fewer keys lets all load.
    @Test func bruteForceFindsNothingSmaller() async throws {
        var generator = SplitMix(state: 7)
        let versions: [[TLSVersion]] = [[.tls10], [.tls11], [.tls12], [.tls13], [.tls10, .tls12]]
        for _ in 0..<40 {
            let servers = ["a.example", "b.example"].map { host in
                let version = versions.randomElement(using: &generator) ?? []
                let suite = CipherSuiteSamples.all.randomElement(using: &generator) ?? .rsaWithAES128CBCSHA
                return (host, ModelServer(versions: version, suites: [suite]))
            }
            let search = try await Self.judges(servers)
            let result = search.minimal()
            let possible = search.judges.filter { pair in
                !result.impossible.contains { $0.target == pair.target.url.text }
            }
            #expect(possible.allSatisfy { $0.judge.judge(dictionary: result.dictionary).result == .pass })
            let size = result.dictionary.settings.count
            for one in ExceptionLadder.entries {
                for other in ExceptionLadder.entries {
                    let smaller = ExceptionLadder.dictionary(["a.example": one, "b.example": other])
                    guard smaller.settings.count < size else { continue }
                    #expect(!possible.allSatisfy { $0.judge.judge(dictionary: smaller).result == .pass }, "\(servers)")
                }
            }
            for target in result.impossible {
                let judge = search.judges.first { $0.target.url.text == target.target }?.judge
                for entry in ExceptionLadder.entries {
                    let dictionary = ExceptionLadder.dictionary([judge?.target.host ?? "": entry])
                    #expect(judge?.judge(dictionary: dictionary).result != .pass)
                }
            }
        }
    }

    @Test("Many targets and keys take as many judgements, not their product")
    func theSearchIsLinear() async throws {
        let count = 120
        var servers: [(String, ModelServer)] = (0..<count).map { number in
            ("h\(number).example", [Self.old, Self.secret, Self.good][number % 3])
        }
        servers.append(("deep.sub.h0.example", Self.old))
        var app = ATSDictionary()
        app.arbitraryLoads = true
        for number in 0..<count {
            app.exceptions["h\(number).example"] = ExceptionEntry(
                includesSubdomains: true, allowsInsecureHTTPLoads: true, requiresForwardSecrecy: false)
            app.exceptions["unused\(number).example"] = ExceptionEntry(allowsInsecureHTTPLoads: true)
        }
        let result = try await Self.judges(servers, app: app).minimal(app: app)
        #expect(result.dictionary.exceptions.count == 81 && result.needed.count == 81)
        #expect(result.dead.count > count)
        #expect(result.judgements < 16 * count, "\(result.judgements)")
    }

    /// What the search is compared with: each key is tried with every target, under the whole dictionary.
    private static func plainly(
        _ search: DictionarySearch, _ result: MinimalDictionary, _ app: ATSDictionary
    ) -> (needed: [String], dead: [String]) {
        let impossible = Set(result.impossible.map(\.target) + result.withCode.map(\.target))
        let possible = search.judges.filter { !impossible.contains($0.target.url.text) }
        let needed = result.dictionary.settings.compactMap { setting -> String? in
            var without = result.dictionary
            without.remove(setting, keepsEntry: true)
            let failing = possible.first { $0.judge.judge(dictionary: without).result != .pass }
            return failing.map { "\(setting.keyPath) \($0.target.url.text)" }
        }
        func decisions(_ dictionary: ATSDictionary) -> [String] {
            search.judges.map { pair in
                let judgement = pair.judge.judge(dictionary: dictionary)
                return "\(judgement.result) \(judgement.error?.summary ?? "") \(judgement.because.map(\.code))"
            }
        }
        let before = decisions(app)
        var dictionary = app
        var dead: [String] = []
        for setting in app.settings where app.weakens(setting) {
            for gone in [setting] + (setting.entry.map { [$0] } ?? []) {
                var (alone, together) = (app, dictionary)
                alone.remove(gone, keepsEntry: true)
                together.remove(gone, keepsEntry: true)
                guard together != dictionary, decisions(alone) == before, decisions(together) == before else {
                    continue
                }
                dictionary = together
                dead.append(gone.keyPath)
                break
            }
        }
        return (needed, dead)
    }

    @Test("A key is tried with the targets that it can concern, with the result of trying it with all")
    func theSearchLeavesNoTargetOut() async throws {
        var generator = SplitMix(state: 11)
        let names = [
            "a.example", "b.example", "x.a.example", "y.x.a.example", "a.test", "10.1.2.3", "10.1.9.9", "fd00::1",
        ]
        let keys = names + ["example", "test", "10.1.0.0/16", "10.1.2.0/24", "0.0.0.0/0", "fd00::/8", "unused.test"]
        for _ in 0..<60 {
            let servers = names.shuffled(using: &generator).prefix(5).map { host in
                (
                    host.contains(":") ? "[\(host)]" : host,
                    [Self.good, Self.old, Self.secret].randomElement(using: &generator) ?? Self.good
                )
            }
            var app = ATSDictionary()
            app.arbitraryLoads = Bool.random(using: &generator) ? true : nil
            app.localNetworking = Int.random(in: 0..<4, using: &generator) == 0 ? true : nil
            for key in keys where Bool.random(using: &generator) {
                app.exceptions[key] = ExceptionEntry(
                    includesSubdomains: Bool.random(using: &generator),
                    allowsInsecureHTTPLoads: Bool.random(using: &generator),
                    minimumTLSVersion: Bool.random(using: &generator) ? .tls10 : nil,
                    requiresForwardSecrecy: Bool.random(using: &generator))
            }
            let search = try await Self.judges(servers, app: app)
            let result = search.minimal(app: app)
            let plain = Self.plainly(search, result, app)
            #expect(result.needed.map { "\($0.keyPath) \($0.target)" } == plain.needed)
            #expect(result.dead.map(\.keyPath) == plain.dead, "\(app.propertyListValue.oldStyleDescription)")
        }
    }

    @Test("A key whose removal changes a decision is not dead; its entry may be, and is named then")
    func whatIsNotDead() async throws {
        func dead(_ app: ATSDictionary, _ host: String) async throws -> [MinimalDictionary.DeadKey] {
            try await Self.judges([(host, Self.secret)], app: app).minimal(app: app).dead
        }
        // The local host needs no TLS of ATS by itself, and does with an empty entry.
        var local = ATSDictionary()
        local.exceptions["intranet"] = ExceptionEntry(requiresForwardSecrecy: false)
        let range = try await dead(local, "intranet")
        #expect(range.map(\.keyPath) == ["NSAppTransportSecurity.NSExceptionDomains.intranet"], "\(range)")
        #expect(range.first?.why.contains("whole entry") == true)
        // The newer switch cancels the older one, so that only the older one does nothing.
        var global = ATSDictionary.allowingEverything
        global.arbitraryLoadsInWebContent = true
        let cancelled = try await dead(global, "rsa.example").map(\.keyPath)
        #expect(cancelled == ["NSAppTransportSecurity.NSAllowsArbitraryLoads"])
        // The entry is needed as it is.
        var needed = ATSDictionary()
        needed.exceptions["rsa.example"] = ExceptionEntry(requiresForwardSecrecy: false)
        #expect(try await dead(needed, "rsa.example").isEmpty)
    }

    @Test("On iOS 9 an empty entry frees a local name, and what fails without each key is what a load says")
    func localNamesOfTheFirstSystems() async throws {
        let profile = try #require(OSProfile.named("ios9"))
        var server = Self.old
        server.chain = ModelServer.chain(
            leaf: ModelServer.certificate("CN=nas.local", issuer: "CN=Root", names: ["nas.local"]))
        func minimal(_ server: ModelServer) async throws -> MinimalDictionary {
            let target = try CheckTarget("nas.local")
            let diagnosis = TargetDiagnosis(profile: profile, probing: server, instant: ModelServer.instant)
            return DictionarySearch([(target, await diagnosis.evidence(of: target))]).minimal()
        }
        let old = try await minimal(server)
        #expect(old.needed.map(\.without) == ["ats.tls.version-too-low"], "\(old.needed)")
        server.versions = [.tls12]
        server.suites = [.ecdheRSAWithAES128GCMSHA256]
        let good = try await minimal(server)
        #expect(good.dictionary.exceptions == ["nas.local": ExceptionEntry()])
        #expect(good.needed.map(\.without) == ["ats.local.blocked"], "\(good.needed)")
    }

    @Test("A certificate that only code of the app can accept is no impossible target")
    func codeOfTheApp() async throws {
        var server = Self.good
        let leaf = ModelServer.certificate("CN=self.example", issuer: "CN=self.example", names: ["self.example"])
        server.chain = ChainFacts(presented: [leaf], path: .unanchored([leaf]))
        for (host, isPermitted) in [("self.example", false), ("127.0.0.1", true)] {
            let target = try CheckTarget(host)
            let diagnosis = TargetDiagnosis(profile: .standard, probing: server, instant: ModelServer.instant)
            let result = DictionarySearch([(target, await diagnosis.evidence(of: target))]).minimal()
            #expect(result.impossible.isEmpty && result.withCode.count == 1, "\(host) \(result.impossible)")
            let message = try #require(result.withCode.first?.message)
            #expect(message.contains("delegate") && message.contains("NSException") != isPermitted, "\(message)")
            let report = await diagnosis.diagnose(target)
            let text = CheckText(colored: false, verbose: false).render(report)
            #expect(text.contains("delegate") && !text.contains("no exception helps"), "\(text)")
        }
    }

    @Test func thePropertyListReadsBackAsTheDictionary() async throws {
        let result = try await Self.judges([("old.example", Self.old), ("rsa.example", Self.secret)]).minimal()
        let value = try PlistReader.read(Array(result.propertyList().utf8)).root.propertyListValue
        #expect(ATSDictionary(value.members?["NSAppTransportSecurity"]) == result.dictionary)
    }
}
