// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Formats
import FoundationEssentials
import HTTPService
import Reporting
import TrustStores
import Vocabulary

/// Keys as people look them up, revoke and delete them. Asks the operators' routes; what these permit and refuse counts here too.
struct ConsoleKeys: Sendable {
    let operators: OperatorRoutes
    let apps: AppDirectory

    /// What changes a key.
    enum Deed: String {
        case revoke = "Revoke"
        case restore = "Restore"
        case delete = "Delete"

        var path: HTML {
            switch self {
            case .revoke: "revoke"
            case .restore: "restore"
            case .delete: "delete"
            }
        }

        /// What a credential must permit for the key's app.
        var role: Authority.Role { self == .delete ? .admin : .revoke }

        /// Whether it can be done to a key, as the route shows it.
        func isPossible(_ key: JSONValue, at now: Date) -> Bool {
            let revokedAt = key.member("revokedAt")?.text.flatMap(Timestamps.date)
            return switch self {
            case .revoke: revokedAt == nil
            case .restore: revokedAt.map { now.timeIntervalSince($0) < KeyHandler.restorable } ?? false
            case .delete: true
            }
        }

        var warning: String {
            switch self {
            case .revoke:
                "The key is refused everywhere from now on. It can be restored within a day; after that its device needs a new key."
            case .restore: "The key and its tokens are good again from now on, with the counter that the key had."
            case .delete:
                "The key is deleted, with its receipts and the personal details in its history. This cannot be undone."
            }
        }
    }

    /// The most keys of a page.
    private static let pageSize = 50

    // MARK: - Finding

    @Sendable func list(_ call: Call, _ visitor: ConsoleVisitor) async throws -> Answer {
        let known: Set<UTF8Key> = ["key", "app", "user", "environment", "after"]
        let query = try StrictQuery(call.query, known: known, blank: .absent)
        let open = apps.all.keys.filter { visitor.caller.permits(.read, app: $0) }.sorted()
        var note: HTML = ""
        if let text = query["key"] {
            if let id = KeyIdentifier(strictBase64: text) ?? KeyIdentifier(base64URL: text) {
                return ConsolePage.redirect(to: "/console/keys/" + id.base64URL)
            }
            note =
                "<p class=\"note bad\" role=\"alert\">This is not a key id: one has 44 characters of base64, or 43 of base64url.</p>\n"
        }
        // A credential for some apps always names one.
        let app = query["app"] ?? (visitor.caller.permits(.read, app: nil) ? nil : open.first)
        var parameters: [(String, String)] = [("limit", String(ConsoleKeys.pageSize))]
        if let app { parameters.append(("app", app)) }
        for name in ["user", "environment", "after"] {
            if let value = query[UTF8Key(name)] { parameters.append((name, value)) }
        }
        let answer = try await ask("GET", "/v1/keys", parameters, call, visitor)
        let keys = answer.member("keys")?.elements ?? []
        let table = ConsoleTable(
            label: "Keys", head: ["Key", "App", "User", "Environment", "Counter", "Risk metric", "Attested", "State"],
            rows: keys.map(ConsoleKeys.row), empty: "No key matches.", stacks: true
        ).html()
        var next: HTML = ""
        if let cursor = answer.member("next")?.text {
            let again = parameters.filter { !["limit", "after"].contains($0.0) } + [("after", cursor)]
            next = "<p><a href=\"/console/keys?\(ConsoleKeys.query(again))\">Next page</a></p>\n"
        }
        let body: HTML = """
            <h1>Keys</h1>
            \(note)<section><form class="search" method="get" action="/console/keys">
            <div><label for="key">Key id</label><input id="key" name="key" value="\(query["key"] ?? "")" autocomplete="off" spellcheck="false"></div>
            <div><label for="user">User</label><input id="user" name="user" value="\(query["user"] ?? "")" autocomplete="off" spellcheck="false"></div>
            <div><label for="app">App</label><select id="app" name="app">\(options(open, app, visitor))</select></div>
            <div><label for="environment">Environment</label><select id="environment" name="environment">\
            \(ConsoleKeys.environments(query["environment"]))</select></div>
            <button>Look up</button></form></section>
            <section><h2 class="hidden">Result</h2>
            \(table)\(next)</section>

            """
        return ConsolePage(title: "Keys", place: .keys, visitor: visitor, body: body).answer()
    }

