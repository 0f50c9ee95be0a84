// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Vocabulary

extension DotNetProject {
    /// The largest project file, and the largest file that one imports, in bytes.
    static let fileBytes = 4 << 20
}

extension ProjectEvaluation.FileAccess {
    /// The files of the tree that a project belongs to: the folder that is searched, and the one of the topmost `Directory.Build.props`
    /// above the project. Nothing outside both is read, whatever a project imports.
    ///
    /// - Parameters:
    ///   - project: the project's path.
    ///   - root: the folder that is searched, without links; nil for the project's own.
    static func tree(of project: String, root: String?) -> Self {
        let folder = project.parentFolder.isEmpty ? "." : project.parentFolder
        var roots = [root ?? SystemFile.resolved(folder)].compactMap { $0 }
        var above = SystemFile.resolved(folder) ?? folder
        for _ in 0..<32 {
            let props = (above == "/" ? "" : above) + "/Directory.Build.props"
            if SystemFile.status(of: props, followingLinks: true) != nil { roots.append(above) }
            if above == "/" || above.isEmpty { break }
            above = above.parentFolder
        }
        let trees = roots
        @Sendable func isInside(_ resolved: String) -> Bool {
            trees.contains {
                UTF8Key($0) == UTF8Key(resolved) || resolved.utf8.starts(with: ($0 == "/" ? $0 : $0 + "/").utf8)
            }
        }
        return Self(
            file: { (path: String) throws(MalformedInput) -> [UInt8]? in
                guard let resolved = SystemFile.resolved(path), isInside(resolved) else { return nil }
                do throws(InputFault) {
                    let bytes = try InputFile.open(resolved).contents(limit: DotNetProject.fileBytes)
                    return bytes.count <= DotNetProject.fileBytes ? bytes : nil
                } catch {
                    throw .file(error)
                }
            },
            exists: { isThere($0, isInside) }
        )
    }

    /// Whether a path is there; nil if it leads out of the trees, whatever is there.
    private static func isThere(_ path: String, _ isInside: (String) -> Bool) -> Bool? {
        var (place, isThere) = (path, true)
        // What is not there has no resolved path: the nearest folder above it says whether it would lie inside.
        for _ in 0..<64 {
            if let resolved = SystemFile.resolved(place) { return isInside(resolved) ? isThere : nil }
            // A link that leads nowhere leads anywhere.
            if SystemFile.status(of: place, followingLinks: false) != nil || place == "." { return nil }
            isThere = false
            let above = place.parentFolder
            place = above.isEmpty ? "." : above
        }
        return nil
    }
}
