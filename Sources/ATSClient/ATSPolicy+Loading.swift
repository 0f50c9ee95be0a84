// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppTransportSecurity
public import Findings

extension ATSPolicy {
    /// The policy of an app's Info.plist, XML or binary, as Foundation reads it.
    ///
    /// Foundation takes the last of two equal keys and ignores what follows the document. The `sealward` commands read with `PlistReader` of
    /// AppBundles instead, which reports both; that target stands beside this one and not below it, so that a client needs no reader of archives
    /// (`docs/arrows.json`). Whoever wants its strictness passes `ATSDictionary` what it read: `init(dictionary:profile:)`.
    ///
    /// The SDK that the list names (`DTSDKName`, `DTPlatformVersion`) is the one that the app is linked on, whatever the profile has.
    ///
    /// - Throws: `MalformedInput` with code `malformed.plist`.
    public init(infoPlist bytes: [UInt8], profile: OSProfile = .standard) throws(MalformedInput) {
        let document = try PropertyListValue(propertyList: bytes)
        let sdk = LinkedSDK(infoPlist: { key in
            if case .string(let text)? = document.members?[key] { text } else { nil }
        })
        self.init(
            dictionary: ATSDictionary(document.members?["NSAppTransportSecurity"]),
            profile: sdk.map(profile.linked) ?? profile
        )
    }

    /// The policy of an NSAppTransportSecurity dictionary written as JSON.
    ///
    /// - Throws: `MalformedInput` with code `malformed.json`.
    public init(json bytes: [UInt8], profile: OSProfile = .standard) throws(MalformedInput) {
        self.init(dictionary: ATSDictionary(try PropertyListValue(json: bytes)), profile: profile)
    }
}