    private func options(_ open: [String], _ chosen: String?, _ visitor: ConsoleVisitor) -> [HTML] {
        let all: [HTML] = visitor.caller.permits(.read, app: nil) ? ["<option value=\"\">all</option>"] : []
        return all + open.map { ConsoleKeys.option($0, isChosen: $0 == chosen) }
    }

    private static func environments(_ chosen: String?) -> [HTML] {
        ["<option value=\"\">all</option>"]
            + AttestationEnvironment.allCases.map { option($0.rawValue, isChosen: $0.rawValue == chosen) }
    }

    private static func option(_ value: String, isChosen: Bool) -> HTML {
        let chosen: HTML = isChosen ? " selected" : ""
        return "<option value=\"\(value)\"\(chosen)>\(value)</option>"
    }

    private static func row(_ key: JSONValue) -> [HTML] {
        let id = key.member("keyId")?.text ?? ""
        let path = KeyIdentifier(strictBase64: id)?.base64URL ?? ""
        return [
            "<a href=\"/console/keys/\(path)\"><code>\(id)</code></a>", text(key, "app"),
            "<span class=\"name\">\(text(key, "user"))</span>", text(key, "environment"), text(key, "counter"),
            text(key, "riskMetric"), instant(key, "attestedAt"), state(key),
        ]
    }

    private static func state(_ key: JSONValue) -> HTML {
        var tags: [HTML] = []
        if key.member("revoked") == .bool(true) { tags.append("<span class=\"tag fail\">revoked</span> ") }
        if key.member("trusted") == .bool(false) { tags.append("<span class=\"tag warning\">not trusted</span> ") }
        if key.member("simulated") == .bool(true) { tags.append("<span class=\"tag note\">simulated</span> ") }
        return tags.isEmpty ? "<span class=\"tag pass\">good</span>" : "\(tags)"
    }

    private static func text(_ key: JSONValue, _ name: String) -> HTML {
        switch key.member(name) {
        case .string(let text)?: "\(text)"
        case .integer(let number)?: "\(ConsoleText.count(number))"
        default: "<span class=\"dim\">–</span>"
        }
    }

    private static func instant(_ value: JSONValue, _ name: String) -> HTML {
        guard let date = value.member(name)?.text.flatMap(Timestamps.date) else { return text(value, name) }
        return ConsoleText.instant(date)
    }

    // MARK: - One key

    @Sendable func show(_ call: Call, _ visitor: ConsoleVisitor) async throws -> Answer {
        let query = try StrictQuery(call.query, known: ["done"], blank: .absent)
        let id = try ConsoleKeys.id(call)
        let key = try await ask("GET", "/v1/keys/\(id.base64URL)", [], call, visitor)
        let rows: [(String, HTML)] = [
            ("App", ConsoleKeys.text(key, "app")), ("User", ConsoleKeys.text(key, "user")),
            ("Environment", ConsoleKeys.text(key, "environment")), ("Counter", ConsoleKeys.text(key, "counter")),
            ("Attested", ConsoleKeys.instant(key, "attestedAt")), ("Last used", ConsoleKeys.instant(key, "lastUsedAt")),
            ("Risk metric", ConsoleKeys.text(key, "riskMetric")), ("System", ConsoleKeys.text(key, "osVersion")),
            ("App version", ConsoleKeys.text(key, "bundleVersion")),
            ("Validation category", ConsoleKeys.text(key, "validationCategory")),
        ]
        let history = key.member("history")?.elements ?? []
        let events = ConsoleTable(
            label: "History",
            head: ["When", "What", "Code"],
            rows: history.reversed().map {
                [
                    ConsoleKeys.instant($0, "at"), ConsoleKeys.text($0, "kind"),
                    ($0.member("code")?.text).map(ConsoleText.code) ?? "–",
                ]
            },
            stacks: true
        ).html()
        let facts: [HTML] = rows.map { "<div><dt>\($0.0)</dt><dd>\($0.1)</dd></div>" }
        let sentence: String? =
            switch query["done"] {
            case "revoked": "The key is revoked."
            case "restored": "The key is restored."
            default: nil
            }
        let done: HTML = sentence.map { "<p class=\"note good\" role=\"status\">\($0)</p>\n" } ?? ""
        let deeds: [HTML] = [Deed.revoke, .restore, .delete].filter { deed in
            visitor.caller.permits(deed.role, app: key.member("app")?.text) && deed.isPossible(key, at: call.now)
        }.map { deed in
            let look: HTML = deed == .delete ? " danger" : ""
            return
                "<a class=\"button\(look)\" href=\"/console/keys/\(id.base64URL)/\(deed.path)\">\(deed.rawValue) …</a> "
        }
        let body: HTML = """
            <h1>Key <code>\(id.base64)</code></h1>
            \(done)<div class="cards"><section><h2>\(ConsoleKeys.state(key))</h2><dl class="facts">\(facts)</dl>
            <p class="deeds">\(deeds)</p></section>
            <section><h2>History</h2>\(events)</section></div>

            """
        return ConsolePage(title: "Key", place: .keys, visitor: visitor, body: body).answer()
    }

