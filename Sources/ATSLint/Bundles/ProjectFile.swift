// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
package import PropertyLists
package import Vocabulary

/// Files of projects from which an Info.plist is made, and files that are easily taken for one.
package enum ProjectFile {
    /// Whether a search of a folder looks at a file of this name.
    static func isKnown(_ name: String) -> Bool {
        names.contains(name) || name.hasPrefix("app.config.")
    }

    private static let names: Set<String> = ["app.json", "package.json", "config.xml"]

    /// The Info.plist that a project file writes out literally; nil if it is no such file.
    ///
    /// - Parameter name: the file's name without its folder.
    /// - Throws: `malformed.property-list` with what the file is and how to get the Info.plist.
    package static func document(_ name: String, _ bytes: [UInt8]) throws(MalformedInput) -> PlistDocument? {
        switch name {
        case "app.json", "app.config.json":
            guard (try? PlistDocument(json: bytes, below: ["expo"])) != nil else { return nil }
            guard let list = try PlistDocument(json: bytes, below: ["expo", "ios", "infoPlist"]) else { throw expo }
            return list
        case "package.json":
            return try? PlistDocument(json: bytes, below: ["build", "mac", "extendInfo"])
        case "config.xml":
            guard contains(bytes, "<widget") else { return nil }
            throw .plist(
                "",
                "this is the config.xml of a Cordova or Ionic project, which `cordova prepare ios` turns into an Info.plist: run that, and name the Info.plist below platforms/ios"
            )
        case _ where name.hasPrefix("app.config."):
            guard contains(bytes, "expo") || contains(bytes, "infoPlist") || contains(bytes, "ios") else { return nil }
            throw expo
        default: return nil
        }
    }

    private static let expo = MalformedInput.plist(
        "",
        "this is an Expo project whose Info.plist does not exist yet: run `npx expo prebuild` and name ios/NAME/Info.plist"
    )

    /// What a list is that is no Info.plist: the entitlements of an app.
    ///
    /// - Throws: `malformed.property-list` with what it is, and what it lacks for the network.
    package static func refuseEntitlements(_ document: PlistDocument, name: String) throws(MalformedInput) {
        let keys = document.root.members?.map(\.key) ?? []
        guard document.root["CFBundleIdentifier"] == nil, document.root[ATSKey.dictionary] == nil,
            name.hasSuffix(".entitlements")
                || !keys.isEmpty
                    && keys.allSatisfy({ $0.hasPrefix("com.apple.") || $0.hasPrefix("application-identifier") })
        else { return }
        func isTrue(_ key: String) -> Bool {
            if case .boolean(true)? = document.root[key]?.value { true } else { false }
        }
        let isSandboxed = isTrue("com.apple.security.app-sandbox")
        let mayConnect = isTrue("com.apple.security.network.client")
        throw .plist(
            "",
            "this is an entitlements file, not an Info.plist"
                + (isSandboxed && !mayConnect
                    ? "; the app is sandboxed and com.apple.security.network.client is not true, so it cannot connect to any server"
                    : ""))
    }

    private static func contains(_ bytes: [UInt8], _ word: String) -> Bool {
        String(decoding: bytes.prefix(1 << 16), as: UTF8.self).contains(word)
    }
}
