// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPService
import HTTPTypes
import Reporting
import Vocabulary

/// The console: pages for operators with a browser, at the internal listener.
///
/// It judges nothing by itself: ``OperatorService`` does, with the scopes of the visitor, and the audit has each use under their name.
struct ConsoleHandler: Handler {
    let live: LiveBook
    let apps: AppDirectory
    let reader: ConsoleReader
    let operators: OperatorService
    let record: AuditRecord
    let observer: RequestObserver
    let sources: SystemSources
    let sessions: ConsoleSessions
    /// Failed sign-ins of one address, and with one token from anywhere: ten at once, then one in six seconds. A token that opens the console is
    /// never limited, so that nobody keeps operators out: not at their address, and not with a full table.
    private let failures = (
        byAddress: RequestLimits(perSecond: 1 / 6, burst: 10, tableLimit: 4096),
        byToken: RequestLimits(perSecond: 1 / 6, burst: 10, tableLimit: 4096)
    )

    init(_ parts: ServiceParts) {
        (live, apps, observer, sources) = (parts.live, parts.apps, parts.observer, parts.sources)
        reader = ConsoleReader(
            store: parts.store, signals: parts.signals, risk: parts.risk, readiness: parts.readiness)
        (operators, record) = (parts.operators, parts.audit)
        sessions = ConsoleSessions(observer: parts.observer)
        for outcome in ["accepted", "refused", "limited"] {
            observer.count(.consoleSignIns, [("outcome", outcome)], by: 0)
        }
    }

