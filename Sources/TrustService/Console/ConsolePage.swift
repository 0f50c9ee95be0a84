// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import HTTPService
import HTTPTypes
import Vocabulary

/// Who looks at the console.
struct ConsoleVisitor: Sendable {
    /// What the credential behind the session permits now.
    let caller: Authority
    let secret: ConsoleSecret
    let record: AuditRecord

    /// Whether the overview and the keys of some app may be seen.
    var seesApps: Bool { caller.has(.read) }
    var seesAudit: Bool { caller.has(.audit) }

    /// A call with the name of the session, for the audit.
    private func named(_ call: Call) -> Call {
        var call = call
        call.session = secret.name
        return call
    }

    /// Records a call that has no operation of operators.
    ///
    /// - Parameter code: why it was refused; nil if it was not.
    func notes(_ call: Call, about target: AuditTarget = .app(nil), refusedWith code: Code? = nil) async {
        if let code { return await record.record(named(call), by: caller, refusedWith: code) }
        await record.record(named(call), by: caller, about: target)
    }

    /// Does an operation of operators with the scopes of the visitor, and records it as theirs.
    ///
    /// - Parameter body: also gives what it was about; nil for what the audit need not have.
    func does<Value>(
        _ operation: String, _ role: Authority.Role, _ call: Call, reason: String? = nil,
        _ body: () async throws -> (Value, AuditTarget?)
    ) async throws -> Value {
        var asked = named(call)
        (asked.operation, asked.caller) = (operation, caller)
        asked.headers[.auditReason] = reason
        return try await record.does(asked, role) {
            guard caller.has(role) else { throw Problem(.callerUnauthorized) }
            return try await body()
        }
    }

    var input: HTML { "<input type=\"hidden\" name=\"csrf\" value=\"\(secret.formToken)\">" }
}

/// The frame of each page: markup of ours around what is shown, with the headers that keep a browser from doing anything else with it.
struct ConsolePage {
    /// A page of the navigation.
    enum Place: String, CaseIterable {
        case overview = "Overview"
        case keys = "Keys"
        case audit = "Audit"
        case sessions = "Sessions"

        var path: String { "/console/" + (self == .overview ? "" : rawValue.lowercased()) }

        func isOpen(to visitor: ConsoleVisitor) -> Bool {
            switch self {
            case .overview, .keys: visitor.seesApps
            case .audit: visitor.seesAudit
            case .sessions: true
            }
        }
    }

    let title: String
    var place: Place?
    /// nil for whoever is not signed in.
    var visitor: ConsoleVisitor?
    var body: HTML

    func answer(status: Int = 200) -> Answer {
        var answer = Answer.text(html().markup, contentType: "text/html; charset=utf-8")
        answer.status = status
        return answer.guarded()
    }

    /// Sends the browser on to a page of the console with a GET.
    static func redirect(to path: String) -> Answer {
        var answer = Answer.empty(303)
        answer.headers.append((.location, path))
        return answer.guarded()
    }

    private func html() -> HTML {
        var head: HTML = ""
        if let visitor {
            let places: [HTML] = Place.allCases.filter { $0.isOpen(to: visitor) }.map {
                let current: HTML = $0 == place ? " aria-current=\"page\"" : ""
                return "<a href=\"\($0.path)\"\(current)>\($0.rawValue)</a>"
            }
            head = """
                <header><div class="bar"><a class="brand" href="/console/">Sealward</a>
                <nav aria-label="Console">\(places)</nav>
                <form class="who" method="post" action="/console/sign-out">\(visitor.input)<span class="dim">\(visitor.caller.name) (\(visitor.caller.roles))</span>
                <button class="quiet">Sign out</button></form></div></header>

                """
        }
        return """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>\(title) · Sealward</title>
            <link rel="icon" href="data:,">
            <link rel="stylesheet" href="/console/console.css">
            </head>
            <body>
            \(head)<main id="main">
            \(body)</main>
            <footer class="dim">All times are in UTC.</footer>
            </body>
            </html>

            """
    }
}

extension Answer {
    /// What a browser may do with an answer of the console: load its own style from here, send forms here, and nothing else.
    static let consolePolicy =
        "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; "
        + "frame-ancestors 'none'; base-uri 'none'"

    func guarded() -> Answer {
        var answer = self
        answer.headers += [
            (.contentSecurityPolicy, Answer.consolePolicy), (.xFrameOptions, "DENY"), (.xContentTypeOptions, "nosniff"),
            // `no-referrer` would also take the origin from forms, by which they are known to come from here.
            (.referrerPolicy, "same-origin"), (.crossOriginOpenerPolicy, "same-origin"),
            (.crossOriginResourcePolicy, "same-origin"),
        ]
        return answer
    }

}

extension ErrorForm {
    /// Refusals and faults of the console as a page.
    static let console = ErrorForm(under: ["/console"]) { problem, correlationId in
        let page = ConsolePage(
            title: problem.title,
            body: """
                <section class="narrow"><h1>\(problem.title)</h1>
                <p><code>\(problem.code.description)</code>, in the log under <code>\(correlationId)</code>.</p>
                <p><a href="/console/">Back to the overview</a></p></section>

                """
        )
        return page.answer(status: problem.status).refusing(problem)
    }
}
