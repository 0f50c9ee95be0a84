// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppTransportSecurity
package import PropertyLists
package import Vocabulary

package struct FoundPlist: Sendable {
    package enum Origin: Sendable, Equatable {
        case file
        /// The build generates the list; the document points into the project file.
        case generated
        /// Nothing was found; so many files were looked at.
        case nothing(files: Int)
    }

    /// As reports show it: below the path that was given.
    package let path: String
    package let document: PlistDocument
    package private(set) var place: BundlePath?
    package var stack: DotNetStack?
    package private(set) var origin = Origin.file
    /// The SDK that the executable beside the list names.
    private(set) var executableSDK: LinkedSDK?
    /// What the code signature or the embedded profile says about App Attest.
    package var attest: AttestEntitlement?

    /// The SDK of the app, by its executable or else by the list itself.
    package var sdk: LinkedSDK? { executableSDK ?? LinkedSDK(infoPlist: document.root) }
}

package struct FoundPlists: Sendable {
    package var lists: [FoundPlist] = []
    /// Files that are Info.plists or archives by name and could not be read.
    package var unreadable: [(path: String, fault: MalformedInput)] = []
    /// Folders that were passed over, because they hold what was built or fetched: the first hundred.
    package var skipped: [String] = []
    package var files = 0
}
