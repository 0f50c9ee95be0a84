// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Foundation

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
            if isThere((above == "/" ? "" : above) + "/Directory.Build.props") { roots.append(above) }
            if above == "/" || above.isEmpty { break }
            above = above.parentFolder
        }
        let trees = roots
        return Self(
            file: { (path: String) throws(MalformedInput) -> [UInt8]? in
                guard let resolved = SystemFile.resolved(path),
                    trees.contains(where: { resolved.utf8.starts(with: ($0 == "/" ? $0 : $0 + "/").utf8) })
                else { return nil }
                do throws(InputFault) {
                    let bytes = try InputFile.open(resolved).contents(limit: DotNetProject.fileBytes)
                    return bytes.count <= DotNetProject.fileBytes ? bytes : nil
                } catch {
                    throw .file(error)
                }
            },
            exists: isThere
        )
    }

    @Sendable private static func isThere(_ path: String) -> Bool {
        SystemFile.status(of: path, followingLinks: true) != nil
    }
}
