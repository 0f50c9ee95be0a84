// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
package import Formats
import PropertyLists
import Vocabulary

extension TargetReport {
    /// One target of `sealward.ats-check/1`.
    package var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("target", .string(target)), .init("host", .string(host)), .init("port", .integer(port)),
            .init("address", .optional(address)), .init("tests", .array(results.map(\.json))),
            .init("smallestException", smallestException.dictionary?.propertyListValue.json ?? .null),
            .init("facts", facts?.json(of: hello, at: instant) ?? .null),
            .init("status", .optional(status)), .init("handshakes", .integer(handshakes)),
            .init("elapsedMilliseconds", .integer(elapsed.milliseconds)),
        ]
        if let exceptionWithDelegate {
            members.append(.init("exceptionWithDelegate", exceptionWithDelegate.propertyListValue.json))
        }
        if let secure {
            let because = JSONValue.array(secure.because.map(\.json))
            members.append(
                .init(
                    "secure",
                    ["result": .string(secure.result.rawValue), "error": secure.errorJSON, "because": because]))
        }
        if !serverLines.isEmpty {
            members.append(
                .init("serverLines", .object(serverLines.map { .init($0.software.rawValue, .string($0.line)) })))
        }
        if !systems.isEmpty {
            members.append(.init("systems", .object(systems.map { .init($0.profile.id, $0.json) })))
        }
        if !notes.isEmpty { members.append(.init("notes", .array(notes.map(\.json)))) }
        return .object(members)
    }
}

extension SystemVerdict {
    /// A member of `systems`.
    fileprivate var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("sdk", profile.sdk.json), .init("result", .string((decisive?.result ?? .undetermined).rawValue)),
            .init("error", decisive?.errorJSON ?? .null),
            .init("because", .array((decisive?.because ?? []).map(\.json))),
            .init("tests", .array(results.map(\.json))),
            .init("smallestException", smallestException.dictionary?.propertyListValue.json ?? .null),
        ]
        if let proposal, proposal.kind == .withDelegate {
            members.append(.init("exceptionWithDelegate", proposal.after.propertyListValue.json))
        }
        return .object(members)
    }
}

extension ConfigurationResult {
    var errorJSON: JSONValue { error?.json(console: console) ?? .null }

    var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("section", .string(configuration.section)), .init("name", .string(configuration.name)),
            .init("ats", configuration.dictionary.propertyListValue.json), .init("result", .string(result.rawValue)),
            .init("error", errorJSON), .init("because", .array(because.map(\.json))),
        ]
        if configuration.isAppDictionary { members.append(.init("sdk", sdk.json)) }
        if !notes.isEmpty { members.append(.init("notes", .array(notes.map(\.json)))) }
        return .object(members)
    }
}
