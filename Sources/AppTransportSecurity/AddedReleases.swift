// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import TLSModel
package import Vocabulary

/// Releases that a file adds to the known ones: a system that came out after the program, or one that an operator measured.
///
/// The file is JSON: `releases`, each with `id`, `after` (the release that it is like), `source` and `read` (the citation of what it says), and
/// what differs: `minimumVersion`, `supportsTLS13Minimum`, `readsHardening`, `readsPins`, `readsTransparencyKey`, `requiresTransparency`.
package struct AddedReleases: Sendable {
    package let profiles: [OSProfile]

    /// The most releases of a file.
    private static let limit = 64
    private static let flags: [(name: String, fact: any WritableKeyPath<SystemFacts.Table, Cited<Bool>> & Sendable)] = [
        ("supportsTLS13Minimum", \.supportsTLS13Minimum), ("readsHardening", \.readsHardening),
        ("readsPins", \.readsPins), ("readsTransparencyKey", \.readsTransparencyKey),
        ("requiresTransparency", \.requiresTransparency),
    ]
    private static let members = Set(
        (["id", "after", "source", "read", "minimumVersion"] + flags.map(\.name)).map { UTF8Key($0) })

    package init() { profiles = [] }

    /// Reads a file's bytes.
    ///
    /// - Throws: `MalformedInput` with code `malformed.system`; the reason names the release and the member.
    package init(_ bytes: [UInt8]) throws(MalformedInput) {
        guard let document = try? JSONReader.read(bytes, limits: .outside), let top = document.members, top.count == 1,
            case .array(let list)? = document.member("releases"), list.count <= AddedReleases.limit
        else { throw AddedReleases.fault("the file must be an object with a list of at most 64 releases") }
        var profiles: [OSProfile] = []
        for entry in list { profiles.append(try AddedReleases.profile(entry, beside: profiles)) }
        self.profiles = profiles
    }

    private static func profile(_ entry: JSONValue, beside earlier: [OSProfile]) throws(MalformedInput) -> OSProfile {
        guard let id = entry.member("id")?.text, id.utf8.count <= 32,
            let (family, name) = [("ios", "iOS"), ("macos", "macOS")].first(where: { id.hasPrefix($0.0) }),
            let number = ReleaseNumber(id.dropFirst(family.utf8.count))
        else { throw fault("an id must be ios or macos and a number") }
        func wrong(_ reason: String) -> MalformedInput { fault("\(id): \(reason)") }
        for member in entry.members ?? [] where !members.contains(UTF8Key(member.name)) {
            throw wrong("'\(member.name.terminalSafe(limit: 40))' is not a known member")
        }
        guard OSProfile.named(id)?.id != id, !earlier.contains(where: { $0.id == id }) else {
            throw wrong("is already known")
        }
        guard let after = entry.member("after")?.text,
            let profile = earlier.first(where: { $0.id == after }) ?? OSProfile.named(after), after.hasPrefix(family)
        else { throw wrong("'after' does not name a release of \(name)") }
        guard let source = entry.member("source")?.text, let read = entry.member("read")?.text,
            read.utf8.count == 10, read.utf8.allSatisfy({ 0x30...0x39 ~= $0 || $0 == UInt8(ascii: "-") })
        else { throw wrong("'source' and 'read' (a date) must say where this was read") }
        let citation = Citation(source: source.terminalSafe(limit: 200), read: read)
        var facts = profile.facts.table
        if let value = entry.member("minimumVersion") {
            guard let version = value.text.flatMap(TLSVersionName.init(rawValue:))?.version else {
                throw wrong("'minimumVersion' must be TLSv1.0 to TLSv1.3")
            }
            facts.releaseMinimum = Cited(version, citation, .measured)
        }
        for (name, fact) in flags {
            guard let value = entry.member(name) else { continue }
            guard case .bool(let flag) = value else { throw wrong("'\(name)' is not true or false") }
            facts[keyPath: fact] = Cited(flag, citation, .measured)
        }
        return OSProfile(
            id: id, name: "\(name) \(number.text)", sdk: LinkedSDK(family: family, number), facts: SystemFacts(facts))
    }

    private static func fault(_ reason: String) -> MalformedInput {
        MalformedInput(code: .malformedSystem, reason: reason)
    }
}

extension OSProfile {
    /// The releases that are known beside the table's, for the task that runs inside ``adding(_:_:)`` and its children.
    @TaskLocal private static var added: [OSProfile] = []

    /// Runs something that knows these releases too.
    package static func adding<Value>(
        _ releases: AddedReleases, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
    ) async rethrows -> Value {
        try await $added.withValue(releases.profiles, operation: body)
    }

    /// Every profile, oldest first, iOS before macOS, what a file added after those, `published` last.
    public static var all: [OSProfile] { added.isEmpty ? known + [published] : known + added + [published] }

    /// The ids that there are, for a line of help.
    package static let range: String = ["ios", "macos"].map { family in
        let ids = known.map(\.id).filter { $0.hasPrefix(family) }
        return "\(ids.first ?? "") ... \(ids.last ?? "")"
    }.joined(separator: ", ")

    static let known =
        ProfileTable.releases(of: "ios", "iOS", ProfileTable.iOS)
        + ProfileTable.releases(of: "macos", "macOS", ProfileTable.macOS)
    private static let published = ProfileTable.published
}
