// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppTransportSecurity
package import Formats
import PropertyLists
import Vocabulary

extension MinimalDictionary {
    /// The document `sealward.ats-minimize/1`.
    package func json(os: String, sdk: LinkedSDK?) -> JSONValue {
        .omittingNone([
            "schema": "sealward.ats-minimize/1", "os": .string(os), "sdk": sdk.json,
            "dictionary": dictionary.propertyListValue.json, "needed": .array(needed.map(\.json)),
            "dead": .array(dead.map(\.json)), "impossible": .array(impossible.map(\.json)),
            "deadTogether": .unlessEmpty(deadTogether.map(\.json)), "withCode": .unlessEmpty(withCode.map(\.json)),
            "notes": .unlessEmpty(notes.map(\.json)),
        ])
    }

    /// An XML property list with the one key NSAppTransportSecurity, ready for an Info.plist.
    public func propertyList() -> String { dictionary.infoPlist }

    /// For people: the dictionary, why each key is needed, what is dead, what is impossible.
    package func text(os: String) -> String {
        var lines: [String] = []
        if dictionary.isEmpty {
            lines.append(emptySentence(os: os))
        } else {
            let whose = unknown > 0 ? " for the targets whose answer is known" : ""
            lines.append("The smallest dictionary on \(os)\(whose):")
            lines.append(dictionary.propertyListValue.oldStyleDescription)
        }
        for need in needed {
            lines.append("needed      \(need.keyPath.terminalSafe)")
            lines.append("            without it \(need.target.terminalSafe) fails: \(need.without)")
        }
        for (word, key) in dead.map({ ("dead    ", $0) }) + deadTogether.map({ ("together", $0) }) {
            lines.append("\(word)    \(key.keyPath.terminalSafe)")
            lines.append("            \(key.why.terminalSafe)")
        }
        for target in impossible {
            lines.append("\(target.isUndetermined ? "unknown   " : "impossible")  \(target.target.terminalSafe)")
            lines.append("            \(target.because): \(target.message.terminalSafe)")
        }
        for target in withCode {
            lines.append("code        \(target.target)")
            lines.append("            \(target.because): \(target.message.terminalSafe)")
        }
        for note in notes { lines.append("note        \(note.message.terminalSafe)") }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Of how many targets nothing is known.
    private var unknown: Int { impossible.count(where: \.isUndetermined) }

    /// What the empty dictionary says: that nothing is needed, that nothing helps, or nothing at all.
    private func emptySentence(os: String) -> String {
        if loading == 0, unknown > 0 {
            guard unknown == impossible.count else {
                return
                    "No exception helps on \(os) for the targets whose answer is known; what the others need is unknown."
            }
            return unknown == 1
                ? "Whether the target needs an exception on \(os) is unknown."
                : "Whether the targets need an exception on \(os) is unknown."
        }
        if loading == 0, !withCode.isEmpty { return "No dictionary is enough on \(os): code of the app is needed." }
        if loading == 0 { return "No exception helps on \(os)." }
        return unknown > 0
            ? "No exception is needed on \(os) for the targets whose answer is known: the empty dictionary {} is enough for those that can load."
            : "No exception is needed on \(os): the empty dictionary {} is enough for every target that can load."
    }
}

extension MinimalDictionary.Need {
    fileprivate var json: JSONValue {
        ["keyPath": .string(keyPath), "target": .string(target), "without": .string(without.rawValue)]
    }
}

extension MinimalDictionary.DeadKey {
    fileprivate var json: JSONValue { ["keyPath": .string(keyPath), "why": .string(why)] }
}

extension MinimalDictionary.Impossible {
    fileprivate var json: JSONValue {
        ["target": .string(target), "because": .string(because.rawValue), "message": .string(message)]
    }
}

extension MinimalDictionary.WithCode {
    fileprivate var json: JSONValue {
        [
            "target": .string(target), "dictionary": dictionary.propertyListValue.json,
            "because": .string(because.rawValue), "message": .string(message),
        ]
    }
}

extension ATSDictionary {
    /// An XML property list with the one key NSAppTransportSecurity, ready for an Info.plist.
    package var infoPlist: String {
        let lines = ["\t<key>NSAppTransportSecurity</key>"] + propertyListValue.xmlLines(indentation: "\t", depth: 1)
        return PlistDocument.xml(members: lines.map { $0 + "\n" }.joined())
    }
}
