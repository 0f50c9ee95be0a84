// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import FoundationEssentials
import HTTPService
import HTTPTypes
import TrustStores
import TrustTokens
import Vocabulary

/// The console: pages for operators with a browser, at the internal listener.
///
/// It judges nothing by itself: ``OperatorService`` does, with the scopes of the visitor, and the audit has each use under their name.
struct ConsoleHandler: Handler {
    let parts: ServiceParts
    let operators: OperatorService
    let sessions: ConsoleSessions
    /// Failed sign-ins of one address, and with one token from anywhere: ten at once, then one in six seconds. A token that opens the console is
    /// never limited, so that nobody keeps operators out: not at their address, and not with a full table.
    private let failures = (
        byAddress: RequestLimits(perSecond: 1 / 6, burst: 10, tableLimit: 4096),
        byToken: RequestLimits(perSecond: 1 / 6, burst: 10, tableLimit: 4096)
    )

    init(_ parts: ServiceParts) {
        (self.parts, operators) = (parts, parts.operators)
        sessions = ConsoleSessions(observer: parts.observer)
        for outcome in ["accepted", "refused", "limited"] {
            parts.observer.count(.consoleSignIns, [("outcome", outcome)], by: 0)
        }
    }

    /// The routes of the console. Each one that shows or changes something is given its visitor, or answered with the page to sign in.
    var routes: [Route] {
        let deeds = KeyDeed.allCases.flatMap { deed -> [Route] in
            let path = "/console/keys/{keyId}/\(deed.rawValue)"
            return [
                page("console\(deed.word)Page", path) { try await confirm(deed, $0, $1) },
                form("console\(deed.word)", path, fields: deed == .revoke ? ["code", "reason"] : ["reason"]) {
                    try await act(deed, $0, $1, $2)
                },
            ]
        }
        return deeds + [
            route("console", "GET", "/console") { _ in ConsolePage.redirect(to: "/console/") },
            page("consoleOverview", "/console/", overview),
            route("consoleSignInPage", "GET", "/console/sign-in") { signInPage($0) },
            route("consoleSignIn", "POST", "/console/sign-in", signIn),
            form("consoleSignOut", "/console/sign-out", signOut),
            page("consoleKeys", "/console/keys", keyList),
            page("consoleKey", "/console/keys/{keyId}", keyPage),
            page("consoleAudit", "/console/audit", auditPage),
            page("consoleSessions", "/console/sessions", sessionPage),
            form("consoleEndSession", "/console/sessions/{session}/end") { call, visitor, _ in
                try await endSession(call, visitor)
            },
            route("consoleStyle", "GET", "/console/console.css") { _ in ConsoleHandler.style },
        ]
    }

    private func route(
        _ operation: String, _ method: String, _ template: String,
        _ handler: @escaping @Sendable (Call) async throws -> Answer
    ) -> Route {
        Route(operation, method, template, .console, errors: .console, handler)
    }

    /// A page for whoever is signed in.
    private func page(
        _ operation: String, _ template: String,
        _ handler: @escaping @Sendable (Call, ConsoleVisitor) async throws -> Answer
    ) -> Route {
        route(operation, "GET", template) { call in
            guard let visitor = visitor(call) else { return ConsolePage.redirect(to: "/console/sign-in") }
            return try await handler(call, visitor)
        }
    }

    /// What a form does for whoever is signed in: it must come from a page of this session.
    private func form(
        _ operation: String, _ template: String, fields: Set<UTF8Key> = [],
        _ handler: @escaping @Sendable (Call, ConsoleVisitor, StrictQuery) async throws -> Answer
    ) -> Route {
        route(operation, "POST", template) { call in
            guard let visitor = visitor(call) else { return ConsolePage.redirect(to: "/console/sign-in") }
            let values = try ConsoleHandler.form(call, fields, of: [visitor.secret])
            return try await handler(call, visitor, values)
        }
    }

    /// The fields of a form that a page of ours sent, with the token of one of the secrets.
    ///
    /// - Throws: ``Problem`` `request.other-origin` for one without such a token, `request.malformed`.
    private static func form(
        _ call: Call, _ fields: Set<UTF8Key>, of secrets: [ConsoleSecret]
    ) throws(Problem) -> StrictQuery {
        guard let text = String(validating: call.body, as: UTF8.self) else {
            throw Problem(.requestMalformed, evidence: "the form is not UTF-8")
        }
        let values = try StrictQuery(text, known: fields.union(["csrf"]), isForm: true)
        guard secrets.contains(where: { $0.made(formToken: values["csrf"]) }) else {
            throw Problem(.requestOtherOrigin, evidence: "the form does not have the token of its session")
        }
        return values
    }

