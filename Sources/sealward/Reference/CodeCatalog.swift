// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import ATSLint
import AppAttest
import AppTransportSecurity
import AppleServices
import DeviceCheckBits
import Formats
import FoundationEssentials
import HTTPService
import TrustService
import TrustStores
import TrustTokens
import Vocabulary

/// Every code that the program can print or answer with. The sentences are in the tables of the modules; here is only their order.
enum CodeCatalog {
    static let sections: [(title: String, explanations: [CodeExplanation])] = [
        (
            "App Transport Security: causes (`because` of `ats check`, `fetch`, `proxy`, `certificate`)",
            CauseTable.current.rows.map(\.explanation)
        ),
        ("App Transport Security: rules and notes (`because` of `ats explain`)", RuleExplanations.all),
        ("Logs and numbers: what only `ats log` and `explain` say", LogExplanations.all),
        ("App Attest: attestations", RefusalExplanations.attestations),
        ("App Attest: assertions", RefusalExplanations.assertions),
        ("App Attest: receipts", RefusalExplanations.receipts),
        ("Refreshing receipts, and Apple's services", AppleExplanations.all),
        ("DeviceCheck", DeviceCheckFault.explanations),
        ("Malformed input", MalformedInput.explanations),
        ("The service (`code` of a problem document)", ProblemTable.explanations),
        ("The store", StoreFault.explanations),
        ("Risk (`alerts` of `GET /v1/apps/{app}/risk`, the log and the metrics)", RiskExplanations.all),
        ("The packages `AppAttestClient` and `SealwardHummingbird`, beside the service's codes", packageCodes),
    ]

    /// The program is built without these two packages, so their own codes are explained here.
    private static let packageCodes: [CodeExplanation] = [
        .init(
            "token.unchecked", "the middleware cannot ask the trust service whether the token is good", .operator,
            "check the service and the connection to it; the app waits as long as Retry-After says"),
        .init(
            "token.none", "the service only watches this app and would have refused the proof, so it gives no token",
            .app, "send the request without a token: nothing is enforced yet"),
        .init(
            "request.body-stream", "the body of the request can be read only once, so it cannot be signed and sent",
            .developer, "pass the body as data"),
        .init("request.url", "the request's URL cannot be parsed", .developer, "give the request an absolute URL"),
        .init(
            "request.host", "the session's configuration does not name the request's host", .developer,
            "name it in hosts if it is a backend of yours; a proof must not go anywhere else"),
        .init(
            "request.scheme", "the request goes out without TLS", .developer,
            "use an https URL; only loopback hosts may be asked without TLS"),
    ]

    static var all: [CodeExplanation] { sections.flatMap(\.explanations) }

    /// The explanation of a code, also of one in the form of a problem document's `type`.
    static func explanation(of text: String) -> CodeExplanation? {
        let name =
            text.utf8.starts(with: problemType.utf8) ? text.utf8.dropFirst(problemType.utf8.count) : text.utf8[...]
        return all.first { $0.code.rawValue.utf8.elementsEqual(name) }
    }

    private static let problemType = "urn:sealward:problem:"

    /// The code or rule that was probably meant.
    static func suggestion(for text: String) -> String? {
        let names = all.map(\.code.rawValue) + ExplainedSubject.names
        if let near = NearName.suggestion(for: text, among: names, within: text.utf8.count > 6 ? 3 : 1) { return near }
        // A part of the name alone, or some of its words: version-too-low, nonce mismatch.
        guard text.utf8.count > 3 else { return nil }
        let words = text.lowercased().split { !$0.isLetter && !$0.isNumber }
        guard words.count <= 8 else { return nil }
        let parts = names.filter { name in
            name.contains(text) || words.count > 1 && words.allSatisfy { name.lowercased().contains($0) }
        }
        return (1...3).contains(parts.count) ? parts.joined(separator: "' or '") : nil
    }

    // MARK: - For people

    static func text(_ explanation: CodeExplanation) -> String {
        var lines = [explanation.code.rawValue, ""]
        func add(_ label: String, _ text: String) { lines.append(label.padded(to: 8) + text.replacing("`", with: "")) }
        add("means", explanation.meaning)
        add("who", explanation.actor.words)
        add("do", explanation.action)
        let code = explanation.code
        if let sentence = AppTrust.sentence(about: code) ?? Remedy.sentence(about: code) { add("or", sentence) }
        if let answer = ProblemTable.answer(to: explanation.code) {
            add("HTTP", "status \(answer.status)" + (answer.retry.map { ", retry \($0.rawValue)" } ?? ""))
        }
        return lines.joined(separator: "\n") + "\n"
    }

    static func list() -> String {
        let width = all.map(\.code.rawValue.utf8.count).max() ?? 0
        return all.map {
            $0.code.rawValue.padded(to: width) + "  " + $0.meaning.replacing("`", with: "") + "\n"
        }.joined()
    }

    /// The page `docs/errors.md`.
    static func markdown() -> String {
        var page = """
            # Codes: what each means, and who must do what

            Generated by `sealward explain --format markdown`; do not edit. `sealward explain CODE` prints one of them. The rules of `ats lint`
            are in [rules.md](rules.md), what `DCError` means in [dcerror.md](dcerror.md), servers that produce each cause in
            [causes.md](causes.md). Codes are API: stable, never reused, without severity. Messages may change.

            """
        for section in sections {
            let isService = section.explanations.contains { ProblemTable.answer(to: $0.code) != nil }
            page += "\n## \(section.title)\n\n"
            page +=
                "| code | meaning | who | what to do |\(isService ? " HTTP |" : "")\n|---|---|---|---|\(isService ? "---|" : "")\n"
            for row in section.explanations {
                page += "| `\(row.code)` | \(row.meaning) | \(row.actor.words) | \(row.action) |"
                if isService {
                    let answer = ProblemTable.answer(to: row.code)
                    page += " \(answer.map { "\($0.status)" + ($0.retry.map { ", `\($0.rawValue)`" } ?? "") } ?? "") |"
                }
                page += "\n"
            }
        }
        return page
    }

    // MARK: - For programs

    /// A number, a name or a key, with its codes explained.
    static func json(_ subject: ExplainedSubject) -> JSONValue {
        let codes = json(subject.codes.compactMap { explanation(of: $0.rawValue) })
        return .object((codes.members ?? []) + [.init("subjects", .array([subject.json]))])
    }

    static func json(_ explanations: [CodeExplanation]) -> JSONValue {
        [
            "schema": "sealward.explain/1",
            "codes": .array(
                explanations.map {
                    let answer = ProblemTable.answer(to: $0.code)
                    return [
                        "code": .string($0.code.rawValue), "meaning": .string($0.meaning),
                        "who": .string($0.actor.rawValue), "action": .string($0.action),
                        "status": answer.map { .integer($0.status) } ?? .null,
                        "retry": .optional(answer?.retry?.rawValue),
                    ]
                }
            ),
        ]
    }
}

extension AppleExplanations {
    fileprivate static var all: [CodeExplanation] { refreshes + transport }
}
