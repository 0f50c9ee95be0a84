// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import PropertyLists
import Vocabulary

/// The limits of what is read, beside those of property lists. Each is far above what a real app has, and low enough to bound time and memory.
package enum ReadingLimits {
    package static let archiveBytes = 4 << 30
    package static let archiveEntries = 200_000
    /// The most bytes of the directory of an archive. The limit of entries, at 160 bytes each, needs 32 MB.
    package static let directoryBytes = 40 << 20
    /// The most bytes of a name in an archive, which is the longest path of Linux and four of macOS.
    package static let nameBytes = 4_096
    /// How many times larger than its packed form an entry may be; deflate itself stops at 1032.
    package static let expansion = 1_000
    /// The most bytes of memory that the lists of one run take together.
    package static let keptBytes = 128 << 20
    /// The most bytes of lists that the archives of one run unfold to.
    package static let unfoldedBytes = 256 << 20
    /// The most bytes of profiles that one run searches for entitlements. A real profile is under 1 MB.
    package static let claimBytes = 64 << 20
    /// The most bytes of executables that the archives of one run unfold to.
    package static let executableBytes = 4 << 30
    /// Bytes of .NET projects that a run reads: a thousand projects with 30 kB each.
    package static let projectBytes = 32 << 20
    /// The projects of one folder that are looked at.
    static let folderProjects = 64
    /// The most files that are named as unreadable.
    package static let unreadable = 10_000
    /// The most bytes of an archive that comes by a pipe.
    package static let streamBytes = 256 << 20
    /// The most values of a property list of entitlements, or of a profile with every device that Apple lets a team have.
    package static let claimValues = 20_000
    /// The most files that a search looks at.
    package static let searchedFiles = 2_000_000
    /// The deepest folder that a search enters.
    package static let folderDepth = 64
}

extension MalformedInput {
    /// A file that is not opened, or cannot be read.
    static func file(_ fault: InputFault) -> MalformedInput { .plist("", fault.reason) }

    static func archive(_ place: String, _ reason: String) -> MalformedInput {
        MalformedInput(code: .malformedArchive, place: place, reason: reason)
    }
}
