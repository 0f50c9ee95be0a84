// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Formats
import FoundationEssentials
import HTTPService
import TrustStores
import Vocabulary

extension KeyDeed {
    var word: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }

    fileprivate func isPossible(_ key: StoredKey, at now: Date) -> Bool {
        switch self {
        case .revoke: key.revokedAt == nil
        case .restore: key.revokedAt.map { now.timeIntervalSince($0) < OperatorService.restorable } ?? false
        case .delete: true
        }
    }

    fileprivate var warning: String {
        switch self {
        case .revoke:
            "The key is refused everywhere from now on. It can be restored within a day; after that its device needs a new key."
        case .restore: "The key and its tokens are good again from now on, with the counter that the key had."
        case .delete:
            "The key is deleted, with its receipts and the personal details in its history. This cannot be undone."
        }
    }
}

extension ConsoleHandler {
    private enum State: String, CaseIterable {
        case good, revoked, untrusted, simulated

        func has(_ key: StoredKey, _ isTrusted: Bool) -> Bool {
            switch self {
            case .good: key.revokedAt == nil && isTrusted
            case .revoked: key.revokedAt != nil
            case .untrusted: !isTrusted
            case .simulated: key.simulated
            }
        }
    }

    private typealias JudgedKey = (key: StoredKey, isTrusted: Bool)

    /// The keys of a page, about; and the most keys that are looked at for it.
    private static let (pageSize, scanLimit) = (50, 2000)

    // MARK: - Finding

    @Sendable func keyList(_ call: Call, _ visitor: ConsoleVisitor) async throws -> Answer {
        let known: Set<UTF8Key> = ["key", "app", "user", "environment", "state", "metric", "after"]
        let query = try StrictQuery(call.query, known: known, isForm: true)
        let open = parts.apps.all.keys.filter { visitor.caller.permits(.read, app: $0) }.sorted()
        var note: HTML = ""
        if let text = query["key"] {
            if let id = KeyIdentifier(strictBase64: text) ?? KeyIdentifier(base64URL: text) {
                return ConsolePage.redirect(to: "/console/keys/" + id.base64URL)
            }
            note =
                "<p class=\"note bad\" role=\"alert\">This is not a key id: one has 44 characters of base64, or 43 of base64url.</p>\n"
        }
        let seesAll = visitor.caller.permits(.read, app: nil)
        // A credential for some apps always names one.
        let filter = KeyFilter(
            app: query["app"] ?? (seesAll ? nil : open.first), user: query["user"], environment: query["environment"])
        let state = try query["state"].map { text throws(Problem) in
            guard let state = State(rawValue: text) else {
                throw Problem(.requestMalformed, evidence: "state is none of \(State.allCases.map(\.rawValue))")
            }
            return state
        }
        let metric = try query.number("metric", 0...Int(UInt32.max), default: 0)
        var cursor = try OperatorService.cursor(query["after"])
        let keys = try await visitor.does("listKeys", .read, call) {
            var (keys, looked): ([JudgedKey], Int) = ([], 0)
            repeat {
                let page = try await operators.keys(
                    matching: filter, after: cursor, limit: ConsoleHandler.pageSize, for: visitor.caller)
                for key in page.keys where metric == 0 || (key.riskMetric ?? 0) >= metric {
                    let isTrusted = try await operators.isTrusted(key) ?? false
                    if state?.has(key, isTrusted) ?? true { keys.append((key, isTrusted)) }
                }
                (cursor, looked) = (page.next, looked + ConsoleHandler.pageSize)
            } while cursor != nil && keys.count < ConsoleHandler.pageSize && looked < ConsoleHandler.scanLimit
            return (keys, .keys(filter))
        }
        let table = ConsoleTable(
            label: "Keys",
            head: ["Key", "App", "User", "Environment", "Risk metric", "Attested", "Last used", "State"],
            rows: keys.sorted { $0.key.attestedAt > $1.key.attestedAt }.map(ConsoleHandler.row),
            empty: cursor == nil ? "No key matches." : "None of the next \(ConsoleHandler.scanLimit) keys matches.",
            stacks: true
        ).html()
        var next: HTML = ""
        if let cursor {
            let names = ["app", "user", "environment", "state", "metric"]
            let again = names.compactMap { name in query[UTF8Key(name)].map { (name, $0) } } + [("after", cursor.text)]
            let text = again.map { "\($0.0)=\($0.1.utf8.percentEncoded())" }.joined(separator: "&")
            next = "<p><a href=\"/console/keys?\(text)\">Next page</a></p>\n"
        }
        func input(_ name: HTML, _ label: HTML, _ value: String?) -> HTML {
            "<div><label for=\"\(name)\">\(label)</label><input id=\"\(name)\" name=\"\(name)\" value=\"\(value ?? "")\" autocomplete=\"off\" spellcheck=\"false\"></div>\n"
        }
        func choice(_ name: HTML, _ label: HTML, _ values: [String], _ chosen: String?, hasAll: Bool = true) -> HTML {
            let options: [HTML] = values.map { value in
                let mark: HTML = value == chosen ? " selected" : ""
                return "<option value=\"\(value)\"\(mark)>\(value)</option>"
            }
            let all: HTML = hasAll ? "<option value=\"\">all</option>" : ""
            return
                "<div><label for=\"\(name)\">\(label)</label><select id=\"\(name)\" name=\"\(name)\">\(all)\(options)</select></div>\n"
        }
        let environments = AttestationEnvironment.allCases.map(\.rawValue)
        let fields: [HTML] = [
            input("key", "Key id", query["key"]), input("user", "User", query["user"]),
            choice("app", "App", open, filter.app, hasAll: seesAll),
            choice("environment", "Environment", environments, filter.environment),
            choice("state", "State", State.allCases.map(\.rawValue), state?.rawValue),
            input("metric", "Risk metric, at least", query["metric"]),
        ]
        let body: HTML = """
            <h1>Keys</h1>
            \(note)<section><form class="search" method="get" action="/console/keys">
            \(fields)<button>Look up</button></form></section>
            <section><h2 class="hidden">Result</h2>
            <p class="dim">The newest of this page first.</p>
            \(table)\(next)</section>

            """
        return ConsolePage(title: "Keys", place: .keys, visitor: visitor, body: body).answer()
    }

