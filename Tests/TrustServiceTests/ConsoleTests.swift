// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import DeviceSimulator
import Formats
import Foundation
import Logging
import NIOConcurrencyHelpers
import TestSupport
import Testing
import TrustStores
import Vocabulary

@testable import HTTPService
@testable import TrustService

/// The console as a browser without scripts sees it.
@Suite(.serialized) struct ConsoleTests {
    private static func token(_ name: String) -> String { "token-of-\(name)-0123456789012345678901234567890123456789" }

    private static func configuration(expires: Date? = nil) -> Configuration {
        var configuration = AuthorizationTests.configuration()
        configuration.internalListen = ListenAddress(host: "127.0.0.1", port: 0)
        configuration.namedCredentials = [
            ("ci", ["server"]), ("ops", ["admin:shop"]), ("auditor", ["audit"]), ("root", ["admin"]),
            ("reader", ["read"]), ("fraud", ["read", "revoke:shop"]), ("program", ["revoke"]),
        ].compactMap { name, scopes in
            NamedCredential(
                name: name, digest: Array(SHA256.hash(data: Data(token(name).utf8))), scopes: scopes,
                expires: name == "root" ? expires : nil)
        }
        return configuration
    }

    private static func with(
        _ configuration: Configuration = configuration(), store: any TrustStore = Store.inMemory(),
        clock: TestClock = TestClock(), interfaces: (ServiceParts) -> [any Handler] = { _ in [] },
        _ body: (RunningService) async throws -> Void
    ) async throws {
        try await RunningService.with(configuration, store: store, clock: clock, interfaces: interfaces) { service in
            try await body(service)
        }
    }

    private func path(_ keyId: String) -> String {
        "/console/keys/" + Base64.encodeURL(Base64.decode(keyId) ?? [])
    }

    @Test func whoSignsInSeesWhatHappensAndSignsOut() async throws {
        try await Self.with { service in
            let (phone, keyId) = try await Phone.attested(service, user: "anna")
            _ = try await phone.assert(try await phone.assertion(keyId))
            _ = try await phone.assert(try await phone.assertion(keyId, fault: .corruptedSignature))
            let browser = try ConsoleBrowser(service.internalBase)
            #expect(try browser.get("/console").fields("location") == ["/console/"])
            #expect(try browser.get("/console/").fields("location") == ["/console/sign-in"])
            let signedIn = try browser.signIn(RunningService.adminToken)
            #expect(signedIn.status == 303 && signedIn.fields("location") == ["/console/"])
            let page = try browser.get("/console/?app=shop")
            #expect(page.status == 200)
            for text in ["<h1>shop", "Attestations", "1 simulated", "No ramp is configured", ">ready<"] {
                #expect(page.body.contains(text), "\(text)")
            }
            #expect(page.body.contains("Last 24 hours, all nodes") && page.body.contains("<td>1<svg class=\"bar\""))
            // To sign in is nothing to be alarmed about.
            #expect(page.body.contains("No alerts.") && !page.body.contains("signins"))
            // The refusal is there by its code.
            #expect(page.body.contains("<code>assert.signature.invalid</code> <span"), "\(page.body)")
            let old = browser.cookies.withLockedValue { $0 }
            let out = try browser.post("/console/sign-out", [("csrf", page.formToken ?? "")])
            #expect(out.fields("location") == ["/console/sign-in"])
            // Not only the browser forgets it.
            browser.cookies.withLockedValue { $0 = old }
            #expect(try browser.get("/console/").status == 303)
        }
    }

    /// Gateways that only watch: the share of each class, by route, to those who may see it.
    @Test func whatEnforcementWouldFindIsShown() async throws {
        var configuration = Self.configuration()
        configuration.observe.routes = ["checkout", "search"]
        try await Self.with(configuration) { service in
            let browser = try ConsoleBrowser(service, as: RunningService.adminToken)
            #expect(try !browser.get("/console/?app=shop").body.contains("What enforcement would find"))
            for token in [nil, nil, nil, "a.b.c"] {
                #expect(try await service.get("/v1/authorize?mode=observe&route=checkout", token: token).status == 204)
            }
            let page = try browser.get("/console/?app=shop").body
            #expect(page.contains("What enforcement would find") && page.contains("<code>checkout</code>"))
            #expect(page.contains("75.0 % <span class=\"dim\">3</span>"), "\(page)")
            #expect(page.contains("25.0 % <span class=\"dim\">1</span>") && !page.contains("<code>search</code>"))
            // Who sees one app only does not see what callers without an app do.
            let one = try ConsoleBrowser(service, as: Self.token("ops"))
            #expect(try !one.get("/console/?app=shop").body.contains("<code>checkout</code>"))
        }
    }

