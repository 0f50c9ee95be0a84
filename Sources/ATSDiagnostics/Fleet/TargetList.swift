// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import TLSProbe
package import Vocabulary

/// Any number of targets in little memory: a target is kept as its text and read again when its turn comes.
package struct TargetList: Sendable {
    private struct Entry: Sendable {
        let text: String
        /// Set if the target is checked at one address of several.
        let address: String?
        let scope: FetchScope
    }

    /// Whether `http` is read as `https`, as nscurl does.
    package let isForNSCurl: Bool
    private var entries: [Entry] = []

    package init(isForNSCurl: Bool = false) { self.isForNSCurl = isForNSCurl }

    package init(_ targets: [CheckTarget]) {
        self.init()
        entries = targets.map { Entry(text: $0.displayURL, address: $0.address, scope: $0.scope) }
    }

    package var count: Int { entries.count }
    package var isEmpty: Bool { entries.isEmpty }

    /// Adds what a user wrote, after reading it once.
    @discardableResult package mutating func append(_ text: String) throws(MalformedInput) -> CheckTarget {
        let target = try read(text)
        entries.append(Entry(text: text, address: nil, scope: .named))
        return target
    }

    /// The target at a place.
    ///
    /// - Throws: `MalformedInput` for a place that the list does not have; every text in it was read before.
    package func target(at place: Int) throws(MalformedInput) -> CheckTarget {
        guard entries.indices.contains(place) else {
            throw MalformedInput(code: .malformedURL, reason: "the list has no place \(place)")
        }
        var target = try read(entries[place].text)
        target.address = entries[place].address
        target.scope = entries[place].scope
        return target
    }

    /// What a target is called from run to run: its URL, and its address if it is checked at one of several.
    package func name(at place: Int) throws(MalformedInput) -> String {
        let target = try target(at: place)
        return target.url.text + (target.address.map { " " + $0 } ?? "")
    }

    /// Every target, for lists that are small.
    package func all() throws(MalformedInput) -> [CheckTarget] {
        var targets: [CheckTarget] = []
        for place in entries.indices { targets.append(try target(at: place)) }
        return targets
    }

    /// A target's text as it was written, and the address that it is checked at.
    package func identity(at place: Int) -> String {
        guard entries.indices.contains(place) else { return "" }
        return entries[place].text + (entries[place].address.map { " " + $0 } ?? "")
    }

    /// Each target once for every address that `addresses` gives, in the order of their bytes: a name server gives them in another order each time.
    /// One without any stays as it is.
    ///
    /// - Parameter concurrency: targets that are asked for at a time.
    package func expanded(
        concurrency: Int, _ addresses: @escaping @Sendable (CheckTarget) async -> [String]
    ) async throws -> TargetList {
        var found = [[String]](repeating: [], count: count)
        try await BoundedTasks(width: concurrency).run(Array(entries.indices)) { _, place in
            await addresses(try target(at: place))
        } each: { place, answer in
            found[place] = answer.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        }
        try Task.checkCancellation()
        var list = TargetList(isForNSCurl: isForNSCurl)
        list.entries = zip(entries, found).flatMap { entry, addresses in
            addresses.isEmpty
                ? [Entry(text: entry.text, address: nil, scope: entry.scope)]
                : addresses.map { Entry(text: entry.text, address: $0, scope: entry.scope) }
        }
        return list
    }

    private func read(_ text: String) throws(MalformedInput) -> CheckTarget {
        isForNSCurl ? try CheckTarget(nscurl: text) : try CheckTarget(text)
    }
}