    private static func row(_ found: JudgedKey) -> [HTML] {
        let key = found.key
        return [
            "<a href=\"/console/keys/\(key.id.base64URL)\"><code>\(key.id.base64)</code></a>", "\(key.app)",
            "<span class=\"name\">\(text(key.user))</span>", "\(key.environment)", count(key.riskMetric),
            ConsoleText.instant(key.attestedAt), instant(key.lastUsedAt), state(found),
        ]
    }

    private static func state(_ found: JudgedKey) -> HTML {
        var tags: [HTML] = []
        if found.key.revokedAt != nil { tags.append("<span class=\"tag fail\">revoked</span> ") }
        if !found.isTrusted { tags.append("<span class=\"tag warning\">not trusted</span> ") }
        if found.key.simulated { tags.append("<span class=\"tag note\">simulated</span> ") }
        return tags.isEmpty ? "<span class=\"tag pass\">good</span>" : "\(tags)"
    }

    private static let nothing: HTML = "<span class=\"dim\">–</span>"
    private static func text(_ text: String?) -> HTML { text.map { "\($0)" } ?? nothing }
    private static func count(_ number: Int?) -> HTML { number.map { "\(ConsoleText.count($0))" } ?? nothing }
    private static func instant(_ date: Date?) -> HTML { date.map(ConsoleText.instant) ?? nothing }

    // MARK: - One key