    @Test func everyPageSaysWhatABrowserMayDo() async throws {
        try await Self.with { service in
            let browser = try ConsoleBrowser(service.internalBase)
            let form = try browser.get("/console/sign-in")
            for page in [form, try browser.get("/console/console.css"), try browser.get("/console/keys/x")] {
                let policy = page.fields("content-security-policy").first ?? ""
                #expect(policy.hasPrefix("default-src 'none'; ") && !policy.contains("unsafe"), "\(page.head)")
                #expect(policy.contains("frame-ancestors 'none'") && page.fields("x-frame-options") == ["DENY"])
                #expect(
                    page.fields("cache-control") == ["no-store"] && page.fields("x-content-type-options") == ["nosniff"]
                )
            }
            #expect(!form.body.contains("style=") && !form.body.contains("onclick") && !form.body.contains("<script>"))
            let plain = try browser.signIn(RunningService.adminToken).fields("set-cookie").first ?? ""
            #expect(
                plain.hasPrefix("sealward_console=") && plain.contains("; Path=/console; HttpOnly; SameSite=Strict"))
            #expect(!plain.contains("Secure") && form.body.contains("came without TLS"))
            let secure = try ConsoleBrowser(service.internalBase, headers: ["X-Forwarded-Proto: https"])
            #expect(try !secure.get("/console/sign-in").body.contains("came without TLS"))
            let cookies = try secure.signIn(RunningService.adminToken).fields("set-cookie")
            #expect(
                cookies.count == 2
                    && cookies.allSatisfy {
                        $0.hasPrefix("__Host-sealward_console") && $0.contains("; Path=/; ") && $0.hasSuffix("; Secure")
                    }, "\(cookies)")
            #expect(try secure.get("/console/").status == 200)
            // What was set without TLS opens nothing behind it.
            let old = secure.cookies.withLockedValue { $0["__Host-sealward_console"] } ?? ""
            secure.cookies.withLockedValue { $0 = ["sealward_console": old] }
            #expect(try secure.get("/console/").status == 303)
        }
    }

    @Test func aWrongTokenOpensNothingAndTriesAreLimited() async throws {
        try await Self.with { service in
            let browser = try ConsoleBrowser(service.internalBase)
            let wrong = try browser.signIn("no such token")
            #expect(
                wrong.status == 403 && wrong.body.contains("is unknown or has expired")
                    && !wrong.body.contains("no such token"))
            let server = try browser.signIn(Self.token("ci"))
            #expect(server.status == 403 && server.body.contains("none of the scopes read, admin and audit"))
            #expect(browser.cookies.withLockedValue { $0["sealward_console"] } == nil)
            var answers: [Int] = []
            for _ in 0..<9 { answers.append(try browser.signIn("guess").status) }
            #expect(answers.prefix(8).allSatisfy { $0 == 403 } && answers.last == 429, "\(answers)")
            #expect(try !browser.signIn("guess").fields("retry-after").isEmpty)
            // Nobody is kept out by the failures of others at the same address, or by what other sites' pages send from the own browser.
            let form = try browser.get("/console/sign-in").formToken ?? ""
            for _ in 0..<12 {
                let fields = [("csrf", form), ("token", "guess")]
                let page = try browser.post("/console/sign-in", fields, from: ["Sec-Fetch-Site: cross-site"])
                #expect(page.status == 403)
            }
            #expect(try browser.signIn(RunningService.adminToken).status == 303)
            // One wrong token is limited wherever it comes from; another one from elsewhere is not.
            let statuses = try (2...5).map {
                try ConsoleBrowser(service.internalBase, source: $0).signIn("guess").status
            }
            #expect(statuses == [403, 403, 429, 429], "\(statuses)")
            #expect(try ConsoleBrowser(service.internalBase, source: 9).signIn("another").status == 403)
        }
    }

    @Test func aFormComesFromAPageOfItsSession() async throws {
        try await Self.with { service in
            let keyId = try await Phone(service).attested()
            let revoke = path(keyId) + "/revoke"
            let browser = try ConsoleBrowser(service, as: RunningService.adminToken)
            let good = try browser.get(revoke).formToken ?? ""
            let other = try ConsoleBrowser(service, as: RunningService.adminToken)
            let foreign = try other.get(revoke).formToken ?? ""
            #expect(good.utf8.count == 43 && good != foreign)
            let here = "http://127.0.0.1:\(browser.port)"
            let refused: [(String, [String])] = [
                ("", ["Sec-Fetch-Site: same-origin"]), (foreign, ["Sec-Fetch-Site: same-origin"]),
                (String(good.dropLast()) + "!", ["Sec-Fetch-Site: same-origin"]),
                (good, ["Sec-Fetch-Site: cross-site"]), (good, ["Sec-Fetch-Site: same-site", "Origin: \(here)"]),
                (good, ["Sec-Fetch-Site: none"]), (good, ["Origin: https://evil.example"]), (good, ["Origin: null"]),
                (good, ["Origin: \(here).evil.example"]), (good, []),
            ]
            for (token, headers) in refused {
                let page = try browser.post(revoke, [("csrf", token)], from: headers)
                #expect(
                    page.status == 403 && page.body.contains("request.other-origin"),
                    "\(token) \(headers) \(page.status)")
            }
            let json = try browser.send(
                "POST", revoke, ["Sec-Fetch-Site: same-origin", "Content-Type: application/json"])
            #expect(json.status == 415)
            #expect(try await service.store.key(#require(.init(strictBase64: keyId)))?.revokedAt == nil)
            let done = try browser.post(revoke, [("csrf", good), ("code", "stolen")], from: ["Origin: \(here)"])
            #expect(done.status == 303)
            // The form to sign in is as strict.
            let fresh = try ConsoleBrowser(service.internalBase)
            let form = try fresh.get("/console/sign-in").formToken ?? ""
            let fields = [("csrf", form), ("token", RunningService.adminToken)]
            #expect(try fresh.post("/console/sign-in", fields, from: ["Origin: https://evil.example"]).status == 403)
            #expect(try fresh.post("/console/sign-in", [("token", RunningService.adminToken)]).status == 403)
        }
    }

    /// Cookies know no ports, and any program of the host can set one.
    @Test func ofTwoCookiesTheOneOfASessionCounts() async throws {
        try await Self.with { service in
            let browser = try ConsoleBrowser(service.internalBase)
            let form = try browser.get("/console/sign-in").formToken ?? ""
            let strange = Base64.encodeURL([UInt8](repeating: 7, count: 32))
            let planted = ["Cookie: sealward_console=\(strange)", "Cookie: sealward_console_signin=\(strange)"]
            let signedIn = try browser.post(
                "/console/sign-in", [("csrf", form), ("token", RunningService.adminToken)],
                from: ["Sec-Fetch-Site: same-origin"] + planted)
            #expect(signedIn.status == 303 && signedIn.fields("location") == ["/console/"])
            for extra in [planted, ["Cookie: sealward_console=x"], Array(repeating: planted[0], count: 20)] {
                let page = try browser.send("GET", "/console/", extra)
                #expect(page.status == 200, "\(extra)")
            }
            let keyId = try await Phone(service).attested()
            let page = try browser.send("GET", path(keyId) + "/revoke", planted)
            let done = try browser.post(
                path(keyId) + "/revoke", [("csrf", page.formToken ?? ""), ("code", "stolen")],
                from: ["Sec-Fetch-Site: same-origin"] + planted)
            #expect(done.status == 303)
        }
    }

    /// A page whose name leads here, and pages of other sites, get nothing from the console; routes with tokens know no such rule.
    @Test func otherHostsAndOtherSitesGetNothing() async throws {
        var configuration = Self.configuration()
        configuration.hosts = ["console.example.com"]
        try await Self.with(configuration) { service in
            let browser = try ConsoleBrowser(service.internalBase)
            func get(_ path: String, _ headers: [String]) throws -> ConsoleBrowser.Page {
                let client = try LoopbackClient(port: browser.port, limit: 10)
                client.send(
                    (["GET \(path) HTTP/1.1", "Connection: close"] + headers).joined(separator: "\r\n") + "\r\n\r\n")
                let text = client.readAll()
                return .init(
                    status: Int(text.split(separator: " ").dropFirst().first ?? "") ?? 0, head: text, body: text)
            }
            let here = "Host: 127.0.0.1:\(browser.port)"
            for path in ["/console/sign-in", "/console/console.css"] {
                let other = try get(path, ["Host: evil.example", "Sec-Fetch-Site: same-origin"])
                #expect(other.status == 421 && other.body.contains("request.other-host"))
                // The host of a target in absolute form is the one that counts.
                #expect(try get("http://evil.example\(path)", [here]).status == 421)
                #expect(try get("http://localhost\(path)", ["Host: evil.example"]).status == 200)
                for header in [
                    "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: http://evil.example",
                ] {
                    let page = try get(path, [here, header])
                    #expect(page.status == 403 && page.body.contains("request.other-origin"), "\(header)")
                }
                #expect(try get(path, ["Host: console.example.com"]).status == 200)
                #expect(try get(path, ["Host: localhost:\(browser.port)"]).status == 200)
            }
            let token = "Authorization: Bearer \(RunningService.adminToken)"
            // The metrics ask for one then.
            for headers in [["Host: evil.example"], [here, "Sec-Fetch-Site: cross-site"]] {
                #expect(try get("/metrics", headers).status == 401)
                #expect(try get("/metrics", headers + [token]).status == 200)
            }
            #expect(try get("http://evil.example/metrics", [here]).status == 401)
            for host in [here, "Host: console.example.com"] { #expect(try get("/metrics", [host]).status == 200) }
            #expect(try get("/v1/keys?user=a", ["Host: evil.example", token]).status == 200)
            #expect(try get("/readyz", ["Host: evil.example", "Origin: http://evil.example"]).status == 200)
        }
    }

    @Test func namesFromOutsideAreText() async throws {
        let names = [
            "<img src=x onerror=alert(1)>", "\"><script>alert(1)</script>", "'; </td></table>&amp;", "\u{202E}nnA",
        ]
        try await Self.with { service in
            let phone = await Phone(service)
            var ids: [String] = []
            for name in names { ids.append(try await phone.attested(user: name)) }
            let browser = try ConsoleBrowser(service, as: RunningService.adminToken)
            var pages = [try browser.get("/console/keys")]
            for id in ids { pages.append(try browser.get(path(id))) }
            for name in names { pages.append(try browser.get("/console/keys?user=\(name.utf8.percentEncoded())")) }
            pages.append(try browser.get("/console/keys?key=\(names[1].utf8.percentEncoded())"))
            for page in pages {
                #expect(page.status == 200)
                #expect(
                    !page.body.contains("<img") && !page.body.contains("<script") && !page.body.contains("\u{202E}"))
            }
            #expect(pages[0].body.contains("&lt;img src=x onerror=alert(1)&gt;"))
            // What is looked for is found, and shown as it was written.
            #expect(pages[ids.count + 2].body.contains(Base64.encodeURL(Base64.decode(ids[1]) ?? [])))
        }
    }

    @Test func thePublicListenerHasNone() async throws {
        try await Self.with { service in
            for base in [service.base] {
                let browser = try ConsoleBrowser(base)
                for path in ["/console", "/console/", "/console/sign-in", "/console/keys", "/console/console.css"] {
                    for method in ["GET", "HEAD", "POST", "PUT"] {
                        #expect(try browser.send(method, path).status == 404, "\(method) \(path)")
                    }
                }
            }
        }
        try await RunningService.with { (service) async throws in
            #expect(try ConsoleBrowser(service.base).get("/console/").status == 404)
        }
    }

    @Test func aSessionEndsWithTimeAndWithItsCredential() async throws {
        let clock = TestClock()
        let parts = NIOLockedValueBox<ServiceParts?>(nil)
        var configuration = Self.configuration(expires: clock.now.addingTimeInterval(3600))
        try await Self.with(
            configuration,
            clock: clock,
            interfaces: {
                (made: ServiceParts) -> [any Handler] in
                parts.withLockedValue { $0 = made }
                return []
            }
        ) { service in
            func signedIn(_ name: String) throws -> ConsoleBrowser {
                let browser = try ConsoleBrowser(service, as: Self.token(name))
                #expect(try browser.get("/console/audit").status == 200)
                return browser
            }
            let (idle, root) = (try signedIn("ops"), try signedIn("root"))
            clock.advance(1700)
            #expect(try root.get("/console/").status == 200)
            clock.advance(200)
            #expect(try idle.get("/console/").status == 303)
            #expect(try root.get("/console/").status == 200)
            clock.advance(1700)
            // The credential has expired, the session has not.
            #expect(try root.get("/console/").status == 303)
            let ops = try signedIn("ops")
            configuration.namedCredentials = []
            let other = configuration
            let reloaded = await parts.withLockedValue { $0 }?.reload { .configuration(other) }
            #expect(reloaded == true)
            #expect(try ops.get("/console/").status == 303)
            let late = try ConsoleBrowser(service, as: RunningService.adminToken)
            for _ in 0..<16 {
                clock.advance(1750)
                _ = try late.get("/console/audit")
            }
            clock.advance(900)
            // Eight hours are over, though it was used all the time.
            #expect(try late.get("/console/audit").status == 303)
        }
    }

    @Test func scopesCountAsTheyDoOnTheRoutes() async throws {
        try await Self.with { service in
            let keyId = try await Phone(service).attested(user: "anna")
            _ = try await AuthorizationTests.token(service, "bank", .init("TEAM123456.com.example.bank"))
            let bank = try await service.store.keys(matching: KeyFilter(app: "bank"), after: nil, limit: 1).keys
            let bankKey = try #require(bank.first).id.base64
            let ops = try ConsoleBrowser(service, as: Self.token("ops"))
            let page = try ops.get("/console/")
            #expect(page.body.contains("<h1>shop") && !page.body.contains("bank"))
            #expect(try ops.get("/console/?app=bank").status == 404)
            #expect(try ops.get(path(keyId)).status == 200)
            #expect(try ops.get(path(bankKey)).status == 404)
            #expect(try ops.get("/console/keys?app=bank").status == 401)
            let keys = try ops.get("/console/keys")
            #expect(keys.body.contains(keyId) && !keys.body.contains(bankKey))
            let form = try ops.get(path(keyId) + "/delete").formToken ?? ""
            #expect(try ops.post(path(bankKey) + "/delete", [("csrf", form)]).status == 404)
            #expect(try await service.store.key(#require(.init(strictBase64: bankKey))) != nil)

            let auditor = try ConsoleBrowser(service, as: Self.token("auditor"))
            #expect(try auditor.get("/console/").fields("location") == ["/console/audit"])
            #expect(try auditor.get("/console/keys").status == 401)
            #expect(try auditor.get(path(keyId)).status == 401)
            let audit = try auditor.get("/console/audit")
            #expect(audit.status == 200 && !audit.body.contains("href=\"/console/keys\""))
            #expect(audit.body.contains("showKey") && audit.body.contains("ops"))
            let entries = try await service.store.audit(after: nil, limit: 100).map(\.entry)
            #expect(entries.contains { $0.outcome == "refused:app.unknown" && $0.target == "app=bank" })
        }
    }

    /// Whoever signs in sees what the scopes permit, and nothing that would be refused.
    @Test func aVisitorSeesWhatTheScopesPermit() async throws {
        try await Self.with { service in
            let keyId = try await Phone(service).attested(user: "anna")
            let (revoke, delete) = (path(keyId) + "/revoke", path(keyId) + "/delete")
            let reader = try ConsoleBrowser(service, as: Self.token("reader"))
            #expect(try reader.get("/console/").body.contains("reader (read)"))
            let page = try reader.get(path(keyId))
            #expect(page.status == 200 && !page.body.contains(revoke) && !page.body.contains(delete))
            #expect(!page.body.contains("href=\"/console/audit\""))
            #expect(try reader.get(revoke).status == 401 && reader.get("/console/audit").status == 401)
            #expect(try reader.post(revoke, [("csrf", page.formToken ?? "")]).status == 401)
            let fraud = try ConsoleBrowser(service, as: Self.token("fraud"))
            let shown = try fraud.get(path(keyId))
            #expect(shown.body.contains("fraud (read, revoke)"))
            #expect(shown.body.contains(revoke) && !shown.body.contains(delete))
            #expect(try fraud.get(delete).status == 401)
            #expect(try fraud.post(revoke, [("csrf", fraud.get(revoke).formToken ?? "")]).status == 303)
            let program = try ConsoleBrowser(service.internalBase)
            #expect(try program.signIn(Self.token("program")).status == 403)
            // What was refused is in the audit as it is for the routes.
            let refused = try await service.store.audit(after: nil, limit: 100).map(\.entry)
                .filter { $0.outcome == "refused:caller.unauthorized" && $0.session != nil }
            #expect(
                Set(refused.map { "\($0.name) \($0.operation)" })
                    == ["reader revokeKey", "reader readAudit", "fraud deleteKey"])
        }
    }

    @Test func keysAreRevokedAndDeletedUnderTheNameOfWhoDidIt() async throws {
        try await Self.with { service in
            let (phone, keyId) = try await Phone.attested(service, user: "anna")
            let browser = try ConsoleBrowser(service, as: Self.token("ops"))
            let ask = try browser.get(path(keyId) + "/revoke")
            #expect(ask.body.contains("Revoke this key?"))
            let done = try browser.post(path(keyId) + "/revoke", [("csrf", ask.formToken ?? ""), ("code", "")])
            let shown = try browser.get(done.fields("location").first ?? "")
            #expect(shown.body.contains("The key is revoked.") && shown.body.contains(">revoked<"))
            #expect(try await phone.assert(try await phone.assertion(keyId)).verdict == "403 key.revoked")
            let token = try browser.get(path(keyId) + "/delete").formToken ?? ""
            let deleted = try browser.post(path(keyId) + "/delete", [("csrf", token)])
            #expect(deleted.status == 200 && deleted.body.contains("is gone"))
            #expect(try browser.get(path(keyId)).status == 404)
            let entries = try await service.store.audit(after: nil, limit: 100).map {
                "\($0.entry.name) \($0.entry.operation) \($0.entry.target)"
            }
            for operation in ["revokeKey", "deleteKey"] {
                #expect(entries.contains("ops \(operation) app=shop key:\(keyId)"), "\(entries)")
            }
            #expect(entries.first == "ops consoleSignIn app=*")
            let lines = try await service.store.audit(after: nil, limit: 100).map(\.entry)
            let session = lines.first?.session
            #expect(session?.utf8.count == 16 && lines.allSatisfy { $0.session == session && $0.address != nil })
            let audit = try browser.get("/console/audit")
            #expect(audit.body.contains("deleteKey") && !audit.body.contains("anna"))
        }
    }

    /// Of the keys of an app those are found that an alert or a state is about, the newest first.
    @Test func keysAreFilteredByStateAndMetric() async throws {
        try await Self.with { service in
            let phone = await Phone(service)
            var ids: [String] = []
            for number in 0..<3 {
                ids.append(try await phone.attested(user: "user\(number)"))
                service.clock.advance(60)
            }
            let now = service.clock.now
            for lease in try await service.store.leaseDueReceipts(at: now + 400 * 86_400, limit: 9, for: .seconds(30)) {
                let metric = try #require(ids.firstIndex(of: lease.key.id.base64).map { [9, 2, 40][$0] })
                let receipt = ReceiptRecord(
                    bytes: [1], createdAt: lease.receipt.createdAt + 1, notBefore: nil, expiresAt: nil,
                    riskMetric: metric)
                _ = try await service.store.complete(lease, with: .receipt(receipt, next: now + 86_400), at: now)
            }
            let browser = try ConsoleBrowser(service, as: RunningService.adminToken)
            func found(_ query: String) throws -> [String] {
                let page = try browser.get("/console/keys?app=shop" + query)
                #expect(page.status == 200, "\(page.status)")
                return page.body.components(separatedBy: "<code>").dropFirst()
                    .map { String($0.prefix { $0 != "<" }) }.filter(ids.contains)
            }
            #expect(try found("") == ids.reversed())
            #expect(try found("&metric=9") == [ids[2], ids[0]] && found("&metric=41").isEmpty)
            // The overview leads to the keys of a class of the metric.
            #expect(try browser.get("/console/?app=shop").body.contains("/console/keys?app=shop&amp;metric=33\""))
            let revoke = path(ids[2]) + "/revoke"
            let form = try browser.get(revoke).formToken ?? ""
            let done = try browser.post(revoke, [("csrf", form), ("code", "broker"), ("reason", "case 17")])
            #expect(done.status == 303)
            #expect(try found("&state=revoked") == [ids[2]] && found("&state=revoked&metric=50").isEmpty)
            #expect(try found("&state=good") == [ids[1], ids[0]] && found("&state=untrusted").isEmpty)
            #expect(try browser.get("/console/keys?state=lost").status == 400)
            let entry = try await service.store.audit(after: nil, limit: 100).map(\.entry).last {
                $0.operation == "revokeKey"
            }
            #expect(entry?.reason == "case 17" && entry?.outcome == "ok")
            let long = [("csrf", form), ("reason", String(repeating: "x", count: AuditReason.limit + 1))]
            #expect(try browser.post(revoke, long).status == 400)
        }
    }

    @Test func aKeyIsRestoredWithinADay() async throws {
        try await Self.with { service in
            let (phone, keyId) = try await Phone.attested(service, user: "anna")
            let restore = path(keyId) + "/restore"
            let browser = try ConsoleBrowser(service, as: Self.token("fraud"))
            #expect(try !browser.get(path(keyId)).body.contains(restore))
            func revoke() throws {
                let form = try browser.get(path(keyId) + "/revoke").formToken ?? ""
                #expect(try browser.post(path(keyId) + "/revoke", [("csrf", form)]).status == 303)
            }
            try revoke()
            #expect(try browser.get(path(keyId)).body.contains(restore))
            let ask = try browser.get(restore)
            #expect(ask.body.contains("Restore this key?"))
            let done = try browser.post(restore, [("csrf", ask.formToken ?? "")])
            #expect(try browser.get(done.fields("location").first ?? "").body.contains("The key is restored."))
            #expect(try await phone.assert(try await phone.assertion(keyId)).status == 200)
            try revoke()
            service.clock.advance(86_400)
            try browser.signIn(Self.token("fraud"))
            #expect(try !browser.get(path(keyId)).body.contains(restore))
            let late = try browser.post(restore, [("csrf", browser.get(path(keyId)).formToken ?? "")])
            #expect(late.status == 303 || late.status == 403)
        }
    }

    @Test func sessionsAreListedAndEnded() async throws {
        try await Self.with { service in
            func signedIn(_ name: String, _ source: UInt32) throws -> ConsoleBrowser {
                let browser = try ConsoleBrowser(service, as: Self.token(name), source: source)
                return browser
            }
            let (root, reader) = (try signedIn("root", 1), try signedIn("reader", 7))
            let (ops, second) = (try signedIn("ops", 8), try signedIn("ops", 9))
            func names(_ page: ConsoleBrowser.Page) -> [String] {
                page.body.components(separatedBy: "action=\"/console/sessions/").dropFirst()
                    .map { String($0.prefix { $0 != "/" }) }
            }
            let all = try root.get("/console/sessions")
            for text in [
                "root", "reader", "ops", "127.0.0.7", "127.0.0.9", "this one", "<a href=\"/console/sessions\"",
            ] {
                #expect(all.body.contains(text), "\(text)")
            }
            #expect(names(all).count == 4)
            // Who does not administer everything sees the sessions of the own credential.
            let own = try ops.get("/console/sessions")
            #expect(names(own).count == 2 && !own.body.contains("127.0.0.7"))
            let foreign = try #require(names(try reader.get("/console/sessions")).first)
            for (session, status) in [(foreign, 401), ("0000000000000000", 303)] {
                let form = try ops.get("/console/sessions").formToken ?? ""
                #expect(try ops.post("/console/sessions/\(session)/end", [("csrf", form)]).status == status)
            }
            #expect(try reader.get("/console/keys").status == 200)
            #expect(try ops.post("/console/sessions/\(foreign)/end", [("csrf", "")]).status == 403)
            let other = try #require(names(try second.get("/console/sessions")).last)
            #expect(try second.post("/console/sessions/\(other)/end", [("csrf", own.formToken ?? "")]).status == 403)
            let form = try root.get("/console/sessions").formToken ?? ""
            #expect(try root.post("/console/sessions/\(foreign)/end", [("csrf", form)]).status == 303)
            #expect(try reader.get("/console/keys").fields("location") == ["/console/sign-in"])
            let entries = try await service.store.audit(after: nil, limit: 100).map(\.entry)
            let ends = entries.filter { $0.operation == "consoleEndSession" }
            #expect(ends.map(\.name) == ["ops", "root"])
            #expect(ends.map(\.outcome) == ["refused:caller.unauthorized", "ok"])
            #expect(ends.allSatisfy { $0.target == "app=* session:\(foreign)" && $0.session != nil })
        }
    }

    @Test func theAuditGoesBackFromTheNewest() async throws {
        let store = Store.inMemory()
        for number in 1...250 {
            try await store.append([
                AuditEntry(at: Date(), name: "n\(number).", operation: "o", target: "app=*", outcome: "ok")
            ])
        }
        try await Self.with(store: store) { service in
            let browser = try ConsoleBrowser(service, as: Self.token("auditor"))
            let newest = try browser.get("/console/audit")
            #expect(
                newest.body.contains(">n250.<") && newest.body.contains(">n160.<") && !newest.body.contains(">n100.<"))
            guard let link = newest.body.range(of: "/console/audit?before=") else { throw Failure("no link") }
            let before = newest.body[link.upperBound...].prefix { $0 != "\"" }
            let older = try browser.get("/console/audit?before=\(before)")
            #expect(older.body.contains(">n150.<") && !older.body.contains(">n160.<"))
            #expect(try browser.get("/console/audit?before=x").status == 400)
        }
    }

    @Test func aStoreThatDoesNotAnswerIsShown() async throws {
        let isDown = NIOLockedValueBox(false)
        let store = FaultyStore { _ in
            if isDown.withLockedValue({ $0 }) { throw StoreFault.unavailable("down") }
        }
        try await Self.with(store: store) { service in
            let browser = try ConsoleBrowser(service, as: RunningService.adminToken)
            isDown.withLockedValue { $0 = true }
            let page = try browser.get("/console/")
            #expect(page.status == 200 && page.body.contains("store.unavailable"))
            isDown.withLockedValue { $0 = false }
        }
    }
}

