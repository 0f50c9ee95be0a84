// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Formats
import Vocabulary

/// The JSON forms of checked targets as text: one document of all, or a line for each.
package enum CheckedTargets {
    package static let documentSchema = "sealward.ats-check/1"
    package static let lineSchema = "sealward.ats-check-target/1"

    /// What comes before the first target of a document.
    ///
    /// - Parameter checked: when the run began, RFC 3339.
    package static func head(os: String, sdk: String?, checked: String) -> String {
        func text(_ value: JSONValue) -> String { value.rendered() }
        return "{\n  \"schema\": \(text(.string(documentSchema))),\n  \"os\": \(text(.string(os))),\n"
            + "  \"sdk\": \(text(.optional(sdk))),\n  \"checked\": \(text(.string(checked))),\n  \"targets\": ["
    }

    /// What comes after the last target of a document.
    package static func tail(isEmpty: Bool) -> String { isEmpty ? "]\n}\n" : "\n  ]\n}\n" }

    /// A target as an element of a document; between two of them is a comma.
    package static func indented(_ target: JSONValue) -> [UInt8] {
        var text = Array("\n    ".utf8)
        // By bytes: names of certificates are in it.
        for byte in target.encoded() {
            text.append(byte)
            if byte == 0x0A { text += "    ".utf8 }
        }
        return text
    }

    /// A target as a line, which is a document of its own.
    package static func line(_ target: JSONValue) -> [UInt8] {
        guard let members = target.members else { return [] }
        return JSONValue.object([.init("schema", .string(lineSchema))] + members).encoded(pretty: false) + [0x0A]
    }
}

/// What a target of a sharded run says about its place in the whole list.
package struct ShardMark: Sendable, Equatable {
    package let shard: Shard
    /// Its place in the list, from 0.
    package let place: Int
    package let targets: Int
    /// The digest of all targets in their order: places of another list say nothing. Nil in results of earlier versions.
    package let list: String?
    package let os: String
    package let sdk: String?

    package init(shard: Shard, place: Int, targets: Int, list: String?, os: String, sdk: String?) {
        self.shard = shard
        self.place = place
        self.targets = targets
        self.list = list
        self.os = os
        self.sdk = sdk
    }

    private static let member = "shard"

    /// The target with the mark as its first member.
    package func added(to target: JSONValue) -> JSONValue {
        let mark: JSONValue = [
            "number": .integer(shard.number), "of": .integer(shard.count), "index": .integer(place),
            "targets": .integer(targets), "list": .optional(list), "os": .string(os), "sdk": .optional(sdk),
        ]
        return .object([.init(ShardMark.member, mark)] + (target.members ?? []))
    }

    /// The target as a run without shards has it.
    package static func removed(from target: JSONValue) -> JSONValue {
        .object(
            (target.members ?? []).filter { !$0.name.hasSameBytes(as: member) && !$0.name.hasSameBytes(as: "schema") })
    }

    /// The mark of a target; nil if it has none, or one that no run writes.
    package init?(of target: JSONValue) {
        guard let mark = target.member(ShardMark.member), case .integer(let number)? = mark.member("number"),
            case .integer(let count)? = mark.member("of"), case .integer(let place)? = mark.member("index"),
            case .integer(let targets)? = mark.member("targets"), let shard = Shard(number, of: count),
            (0..<max(0, targets)).contains(place), let os = mark.member("os")?.text
        else { return nil }
        self.init(
            shard: shard, place: place, targets: targets, list: mark.member("list")?.text, os: os,
            sdk: mark.member("sdk")?.text)
    }

    /// Whether two targets are of one list, divided in one way, on one system.
    func isOfSameRun(as other: ShardMark) -> Bool {
        shard.count == other.shard.count && targets == other.targets && (list ?? "").hasSameBytes(as: other.list ?? "")
            && os.hasSameBytes(as: other.os) && (sdk ?? "").hasSameBytes(as: other.sdk ?? "")
    }
}
