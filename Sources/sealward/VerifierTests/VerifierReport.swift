// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceSimulator
import Formats
import SimulatedFleet
import Vocabulary

/// What a verifier made of every case.
struct VerifierReport {
    /// Named as the members in JSON are.
    enum Judgement: String, CaseIterable {
        case right, acceptedWrongly, refusedWrongly, crashed, tooSlow, notJudged

        /// For example `accepted wrongly`.
        var words: String {
            rawValue.reduce(into: "") { $0 += $1.isUppercase ? " \($1.lowercased())" : String($1) }
        }
    }

    private struct Result {
        let item: VerifierCase
        let answer: VerifierAnswer

        var judgement: Judgement {
            switch answer.verdict {
            case .accepted: item.code == nil ? .right : .acceptedWrongly
            case .refused: item.code == nil ? .refusedWrongly : .right
            case .unsupported: .notJudged
            case .crashed: .crashed
            case .tooSlow: .tooSlow
            }
        }

        var expected: String { item.code == nil ? "accepted" : "refused" }
    }

    private var results: [Result] = []

    mutating func add(_ item: VerifierCase, _ answer: VerifierAnswer) {
        results.append(Result(item: item, answer: answer))
    }

    /// Findings where anything was judged wrongly; undetermined where nothing was judged at all.
    var outcome: Outcome {
        let judged = results.filter { $0.judgement != .notJudged }
        if judged.isEmpty { return .undetermined }
        return judged.allSatisfy { $0.judgement == .right } ? .clean : .findings
    }

    private func count(_ judgement: Judgement, _ kind: VerifierCase.Kind? = nil) -> Int {
        results.count { $0.judgement == judgement && (kind == nil || $0.item.kind == kind) }
    }

    var text: String {
        var rows = [[""] + Judgement.allCases.map(\.words)]
        for kind in VerifierCase.Kind.allCases where results.contains(where: { $0.item.kind == kind }) {
            rows.append([kind.rawValue + "s"] + Judgement.allCases.map { String(count($0, kind)) })
        }
        var text = "\(results.count) cases\n\n" + FleetTally.table(rows)
        for judgement in Judgement.allCases where judgement != .right && judgement != .notJudged {
            let found = results.filter { $0.judgement == judgement }
            guard !found.isEmpty else { continue }
            text += "\n\(judgement.words)\n"
            for result in found {
                let item = result.item
                let right = item.code.map { "refused, for example with \($0)" } ?? "accepted"
                let words = result.answer.words.isEmpty ? "" : " (\(result.answer.words.terminalSafe(limit: 200)))"
                text += "  \(item.id): \(item.what); is to be \(right)\(words)\n"
            }
        }
        let others = VerifierCase.notAsked.map { "\($0.group) (\($0.why))" }.joined(separator: ", ")
        return text + "\nGroups of docs/audit/negative-groups.md that no verifier alone can be asked: \(others).\n"
    }

    /// `sealward.verifier-tests/1`.
    var json: JSONValue {
        func counts(_ kind: VerifierCase.Kind?) -> [JSONValue.Member] {
            Judgement.allCases.map { .init($0.rawValue, .integer(count($0, kind))) }
        }
        let kinds = VerifierCase.Kind.allCases.map { JSONValue.Member($0.rawValue, .object(counts($0))) }
        let others = VerifierCase.notAsked.map {
            JSONValue.object([.init("group", .integer($0.group)), .init("why", .string($0.why))])
        }
        let list = results.map { result in
            JSONValue.object([
                .init("id", .string(result.item.id)), .init("kind", .string(result.item.kind.rawValue)),
                .init("group", .optional(result.item.group)), .init("what", .string(result.item.what)),
                .init("expected", .string(result.expected)), .init("code", .optional(result.item.code)),
                .init("answer", .string(result.answer.verdict.rawValue)),
                .init("judgement", .string(result.judgement.rawValue)),
                .init("reason", .string(result.answer.words.terminalSafe(limit: 400))),
            ])
        }
        return .object(
            [.init("schema", "sealward.verifier-tests/1"), .init("cases", .integer(results.count))] + counts(nil) + [
                .init("kinds", .object(kinds)), .init("notAsked", .array(others)), .init("results", .array(list)),
            ]
        )
    }
}