/// What the console keeps in memory, and how much of it.
@Suite struct ConsoleBoundsTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func secret(_ number: Int) -> ConsoleSecret {
        ConsoleSecret(random: (0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 % 4 * 8)) })
    }

    @Test func sessionsAreBoundedByCredentialAndInAll() {
        let registry = PrometheusRegistry()
        let sessions = ConsoleSessions(observer: RequestObserver(registry: registry, log: .init(label: "test")))
        for number in 0..<9 {
            sessions.open(
                credential: [1], from: "192.0.2.1", secret: secret(number), at: now.addingTimeInterval(Double(number)))
        }
        let later = now.addingTimeInterval(20)
        #expect(sessions.list(at: later).count == ConsoleSessions.perCredential)
        #expect(sessions.credential(of: secret(0), at: later) == nil)
        #expect(sessions.credential(of: secret(1), at: later) == [1])
        for number in 0..<200 {
            sessions.open(
                credential: [2, UInt8(number)], from: "192.0.2.1", secret: secret(1000 + number),
                at: later.addingTimeInterval(1))
        }
        #expect(sessions.list(at: later.addingTimeInterval(1)).count == ConsoleSessions.limit)
        #expect(registry.render().contains("sealward_console_sessions 64"))
        #expect(registry.render().contains("sealward_console_sessions_ended_total{reason=\"replaced\"} 145"))
        let idle = later.addingTimeInterval(ConsoleSessions.idle + 1)
        sessions.open(credential: [3], from: "192.0.2.1", secret: secret(5000), at: idle)
        #expect(sessions.list(at: idle).count == 1)
    }

    @Test func aClockThatWasPutBackEndsSessions() {
        let sessions = ConsoleSessions(
            observer: RequestObserver(registry: PrometheusRegistry(), log: .init(label: "test")))
        sessions.open(credential: [1], from: "192.0.2.1", secret: secret(1), at: now)
        #expect(sessions.credential(of: secret(1), at: now.addingTimeInterval(-30)) == [1])
        #expect(sessions.credential(of: secret(1), at: now.addingTimeInterval(-3600)) == nil)
    }

    @Test func risksAreShownInFewClasses() {
        let metrics = [(0, 1), (1, 4), (2, 2), (5, 3), (8, 1), (40, 7), (1 << 40, 1)].map {
            RiskStanding.Metric(environment: "production", metric: $0.0, keys: $0.1)
        }
        let classes = ConsoleRiskClass.of(metrics, threshold: 8)
        #expect(classes.map(\.name) == ["1", "2", "5–8", "33–64", "1048577 or more"])
        #expect(classes.map(\.keys) == [5, 2, 4, 7, 1])
        #expect(classes.map(\.isAbove) == [false, false, false, true, true])
    }
}
