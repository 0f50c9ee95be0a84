// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings

/// Something that a rule found, before it becomes a finding.
struct Hit: Sendable {
    /// Less than the rule's own severity, where this case matters less.
    var severity: Severity?
    let keyPath: [String]
    /// The offset in the text that the finding points at; nil in a binary list.
    let offset: Int
    let message: String
    let fix: String?
    var mends: [Mend] = []
    var trigger: String?
}

/// Collects what the rules find.
struct Hits {
    private(set) var all: [(rule: Int, hit: Hit)] = []
    var rule = 0

    /// Reports a key. The finding points at the key.
    mutating func report(
        _ member: PlistMember,
        _ path: [String],
        _ message: String,
        fix: String?,
        severity: Severity? = nil,
        mends: [Mend] = [],
        trigger: String? = nil
    ) {
        let hit = Hit(
            severity: severity,
            keyPath: path,
            offset: member.keyRange.lowerBound,
            message: message,
            fix: fix,
            mends: mends,
            trigger: trigger
        )
        all.append((rule, hit))
    }

    /// Reports a value, or the dictionary where something is missing. The finding points at it.
    mutating func report(
        _ node: PlistNode,
        _ path: [String],
        _ message: String,
        fix: String?,
        severity: Severity? = nil,
        mends: [Mend] = []
    ) {
        let hit = Hit(
            severity: severity,
            keyPath: path,
            offset: node.range.lowerBound,
            message: message,
            fix: fix,
            mends: mends
        )
        all.append((rule, hit))
    }

    mutating func add(_ hit: Hit) { all.append((rule, hit)) }
}

/// A change of the text of a property list that leaves everything else byte for byte as it was.
package enum Mend: Sendable, Equatable {
    /// Removes a key with its value, and the line that becomes empty.
    case remove(Range<Int>)
    /// Replaces bytes, for example a value.
    case replace(Range<Int>, with: String)

    var range: Range<Int> {
        switch self {
        case .remove(let range), .replace(let range, _): range
        }
    }

    /// A new name for a key.
    static func rename(_ member: PlistMember, to key: String) -> Mend {
        .replace(member.keyRange, with: "<key>\(Markup.text(key))</key>")
    }

    /// A new value for a key.
    static func value(_ member: PlistMember, _ xml: String) -> Mend { .replace(member.node.range, with: xml) }

    /// Removes a key with its value.
    static func remove(_ member: PlistMember) -> Mend { .remove(member.range) }
}
