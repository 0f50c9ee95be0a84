// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPService
import Reporting
import Vocabulary

/// Who is signed in at this node, as a page on which sessions are ended.
struct ConsoleSessionList: Sendable {
    let sessions: ConsoleSessions
    let live: LiveBook
    let record: AuditRecord

    @Sendable func page(_ call: Call, _ visitor: ConsoleVisitor) async throws -> Answer {
        _ = try StrictQuery(call.query, known: [], blank: .absent)
        let rows = open(to: visitor, at: call.now).map { session -> [HTML] in
            let caller = live.current.credentials.caller(digest: session.credential, at: call.now)
            let own: HTML = session.name == visitor.secret.name ? " <span class=\"tag note\">this one</span>" : ""
            let end: HTML =
                "<form method=\"post\" action=\"/console/sessions/\(session.name)/end\">\(visitor.input)<button class=\"quiet\">End</button></form>"
            return [
                "<span class=\"name\">\(caller.name)</span>\(own)", "\(caller.roles)",
                "<code>\(session.address)</code>", ConsoleText.instant(session.openedAt),
                ConsoleText.instant(session.usedAt), end,
            ]
        }
        let table = ConsoleTable(
            label: "Sessions", head: ["Who", "Scopes", "From", "Signed in", "Last used", "Action"], rows: rows,
            stacks: true
        ).html()
        let body: HTML = """
            <h1>Sessions</h1>
            <section><p class="dim">Who is signed in at this node.</p>
            \(table)</section>

            """
        return ConsolePage(title: "Sessions", place: .sessions, visitor: visitor, body: body).answer()
    }

    /// Ends the session that the path names; one that is over already is what was asked for.
    func end(_ call: Call, _ visitor: ConsoleVisitor) async throws -> Answer {
        if let session = open(to: visitor, at: call.now).first(where: { $0.name == call.parameters["session"] }) {
            sessions.end(session, because: .ended)
            await record.record(call, by: visitor.caller, about: .app(nil))
        }
        return ConsolePage.redirect(to: "/console/sessions")
    }

    /// The sessions that a visitor may see and end: those of the same credential, and all for who administers everything.
    private func open(to visitor: ConsoleVisitor, at now: Date) -> [ConsoleSessions.Listed] {
        let all = sessions.list(at: now)
        if visitor.caller.permits(.admin, app: nil) { return all }
        let own = all.first { $0.name == visitor.secret.name }?.credential
        return all.filter { $0.credential == own }
    }
}
