// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

/// Something that a rule found, before it becomes a finding.
struct Hit: Sendable {
    /// Less than the rule's own severity, where this case matters less.
    var severity: Severity?
    let keyPath: [String]
    /// The offset in the text that the finding points at; nil in a binary list.
    let offset: Int
    let message: String
    let fix: String?
    var edits: [TextEdit] = []
    var advice: [Advice] = []
    var trigger: String?
    /// Whether the fix removes a whole entry: errors of keys inside are told with it, and what is less need not be.
    var isWhole = false
}

/// What the fix of a finding says, as edits that are made together, and what is true afterwards.
package struct Advice: Sendable, Equatable {
    /// What is true after the edits, besides that the finding is gone.
    package enum Promise: Sendable {
        /// Every load ends as before.
        case sameLoads
        /// Every load that was permitted still is.
        case asManyLoads
        /// Some load ends otherwise.
        case otherLoads
        /// No more than that.
        case goes
    }

    let edits: [TextEdit]
    let promise: Promise

    init(_ edits: [TextEdit], _ promise: Promise) {
        self.edits = edits
        self.promise = promise
    }
}

/// How many findings a run lists. Whatever is linted, the report stays readable and in memory.
enum FindingAllowance {
    /// The most findings of one list.
    static let findings = 10_000
    /// The most bytes of findings of one run, as reports write them: about 40,000 usual findings.
    static let bytes = 32 << 20
}

/// Collects what the rules find, as far as it is allowed.
struct Hits {
    private(set) var all: [(rule: Int, hit: Hit)] = []
    /// How many were found and are not in ``all``.
    private(set) var omitted = 0
    /// How many bytes of findings the run may still list.
    var allowance: Int
    private(set) var questions: [(key: String, keyPath: [String], offset: Int)] = []
    var rule = 0
    /// The places in ``all`` of findings that are no errors: they make room for errors that come later.
    private var lesser: [Int] = []

    /// What each finding costs beside its own text: the path of the list.
    private let path: Int

    init(_ allowance: Int, of subject: LintSubject) {
        self.allowance = allowance
        path = subject.path.utf8.count * 3
    }

    /// Says that App Review asks about a key, whether or not there is a finding.
    mutating func ask(_ member: PlistMember, _ path: [String]) {
        if questions.count < FindingAllowance.findings {
            questions.append((member.key, path, member.keyRange.lowerBound))
        }
    }

    mutating func add(_ hit: Hit) {
        if let key = hit.trigger, questions.count < FindingAllowance.findings {
            questions.append((key, hit.keyPath, hit.offset))
        }
        let cost = path + Hits.cost(hit)
        let isError = Linter.severity((rule, hit)) == .error
        guard all.count < FindingAllowance.findings, cost <= allowance else {
            omitted += 1
            if isError, cost <= allowance, let place = lesser.popLast() { all[place] = (rule, hit) }
            return
        }
        allowance -= cost
        if !isError { lesser.append(all.count) }
        all.append((rule, hit))
    }

    /// About how many bytes a finding takes in a report. What is escaped there counts as escaped.
    private static func cost(_ hit: Hit) -> Int {
        var total = 512 + written(hit.message) + (hit.fix?.utf8.count ?? 0)
        for step in hit.keyPath { total += 8 + 2 * written(step) }
        for case .replace(_, let text) in hit.edits { total += text.utf8.count }
        return total
    }

    private static func written(_ text: String) -> Int {
        text.utf8.reduce(0) { $0 + ($1 < 0x20 || $1 == 0x7F ? 6 : 1) }
    }

    /// Reports a key. The finding points at the key.
    mutating func report(
        _ member: PlistMember, _ path: [String], _ message: String, fix: String?, severity: Severity? = nil,
        edits: [TextEdit] = [], advice: [Advice] = [], trigger: String? = nil, isWhole: Bool = false
    ) {
        add(
            Hit(
                severity: severity, keyPath: path, offset: member.keyRange.lowerBound, message: message, fix: fix,
                edits: edits, advice: advice, trigger: trigger, isWhole: isWhole))
    }

    /// Reports a value, or the dictionary where something is missing. The finding points at it.
    mutating func report(_ node: PlistNode, _ path: [String], _ message: String, fix: String?) {
        add(Hit(keyPath: path, offset: node.range.lowerBound, message: message, fix: fix))
    }
}

/// A change of the text of a property list that leaves everything else byte for byte as it was.
package enum TextEdit: Sendable, Equatable {
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
    static func rename(_ member: PlistMember, to key: String) -> TextEdit {
        .replace(member.keyRange, with: "<key>\(Markup.text(key))</key>")
    }

    /// A new value for a key.
    static func value(_ member: PlistMember, _ xml: String) -> TextEdit { .replace(member.node.range, with: xml) }

    static func remove(_ member: PlistMember) -> TextEdit { .remove(member.range) }
}