    /// The page that asks once more.
    @Sendable func confirm(_ deed: Deed, _ call: Call, _ visitor: ConsoleVisitor) async throws -> Answer {
        let id = try ConsoleKeys.id(call)
        let key = try await ask("GET", "/v1/keys/\(id.base64URL)", [], call, visitor)
        guard visitor.caller.permits(deed.role, app: key.member("app")?.text) else {
            throw Problem(.callerUnauthorized)
        }
        let code: HTML =
            deed != .revoke
            ? ""
            : """
            <label for="code">Reason, as a code <span class="dim">(optional, without spaces)</span></label>
            <input id="code" name="code" maxlength="64" pattern="[!-~]+" autocomplete="off" spellcheck="false">

            """
        let body: HTML = """
            <section class="narrow"><h1>\(deed.rawValue) this key?</h1>
            <p><code>\(id.base64)</code><br>\(ConsoleKeys.text(key, "app")), user \(ConsoleKeys.text(key, "user"))</p>
            <p>\(deed.warning)</p>
            <form method="post" action="/console/keys/\(id.base64URL)/\(deed.path)">\(visitor.input)
            \(code)<p class="deeds"><button class="danger">\(deed.rawValue)</button> <a class="button" href="/console/keys/\(id.base64URL)">Cancel</a></p></form></section>

            """
        return ConsolePage(title: "\(deed.rawValue) a key", place: .keys, visitor: visitor, body: body).answer()
    }

    @Sendable func revoke(_ call: Call, _ visitor: ConsoleVisitor, _ values: StrictQuery) async throws -> Answer {
        let id = try ConsoleKeys.id(call)
        let body: JSONValue = .object(values["code"].map { [.init("code", .string($0))] } ?? [])
        let question = OperatorRoutes.Question(
            "POST", "/v1/keys/\(id.base64URL)/revoke", body: Array(body.rendered(pretty: false).utf8))
        _ = try await operators.ask(question, as: visitor.asking(in: call), at: call.now)
        return ConsolePage.redirect(to: "/console/keys/\(id.base64URL)?done=revoked")
    }

    func restore(_ call: Call, _ visitor: ConsoleVisitor) async throws -> Answer {
        let id = try ConsoleKeys.id(call)
        _ = try await ask("POST", "/v1/keys/\(id.base64URL)/restore", [], call, visitor)
        return ConsolePage.redirect(to: "/console/keys/\(id.base64URL)?done=restored")
    }

    func delete(_ call: Call, _ visitor: ConsoleVisitor) async throws -> Answer {
        let id = try ConsoleKeys.id(call)
        let question = OperatorRoutes.Question("DELETE", "/v1/keys/\(id.base64URL)")
        _ = try await operators.ask(question, as: visitor.asking(in: call), at: call.now)
        let body: HTML = """
            <section class="narrow"><h1>Deleted</h1><p>The key <code>\(id.base64)</code> is gone.</p>
            <p><a href="/console/keys">Back to the keys</a></p></section>

            """
        return ConsolePage(title: "Deleted", place: .keys, visitor: visitor, body: body).answer()
    }

    // MARK: - Asking

    private static func id(_ call: Call) throws(Problem) -> KeyIdentifier {
        guard let id = call.parameters["keyId"].flatMap({ KeyIdentifier(base64URL: $0) }) else {
            throw Problem(.keyUnknown, evidence: "the path names no key id")
        }
        return id
    }

    private func ask(
        _ method: String, _ path: String, _ parameters: [(String, String)], _ call: Call, _ visitor: ConsoleVisitor
    ) async throws -> JSONValue {
        let question = OperatorRoutes.Question(method, path, query: ConsoleKeys.query(parameters))
        let answer = try await operators.ask(question, as: visitor.asking(in: call), at: call.now)
        return (try? JSONReader.read(answer.body)) ?? .null
    }

    private static func query(_ parameters: [(String, String)]) -> String {
        parameters.map { "\($0.0)=\($0.1.utf8.percentEncoded())" }.joined(separator: "&")
    }
}
