// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import Formats
import Foundation
import FuzzDriver
import Vocabulary

/// Two results of `ats check`, with a zero byte between them: they are refused, or what `merge` makes of them is a result that it reads
/// itself, with the same targets.
@main enum FuzzMerge {
    static let folder = FileManager.default.temporaryDirectory.appending(path: "fuzz-merge-\(getpid())")

    static func main() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        FuzzDriver.run(corpus: "merge") { input in
            let parts = input.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false).map(Array.init)
            guard let merged = try? lines(of: parts) else { return }
            guard let again = try? lines(of: [merged.flatMap { $0 }]) else {
                preconditionFailure("merge cannot read what it wrote")
            }
            precondition(again.count == merged.count, "a target is lost or doubled")
        }
    }

    /// The targets as lines, in their order.
    static func lines(of files: [[UInt8]]) throws -> [[UInt8]] {
        var sources: [ResultMerge.Source] = []
        for (index, bytes) in files.enumerated() {
            let path = folder.appending(path: "\(index)").path
            precondition(FileManager.default.createFile(atPath: path, contents: Data(bytes)))
            sources.append(.init(name: "\(index)", file: try InputFile.open(path)))
        }
        let merge = try ResultMerge(sources)
        var lines: [[UInt8]] = []
        try merge.each { lines.append(CheckedTargets.line($0)) }
        precondition(merge.verdicts.values.reduce(0, +) == lines.count, "the verdicts are not those of the targets")
        precondition(merge.missing >= 0 && merge.missingShards.count <= 100)
        return lines
    }
}