    @Sendable func keyPage(_ call: Call, _ visitor: ConsoleVisitor) async throws -> Answer {
        let query = try StrictQuery(call.query, known: ["done"], isForm: true)
        let key = try await key(call, visitor)
        let isTrusted = try await operators.isTrusted(key) ?? false
        let rows: [(String, HTML)] = [
            ("App", "\(key.app)"), ("User", ConsoleHandler.text(key.user)), ("Environment", "\(key.environment)"),
            ("Counter", ConsoleHandler.count(Int(key.counter))), ("Attested", ConsoleText.instant(key.attestedAt)),
            ("Last used", ConsoleHandler.instant(key.lastUsedAt)),
            ("Risk metric", ConsoleHandler.count(key.riskMetric)),
            ("System", ConsoleHandler.text(key.osVersion)), ("App version", ConsoleHandler.text(key.bundleVersion)),
            ("Validation category", ConsoleHandler.count(key.validationCategory)),
        ]
        let history = try await operators.store.history(of: key.id, limit: 200)
        let events = ConsoleTable(
            label: "History", head: ["When", "What", "Code"],
            rows: history.reversed().map {
                [ConsoleText.instant($0.at), "\($0.kind)", $0.code.map(ConsoleText.code) ?? "–"]
            }, stacks: true
        ).html()
        let sentences = ["revoked": "The key is revoked.", "restored": "The key is restored."]
        let done: HTML =
            query["done"].flatMap { sentences[$0] }.map { "<p class=\"note good\" role=\"status\">\($0)</p>\n" } ?? ""
        let deeds: [HTML] = KeyDeed.allCases.filter { deed in
            visitor.caller.permits(deed.role, app: key.app) && deed.isPossible(key, at: call.now)
        }.map { deed in
            let look: HTML = deed == .delete ? " danger" : ""
            return
                "<a class=\"button\(look)\" href=\"/console/keys/\(key.id.base64URL)/\(deed.rawValue)\">\(deed.word) …</a> "
        }
        let body: HTML = """
            <h1>Key <code>\(key.id.base64)</code></h1>
            \(done)<div class="cards"><section><h2>\(ConsoleHandler.state((key, isTrusted)))</h2>\(ConsoleTable.facts(rows))<p class="deeds">\(deeds)</p></section>
            <section><h2>History</h2>\(events)</section></div>

            """
        return ConsolePage(title: "Key", place: .keys, visitor: visitor, body: body).answer()
    }

    @Sendable func confirm(_ deed: KeyDeed, _ call: Call, _ visitor: ConsoleVisitor) async throws -> Answer {
        let key = try await key(call, visitor)
        try await visitor.does(deed.operation, deed.role, call) {
            (try visitor.caller.require(deed.role, app: key.app), nil)
        }
        let code: HTML =
            deed != .revoke
            ? ""
            : """
            <label for="code">Code <span class="dim">(optional, without spaces; the app's server sees it)</span></label>
            <input id="code" name="code" maxlength="64" pattern="[!-~]+" autocomplete="off" spellcheck="false">

            """
        let body: HTML = """
            <section class="narrow"><h1>\(deed.word) this key?</h1>
            <p><code>\(key.id.base64)</code><br>\(key.app), user \(ConsoleHandler.text(key.user))</p>
            <p>\(deed.warning)</p>
            <form method="post" action="/console/keys/\(key.id.base64URL)/\(deed.rawValue)">\(visitor.input)
            \(code)<label for="reason">Reason, for the audit <span class="dim">(optional)</span></label>
            <input id="reason" name="reason" maxlength="\(AuditReason.limit)" autocomplete="off">
            <p class="deeds"><button class="danger">\(deed.word)</button> <a class="button" href="/console/keys/\(key.id.base64URL)">Cancel</a></p></form></section>

            """
        return ConsolePage(title: "\(deed.word) a key", place: .keys, visitor: visitor, body: body).answer()
    }

    /// Does what the page asked.
    @Sendable func act(
        _ deed: KeyDeed, _ call: Call, _ visitor: ConsoleVisitor, _ values: StrictQuery
    ) async throws -> Answer {
        try await visitor.does(deed.operation, deed.role, call, reason: values["reason"]) {
            let code = { values["code"] }
            return ((), try await operators.act(deed, on: call.keyId, code: code, for: visitor.caller, at: call.now))
        }
        guard let id = call.keyId, deed == .delete else {
            return ConsolePage.redirect(
                to: "/console/keys/\(call.keyId?.base64URL ?? "")?done=\(deed == .revoke ? "revoked" : "restored")")
        }
        let body: HTML = """
            <section class="narrow"><h1>Deleted</h1><p>The key <code>\(id.base64)</code> is gone.</p>
            <p><a href="/console/keys">Back to the keys</a></p></section>

            """
        return ConsolePage(title: "Deleted", place: .keys, visitor: visitor, body: body).answer()
    }

    /// The key that the path names, as the visitor may see it.
    private func key(_ call: Call, _ visitor: ConsoleVisitor) async throws -> StoredKey {
        try await visitor.does("showKey", .read, call) {
            let key = try await operators.key(call.keyId, for: visitor.caller, as: .read)
            return (key, .key(key.id, app: key.app))
        }
    }
}