    /// Who sent a request; nil if nobody is signed in, or the credential opens nothing any more.
    private func visitor(_ call: Call) -> ConsoleVisitor? {
        for secret in ConsoleCookie.session.secrets(in: call) {
            guard let digest = sessions.credential(of: secret, at: call.now) else { continue }
            let caller = parts.live.current.credentials.caller(digest: digest, at: call.now)
            if ConsoleHandler.opens(caller) {
                return ConsoleVisitor(caller: caller, secret: secret, record: parts.audit)
            }
            sessions.end(secret.name, because: .credential, at: call.now)
        }
        return nil
    }

    private func endSessions(of call: Call) {
        for secret in ConsoleCookie.session.secrets(in: call) {
            sessions.end(secret.name, because: .signedOut, at: call.now)
        }
    }

    private static func opens(_ caller: Authority) -> Bool { caller.has(.read) || caller.has(.audit) }

    // MARK: - Signing in and out

    private func signInPage(_ call: Call, failed: String? = nil, status: Int = 200) -> Answer {
        let secret =
            ConsoleCookie.signIn.secrets(in: call).first
            ?? ConsoleSecret(random: parts.sources.random(ConsoleSecret.length))
        let note: HTML = failed.map { "<p class=\"note bad\" role=\"alert\">\($0)</p>" } ?? ""
        let plain: HTML =
            call.isSecure
            ? ""
            : """
            <p class="dim">This page came without TLS, so the cookie of the session is neither <code>__Host-</code> nor <code>Secure</code>: \
            other programs that answer to this host name, on any port, can read and replace it. Set <code>internalTLS</code>, or have a proxy with TLS in front that sets \
            <code>X-Forwarded-Proto: https</code>.</p>

            """
        let page = ConsolePage(
            title: "Sign in",
            body: """
                <section class="narrow"><h1>Sealward console</h1>
                \(note)<form method="post" action="/console/sign-in"><input type="hidden" name="csrf" value="\(secret.formToken)">
                <label for="token">Operator token</label>
                <input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
                <p class="dim">A token with the scope <code>read</code>, <code>admin</code> or <code>audit</code>. What you do here is recorded under its name.</p>
                <button>Sign in</button></form>
                \(plain)</section>

                """
        )
        var answer = page.answer(status: status)
        answer.headers.append(ConsoleCookie.signIn.field(secret.cookie, seconds: 3600, for: call))
        return answer
    }

    @Sendable private func signIn(_ call: Call) async throws -> Answer {
        let secrets = ConsoleCookie.signIn.secrets(in: call)
        guard !secrets.isEmpty else {
            return signInPage(
                call, failed: "Please try again; the browser must accept cookies from this page.", status: 403)
        }
        let values = try ConsoleHandler.form(call, ["token"], of: secrets)
        let digest = Credentials.digest(of: values["token"] ?? "")
        let caller = parts.live.current.credentials.caller(digest: digest, at: call.now)
        guard ConsoleHandler.opens(caller) else {
            let now = parts.sources.uptime()
            if let wait = failures.byAddress.take(CallerAddress.bucket(of: call.address), at: now)
                ?? failures.byToken.take(Base64.encode(digest), at: now)
            {
                parts.observer.count(.consoleSignIns, [("outcome", "limited")])
                await parts.audit.record(call, by: caller, refusedWith: .limitAddress)
                throw Problem(.limitAddress, retryAfterSeconds: wait, evidence: "wrong tokens at the sign-in")
            }
            parts.observer.count(.consoleSignIns, [("outcome", "refused")])
            await parts.audit.record(call, by: caller, refusedWith: .callerUnauthorized)
            var answer = signInPage(
                call,
                failed: caller == .anyone
                    ? "This token is unknown or has expired."
                    : "This token has none of the scopes read, admin and audit.", status: 403)
            answer.code = .callerUnauthorized
            return answer
        }
        parts.observer.count(.consoleSignIns, [("outcome", "accepted")])
        endSessions(of: call)
        let session = ConsoleSecret(random: parts.sources.random(ConsoleSecret.length))
        sessions.open(credential: digest, from: call.address, secret: session, at: call.now)
        await ConsoleVisitor(caller: caller, secret: session, record: parts.audit).notes(call)
        var answer = ConsolePage.redirect(to: "/console/")
        answer.headers += [
            ConsoleCookie.session.field(session.cookie, seconds: Int(ConsoleSessions.longest), for: call),
            ConsoleCookie.signIn.field("", seconds: 0, for: call),
        ]
        return answer
    }

