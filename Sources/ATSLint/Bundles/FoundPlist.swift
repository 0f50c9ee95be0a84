// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppTransportSecurity
package import PropertyLists
package import Vocabulary

/// An Info.plist that a search found.
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
    package let place: BundlePath?
    package var stack: DotNetStack?
    package let origin: Origin
    /// The SDK that the executable beside the list, or else the list itself, names.
    package let sdk: LinkedSDK?
    /// What the code signature or the embedded profile says about App Attest.
    package var attest: AttestEntitlement?

    init(
        path: String, document: PlistDocument, place: BundlePath? = nil, stack: DotNetStack? = nil,
        origin: Origin = .file, sdk: LinkedSDK? = nil, attest: AttestEntitlement? = nil
    ) {
        self.path = path
        self.document = document
        self.place = place
        self.stack = stack
        self.origin = origin
        self.sdk = sdk ?? LinkedSDK(infoPlist: document.root)
        self.attest = attest
    }
}

/// The outcome of a search.
package struct FoundPlists: Sendable {
    package var lists: [FoundPlist] = []
    /// Files that are Info.plists or archives by name and could not be read.
    package var unreadable: [(path: String, fault: MalformedInput)] = []
    /// Folders that were passed over, because they hold what was built or fetched: the first hundred.
    package var skipped: [String] = []
    /// How many files were looked at.
    package var files = 0
}
