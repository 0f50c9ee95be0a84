// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import PropertyLists
import Vocabulary

/// What one run may still keep and unfold, over all paths, folders and archives that it reads: each limit of a single file would
/// otherwise hold a thousand times over.
package final class ReadingBudget {
    /// Bytes of lists that are kept until the report is written, as ``weight(of:)`` counts them.
    var kept = ReadingLimits.keptBytes
    /// Bytes of lists that archives unfold to, in the file and in memory.
    var unfolded = ReadingLimits.unfoldedBytes
    /// Bytes of profiles that are searched for entitlements.
    var claims = ReadingLimits.claimBytes
    /// Bytes of executables that archives unfold to.
    var executables = ReadingLimits.executableBytes
    var projects = ReadingLimits.projectBytes

    package init() {}

    /// Takes a list into what is kept.
    func keep(_ document: PlistDocument, path: String) throws(MalformedInput) {
        let weight = ReadingBudget.weight(of: document) + path.utf8.count * 8
        guard weight <= kept else {
            throw .plist(
                "",
                "is not linted: with it the lists of this run take more than \(ReadingLimits.keptBytes >> 20) MiB of memory; lint its folder alone"
            )
        }
        // Safe: the guard above compared them.
        kept -= weight
    }

    /// Takes bytes from what is left of one kind: false if that is less.
    func take(_ count: Int, from rest: ReferenceWritableKeyPath<ReadingBudget, Int>) -> Bool {
        guard count >= 0, count <= self[keyPath: rest] else { return false }
        // Safe: the guard above compared them.
        self[keyPath: rest] -= count
        return true
    }

    /// Reads a project.
    ///
    /// - Throws: as `ProjectMarkup`, and if that is more than the projects of a run may have.
    func markup(_ bytes: [UInt8]) throws(MalformedInput) -> ProjectMarkup.Element {
        guard take(bytes.count, from: \.projects) else {
            throw .plist(
                "",
                "is not evaluated: the .NET projects of this run have more than \(ReadingLimits.projectBytes >> 20) MiB; lint its folder alone"
            )
        }
        return try ProjectMarkup.read(bytes)
    }

    /// About how many bytes of memory a document takes, its text included.
    static func weight(of document: PlistDocument) -> Int {
        var total = 4096 + document.source.count
        for oddity in document.oddities { total += 96 + oddity.keyPath.count * 16 }
        // Depth is bounded by the readers.
        // Safe: the document is in memory.
        return total + weight(of: document.root)
    }

    private static func weight(of node: PlistNode) -> Int {
        switch node.value {
        case .string(let text): 72 + text.utf8.count
        case .data(let bytes): 104 + bytes.count
        case .array(let elements): elements.reduce(96) { $0 + weight(of: $1) + 24 }
        case .dictionary(let members): members.reduce(96) { $0 + weight(of: $1.node) + 88 + $1.key.utf8.count }
        case .integer, .real, .boolean, .date: 56
        }
    }
}