    @Sendable private func signOut(_ call: Call, _ visitor: ConsoleVisitor, _ values: StrictQuery) async -> Answer {
        endSessions(of: call)
        await visitor.notes(call)
        var answer = ConsolePage.redirect(to: "/console/sign-in")
        answer.headers.append(ConsoleCookie.session.field("", seconds: 0, for: call))
        return answer
    }

    // MARK: - The overview

    @Sendable private func overview(_ call: Call, _ visitor: ConsoleVisitor) async throws -> Answer {
        guard visitor.seesApps else { return ConsolePage.redirect(to: "/console/audit") }
        let view = try await visitor.does(call.operation, .read, call) {
            let found = try await self.view(call, visitor)
            return (found, .app(found.app))
        }
        let title = view.app.map { "\($0)" } ?? "Overview"
        return ConsolePage(title: title, place: .overview, visitor: visitor, body: view.html()).answer()
    }

    private func view(_ call: Call, _ visitor: ConsoleVisitor) async throws -> ConsoleOverview {
        let query = try StrictQuery(call.query, known: ["app"], isForm: true)
        let all = parts.apps.all
        let alerting = parts.risk.baselines.appsWithAlerts
        // An app with an alert comes first.
        let open = all.keys.filter { visitor.caller.permits(.read, app: $0) }
            .sorted { (alerting.contains($0) ? 0 : 1, $0) < (alerting.contains($1) ? 0 : 1, $1) }
        let id = query["app"] ?? open.first
        var view = ConsoleOverview(
            now: call.now, apps: open, app: id, node: await node(at: call.now))
        guard let id else { return view }
        // A token that nobody signed names no app: who may see every app sees these too.
        view.node.observed = observed(of: open.count == all.keys.count ? [id, "none"] : [id])
        guard open.contains(where: { $0.hasSameBytes(as: id) }), let app = all[id] else { throw Problem(.appUnknown) }
        do {
            view.facts = try await facts(of: app, at: call.now)
        } catch {
            // The page says so, and shows what this node knows without its store.
            view.node.fault = view.node.fault ?? Problem(error)
        }
        return view
    }

    /// What the store says of one app, from all nodes.
    ///
    /// - Throws: `StoreFault`.
    private func facts(of app: ServedApp, at now: Date) async throws -> ConsoleOverview.Facts {
        let id = app.settings.id
        await parts.signals.flush()
        let last = (now.timeIntervalSince1970 / 3600).rounded(.down)
        let hours = (0..<24).reversed().map { Date(timeIntervalSince1970: (last - Double($0)) * 3600) }
        return ConsoleOverview.Facts(
            settings: app.settings, risk: try await parts.risk.standing(of: id, at: now),
            baseline: parts.risk.baselines[id] ?? .unknown,
            keys: try await operators.store.keyCounts().filter { $0.app.hasSameBytes(as: id) }, hours: hours,
            tallies: try await operators.store.tallies(app: id, from: hours.first ?? now, to: now))
    }

    /// What `mode=observe` found on this node, by route.
    private func observed(of apps: [String]) -> [(route: String, app: String, counts: [String: Double])] {
        let all = parts.observer.registry.counts(of: .observed)
        return apps.flatMap { app in
            let mine = all.filter { $0.labels["app"]?.hasSameBytes(as: app) == true }
            return Dictionary(grouping: mine) { $0.labels["route"] ?? "" }.sorted { $0.key < $1.key }.map {
                route, series in
                let counts = series.map { ($0.labels["class"] ?? "", $0.count) }
                return (route, app == "none" ? "(named by no token)" : app, Dictionary(counts, uniquingKeysWith: +))
            }
        }
    }

    /// What this node knows of itself; a store that does not answer is part of it.
    private func node(at now: Date) async -> ConsoleOverview.Node {
        do {
            let reading = try await parts.readiness.check(at: now)
            return .init(clockOffset: reading.offset(of: now), horizonLead: reading.horizonLead(at: now))
        } catch {
            return .init(fault: Problem(error))
        }
    }

    private static let style = Answer.text(
        ReportStyle.style + "\n" + String(decoding: PackageResources.console_css, as: UTF8.self),
        contentType: "text/css; charset=utf-8"
    ).guarded()
}
