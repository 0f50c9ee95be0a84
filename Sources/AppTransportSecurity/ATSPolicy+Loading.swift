// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import PropertyLists
public import Vocabulary

extension ATSPolicy {
    /// The policy of an app's Info.plist, XML or binary.
    ///
    /// As in Apple's parser, of two equal keys the last one counts and what follows the document is ignored; `PlistReader` reports both. The
    /// SDK that the list names (`DTSDKName`, `DTPlatformVersion`) is the one that the app is linked on, whatever the profile has.
    ///
    /// - Throws: `MalformedInput` with code `malformed.plist`, the place and the fix.
    public init(infoPlist bytes: [UInt8], profile: OSProfile = .standard) throws(MalformedInput) {
        let root = try PlistReader.read(bytes).root
        self.init(
            dictionary: ATSDictionary(root[ATSKey.dictionary]?.propertyListValue),
            profile: LinkedSDK(infoPlist: root).map(profile.linked) ?? profile)
    }

    /// The policy of an NSAppTransportSecurity dictionary written as JSON.
    ///
    /// - Throws: `MalformedInput` with code `malformed.json`.
    public init(json bytes: [UInt8], profile: OSProfile = .standard) throws(MalformedInput) {
        self.init(dictionary: ATSDictionary(try PropertyListValue(json: bytes)), profile: profile)
    }
}
