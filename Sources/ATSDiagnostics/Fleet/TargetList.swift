// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import TLSProbe
package import Vocabulary

/// Any number of targets in little memory: their text, one after the other. A target is read again when its turn comes.
///
/// 50,000 targets as values of their own take 15 MB, as text 2 MB.
package struct TargetList: Sendable {
    /// Whether `http` is read as `https`, as nscurl does.
    package let isForNSCurl: Bool
    private var bytes: [UInt8] = []
    /// Where each text ends in ``bytes``, and the next begins.
    private var ends: [UInt32] = []
    /// Where a target is checked at one address of several.
    private var addresses: [Int: String] = [:]
    /// Those that may not be at every address.
    private var scopes: [Int: FetchScope] = [:]

    /// The most bytes of text: what ``ends`` can count.
    private static let limit = Int(UInt32.max)

    package init(isForNSCurl: Bool = false) { self.isForNSCurl = isForNSCurl }

    /// A list of targets that were read already.
    ///
    /// - Throws: as ``append(_:)``, for more text than a list holds.
    package init(_ targets: [CheckTarget]) throws(MalformedInput) {
        self.init()
        for target in targets { try add(target.displayURL, target.address, target.scope) }
    }

    package var count: Int { ends.count }
    package var isEmpty: Bool { ends.isEmpty }

    /// Adds what a user wrote, after reading it once.
    ///
    /// - Throws: `MalformedInput` with code `malformed.url`.
    @discardableResult package mutating func append(_ text: String) throws(MalformedInput) -> CheckTarget {
        let target = try read(text)
        try add(text, nil, .named)
        return target
    }

    private mutating func add(_ text: String, _ address: String?, _ scope: FetchScope) throws(MalformedInput) {
        guard text.utf8.count <= TargetList.limit - bytes.count else {
            throw MalformedInput(
                code: .malformedURL, reason: "the targets have more than 4 GiB of text; use several lists")
        }
        if let address { addresses[count] = address }
        if scope != .named { scopes[count] = scope }
        bytes += text.utf8
        ends.append(UInt32(clamping: bytes.count))
    }

    /// The target at a place.
    ///
    /// - Throws: `MalformedInput` for a place that the list does not have; every text in it was read before.
    package func target(at place: Int) throws(MalformedInput) -> CheckTarget {
        guard let text = text(at: place) else {
            throw MalformedInput(code: .malformedURL, reason: "the list has no place \(place)")
        }
        var target = try read(String(decoding: text, as: UTF8.self)).pinned(to: addresses[place])
        target.scope = scopes[place] ?? .named
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
        for place in ends.indices { targets.append(try target(at: place)) }
        return targets
    }

    /// A target's text as it was written, and the address that it is checked at.
    package func identity(at place: Int) -> [UInt8] {
        Array(text(at: place) ?? []) + (addresses[place].map { [0x20] + Array($0.utf8) } ?? [])
    }

    /// Each target once for every address that `addresses` gives, in the order of their bytes: a name server gives them in another order each time.
    /// One without any stays as it is.
    ///
    /// - Parameter concurrency: targets that are asked for at a time.
    /// - Throws: `MalformedInput` for more text than a list holds; `CancellationError`.
    package func expanded(
        concurrency: Int, _ addresses: @escaping @Sendable (CheckTarget) async -> [String]
    ) async throws -> TargetList {
        var found = [[String]](repeating: [], count: count)
        try await BoundedTasks(width: concurrency).run(Array(ends.indices)) { _, place in
            await addresses(try target(at: place))
        } each: { place, answer in
            found[place] = answer.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        }
        try Task.checkCancellation()
        var list = TargetList(isForNSCurl: isForNSCurl)
        for (place, addresses) in found.enumerated() {
            let text = String(decoding: text(at: place) ?? [], as: UTF8.self)
            let scope = scopes[place] ?? .named
            if addresses.isEmpty { try list.add(text, nil, scope) }
            for address in addresses { try list.add(text, address, scope) }
        }
        return list
    }

    private func read(_ text: String) throws(MalformedInput) -> CheckTarget {
        isForNSCurl ? try CheckTarget(nscurl: text) : try CheckTarget(text)
    }

    private func text(at place: Int) -> ArraySlice<UInt8>? {
        guard ends.indices.contains(place) else { return nil }
        let start = place == 0 ? 0 : Int(ends[place - 1])
        return bytes[start..<Int(ends[place])]
    }
}
