// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
package import Formats
import PropertyLists
import Vocabulary

extension TargetReport {
    /// One target of `sealward.ats-check/1`.
    package var json: JSONValue {
        let secure = secure.map { secure -> JSONValue in
            [
                "result": .string(secure.result.rawValue), "error": secure.errorJSON,
                "because": .array(secure.because.map(\.json)),
            ]
        }
        let lines = serverLines.map { JSONValue.Member($0.software.rawValue, .string($0.line)) }
        let verdicts = systems.map { JSONValue.Member($0.profile.id, $0.json) }
        return .omittingNone([
            "target": .string(target), "host": .string(host), "port": .integer(port), "address": .optional(address),
            "tests": .array(results.map(\.json)),
            "smallestException": smallestException.dictionary?.propertyListValue.json ?? .null,
            "facts": facts?.json(of: hello, at: instant) ?? .null, "status": .optional(status),
            "handshakes": .integer(handshakes), "elapsedMilliseconds": .integer(elapsed.milliseconds),
            "exceptionWithDelegate": exceptionWithDelegate?.propertyListValue.json, "secure": secure,
            "serverLines": lines.isEmpty ? .none : .object(lines),
            "systems": verdicts.isEmpty ? .none : .object(verdicts),
            "notes": .unlessEmpty(notes.map(\.json)),
        ])
    }
}

extension SystemVerdict {
    /// A member of `systems`.
    fileprivate var json: JSONValue {
        let withDelegate = proposal.flatMap { $0.kind == .withDelegate ? $0.after : nil }
        return .omittingNone([
            "sdk": profile.sdk.json, "result": .string((decisive?.result ?? .undetermined).rawValue),
            "error": decisive?.errorJSON ?? .null, "because": .array((decisive?.because ?? []).map(\.json)),
            "tests": .array(results.map(\.json)),
            "smallestException": smallestException.dictionary?.propertyListValue.json ?? .null,
            "exceptionWithDelegate": withDelegate?.propertyListValue.json,
        ])
    }
}

extension ConfigurationResult {
    var errorJSON: JSONValue { error?.json(console: console) ?? .null }

    var json: JSONValue {
        .omittingNone([
            "section": .string(configuration.section), "name": .string(configuration.name),
            "ats": configuration.dictionary.propertyListValue.json, "result": .string(result.rawValue),
            "error": errorJSON, "because": .array(because.map(\.json)),
            "sdk": configuration.isAppDictionary ? sdk.json : .none, "notes": .unlessEmpty(notes.map(\.json)),
        ])
    }
}
