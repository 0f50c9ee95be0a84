// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import FoundationEssentials
import HTTPService
import TrustStores
import Vocabulary

/// The audit, the newest first, and who is signed in at this node.
extension ConsoleHandler {
    private static let auditSize = 100

    @Sendable func auditPage(_ call: Call, _ visitor: ConsoleVisitor) async throws -> Answer {
        let query = try StrictQuery(call.query, known: ["before"], isForm: true)
        let newest = try await operators.store.newestAuditNumber()
        let before = try query.number("before", 1...9_999_999_999, default: 0)
        let last = before > 0 ? min(Int64(before) - 1, newest) : newest
        let after = max(0, last - Int64(ConsoleHandler.auditSize))
        let entries = try await visitor.does(AuditPage.operation, .audit, call) {
            let found = try await operators.entries(behind: after, limit: ConsoleHandler.auditSize, for: visitor.caller)
            return (found, AuditPage.areReadings(found) ? nil : .app(nil))
        }
        let table = ConsoleTable(
            label: "Audit",
            head: ["When", "Who", "What", "On what", "Outcome", "From", "Request, session", "Why"],
            rows: entries.reversed().filter { $0.number <= last }.map(\.entry).map { entry in
                [
                    ConsoleText.instant(entry.at), "\(entry.name)", "\(entry.operation)",
                    "<code>\(entry.target)</code>", "\(entry.outcome)", "\(entry.address ?? "")",
                    "<code>\(entry.correlationId ?? "") \(entry.session ?? "")</code>", "\(entry.reason ?? "")",
                ]
            }, empty: "No entry here.", stacks: true
        ).html()
        let older: HTML = after > 0 ? "<a href=\"/console/audit?before=\(Int(after) + 1)\">Older</a> " : ""
        let newer: HTML = last < newest ? "<a href=\"/console/audit\">Newest</a>" : ""
        let body: HTML = """
            <h1>Audit</h1>
            <section><p class="dim">Calls of servers and operators, refused ones of operators, and failed sign-ins, newest first. Each line has the hash of the one before; <code>sealward store check</code> compares them.</p>
            \(table)<p class="deeds">\(older)\(newer)</p></section>

            """
        return ConsolePage(title: "Audit", place: .audit, visitor: visitor, body: body).answer()
    }

    // MARK: - Sessions

    @Sendable func sessionPage(_ call: Call, _ visitor: ConsoleVisitor) async throws -> Answer {
        _ = try StrictQuery(call.query, known: [], isForm: true)
        let rows = open(to: visitor, at: call.now).map { session -> [HTML] in
            let caller = parts.live.current.credentials.caller(digest: session.credential, at: call.now)
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
    func endSession(_ call: Call, _ visitor: ConsoleVisitor) async throws -> Answer {
        if let session = sessions.list(at: call.now).first(where: { $0.name == call.parameters["session"] }) {
            guard open(to: visitor, at: call.now).contains(where: { $0.name == session.name }) else {
                await visitor.notes(call, refusedWith: .callerUnauthorized)
                throw Problem(.callerUnauthorized)
            }
            sessions.end(session.name, because: .ended, at: call.now)
            await visitor.notes(call, about: AuditTarget(asked: call))
        }
        return ConsolePage.redirect(to: "/console/sessions")
    }

    /// The sessions that a visitor may see and end: those of the same credential, and all for who administers everything.
    private func open(to visitor: ConsoleVisitor, at now: Date) -> [ConsoleSessions.Session] {
        let all = sessions.list(at: now)
        if visitor.caller.permits(.admin, app: nil) { return all }
        let own = all.first { $0.name == visitor.secret.name }?.credential
        return all.filter { $0.credential == own }
    }
}