    /// The routes of the console. Each one that shows or changes something is given its visitor, or answered with the page to sign in.
    var routes: [Route] {
        let keys = ConsoleKeys(operators: operators, record: record, apps: apps)
        let audit = ConsoleAudit(operators: operators, record: record)
        let list = ConsoleSessionList(sessions: sessions, live: live, record: record)
        return [
            route("console", "GET", "/console") { _ in ConsolePage.redirect(to: "/console/") },
            page("consoleOverview", "/console/", overview),
            route("consoleSignInPage", "GET", "/console/sign-in") { signInPage($0) },
            route("consoleSignIn", "POST", "/console/sign-in", signIn),
            form("consoleSignOut", "/console/sign-out", signOut),
            page("consoleKeys", "/console/keys", keys.list),
            page("consoleKey", "/console/keys/{keyId}", keys.show),
            page("consoleRevokePage", "/console/keys/{keyId}/revoke") { try await keys.confirm(.revoke, $0, $1) },
            form("consoleRevoke", "/console/keys/{keyId}/revoke", fields: ["code", "reason"]) {
                try await keys.act(.revoke, $0, $1, $2)
            },
            page("consoleRestorePage", "/console/keys/{keyId}/restore") { try await keys.confirm(.restore, $0, $1) },
            form("consoleRestore", "/console/keys/{keyId}/restore", fields: ["reason"]) {
                try await keys.act(.restore, $0, $1, $2)
            },
            page("consoleDeletePage", "/console/keys/{keyId}/delete") { try await keys.confirm(.delete, $0, $1) },
            form("consoleDelete", "/console/keys/{keyId}/delete", fields: ["reason"]) {
                try await keys.act(.delete, $0, $1, $2)
            },
            page("consoleAudit", "/console/audit", audit.page),
            page("consoleSessions", "/console/sessions", list.page),
            form("consoleEndSession", "/console/sessions/{session}/end") { call, visitor, _ in
                try await list.end(call, visitor)
            },
            route("consoleStyle", "GET", "/console/console.css") { _ in ConsoleFiles.style },
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
        let values = try StrictQuery(text, known: fields.union(["csrf"]), blank: .absent)
        guard secrets.contains(where: { $0.made(formToken: values["csrf"]) }) else {
            throw Problem(.requestOtherOrigin, evidence: "the form does not have the token of its session")
        }
        return values
    }

    /// Who sent a request; nil if nobody is signed in, or the credential opens nothing any more.
    private func visitor(_ call: Call) -> ConsoleVisitor? {
        for secret in ConsoleRequest.secrets(in: call, cookie: ConsoleRequest.sessionCookie) {
            guard let digest = sessions.credential(of: secret, at: call.now) else { continue }
            let caller = live.current.credentials.caller(digest: digest, at: call.now)
            if ConsoleHandler.opens(caller) { return ConsoleVisitor(caller: caller, secret: secret) }
            sessions.end(secret, because: .credential)
        }
        return nil
    }

    private func endSessions(of call: Call) {
        for secret in ConsoleRequest.secrets(in: call, cookie: ConsoleRequest.sessionCookie) {
            sessions.end(secret, because: .signedOut)
        }
    }

    private static func opens(_ caller: Authority) -> Bool { caller.has(.read) || caller.has(.audit) }

    // MARK: - Signing in and out

    private func signInPage(_ call: Call, failed: String? = nil, status: Int = 200) -> Answer {
        let isSecure = call.isSecure
        let secret =
            ConsoleRequest.secrets(in: call, cookie: ConsoleRequest.signInCookie).first
            ?? ConsoleSecret(random: sources.random(ConsoleSecret.length))
        let note: HTML = failed.map { "<p class=\"note bad\" role=\"alert\">\($0)</p>" } ?? ""
        let plain: HTML =
            isSecure
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
        let cookie = ConsoleRequest.cookie(
            ConsoleRequest.signInCookie, secret.cookie, isSecure: isSecure, seconds: 3600)
        answer.headers.append((.setCookie, cookie))
        return answer
    }

    @Sendable private func signIn(_ call: Call) async throws -> Answer {
        let secrets = ConsoleRequest.secrets(in: call, cookie: ConsoleRequest.signInCookie)
        guard !secrets.isEmpty else {
            return signInPage(
                call, failed: "Please try again; the browser must accept cookies from this page.", status: 403)
        }
        let values = try ConsoleHandler.form(call, ["token"], of: secrets)
        let digest = Credentials.digest(of: values["token"] ?? "")
        let caller = live.current.credentials.caller(digest: digest, at: call.now)
        guard ConsoleHandler.opens(caller) else {
            let now = sources.uptime()
            if let wait = failures.byAddress.take(CallerAddress.bucket(of: call.address), at: now)
                ?? failures.byToken.take(Base64.encode(digest), at: now)
            {
                observer.count(.consoleSignIns, [("outcome", "limited")])
                await record.record(call, by: caller, refusedWith: .limitAddress)
                throw Problem(
                    .limitAddress, retryAfterSeconds: Int(min(max(1, wait.rounded(.up)), 3600)),
                    evidence: "wrong tokens at the sign-in")
            }
            observer.count(.consoleSignIns, [("outcome", "refused")])
            await record.record(call, by: caller, refusedWith: .callerUnauthorized)
            var answer = signInPage(
                call,
                failed: caller == .anyone
                    ? "This token is unknown or has expired."
                    : "This token has none of the scopes read, admin and audit.", status: 403)
            answer.code = .callerUnauthorized
            return answer
        }
        observer.count(.consoleSignIns, [("outcome", "accepted")])
        endSessions(of: call)
        let session = ConsoleSecret(random: sources.random(ConsoleSecret.length))
        sessions.open(credential: digest, from: call.address, secret: session, at: call.now)
        await record.record(
            ConsoleVisitor(caller: caller, secret: session).named(call), by: caller, about: .app(nil))
        var answer = ConsolePage.redirect(to: "/console/")
        let isSecure = call.isSecure
        for (name, value, seconds) in [
            (ConsoleRequest.sessionCookie, session.cookie, 8 * 3600), (ConsoleRequest.signInCookie, "", 0),
        ] {
            let cookie = ConsoleRequest.cookie(name, value, isSecure: isSecure, seconds: seconds)
            answer.headers.append((.setCookie, cookie))
        }
        return answer
    }

    @Sendable private func signOut(_ call: Call, _ visitor: ConsoleVisitor, _ values: StrictQuery) async -> Answer {
        endSessions(of: call)
        await record.record(visitor.named(call), by: visitor.caller, about: .app(nil))
        var answer = ConsolePage.redirect(to: "/console/sign-in")
        let isSecure = call.isSecure
        answer.headers.append(
            (.setCookie, ConsoleRequest.cookie(ConsoleRequest.sessionCookie, "", isSecure: isSecure, seconds: 0)))
        return answer
    }

    // MARK: - The overview

    @Sendable private func overview(_ call: Call, _ visitor: ConsoleVisitor) async throws -> Answer {
        guard visitor.seesApps else { return ConsolePage.redirect(to: "/console/audit") }
        let view = try await view(call, visitor)
        await record.record(visitor.named(call), by: visitor.caller, about: .app(view.app))
        let title = view.app.map { "\($0)" } ?? "Overview"
        return ConsolePage(title: title, place: .overview, visitor: visitor, body: view.html()).answer()
    }

    private func view(_ call: Call, _ visitor: ConsoleVisitor) async throws -> ConsoleOverview {
        let query = try StrictQuery(call.query, known: ["app"], blank: .absent)
        let all = apps.all
        let alerting = reader.risk.baselines.appsWithAlerts
        // An app with an alert comes first.
        let open = all.keys.filter { visitor.caller.permits(.read, app: $0) }
            .sorted { (alerting.contains($0) ? 0 : 1, $0) < (alerting.contains($1) ? 0 : 1, $1) }
        let id = query["app"] ?? open.first
        var view = ConsoleOverview(
            now: call.now, apps: open, app: id, node: await reader.node(at: call.now))
        guard let id else { return view }
        guard open.contains(where: { $0.hasSameBytes(as: id) }), let app = all[id] else { throw Problem(.appUnknown) }
        do {
            view.facts = try await reader.app(app, at: call.now)
        } catch {
            // The page says so, and shows what this node knows without its store.
            view.node.fault = view.node.fault ?? Problem(error)
        }
        return view
    }
}

/// The style, which the build puts into the program.
enum ConsoleFiles {
    static let style = Answer.text(
        ReportStyle.style + "\n" + String(decoding: PackageResources.console_css, as: UTF8.self),
        contentType: "text/css; charset=utf-8"
    ).guarded()
}
