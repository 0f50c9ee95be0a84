// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppTransportSecurity
package import PropertyLists

/// The oldest system that an app runs on.
public struct MinimumSystem: Sendable, Equatable {
    /// The two lines of systems that ATS distinguishes; the others follow iOS.
    package enum Line: String, Sendable {
        /// iOS, and its siblings by the iOS of their year.
        case ios
        case macos
    }

    package let line: Line
    private let platform: LinkedSDK.Platform
    /// The first number of the version; for watchOS and visionOS that of iOS of the same year.
    package let major: Int
    /// The second number of the version; 0 if absent.
    package let minor: Int
    /// The version as it was stated, for example `15.0`.
    package let text: String

    /// A system by its id, for example `ios15`, `ios12.2`, `macos10.12` or `watchos8`.
    public init?(id: String) {
        let platforms: KeyValuePairs<String, LinkedSDK.Platform> = [
            "ios": .iOS, "macos": .macOS, "tvos": .tvOS, "watchos": .watchOS, "visionos": .visionOS,
        ]
        guard let (prefix, platform) = platforms.first(where: { id.hasPrefix($0.key) }) else { return nil }
        self.init(platform, version: String(id.dropFirst(prefix.count)))
    }

    /// The minimum that an Info.plist states. Nil if it states none or leaves it to the build.
    package init?(infoPlist root: PlistNode) {
        if let text = root["LSMinimumSystemVersion"]?.string, root["MinimumOSVersion"] == nil {
            self.init(.macOS, version: text)
            return
        }
        guard let text = root["MinimumOSVersion"]?.string else { return nil }
        let platform = root["DTPlatformName"]?.string.flatMap { LinkedSDK.Platform(sdkName: $0) } ?? .iOS
        // Mac Catalyst states the version of iOS.
        self.init(platform == .macOS ? .iOS : platform, version: text)
    }

    private init?(_ platform: LinkedSDK.Platform, version: String) {
        // A version has a dozen letters; the text stands in every message about old systems.
        guard version.utf8.count <= 32 else { return nil }
        let parts = version.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) }
        guard (1...3).contains(parts.count), let stated = parts.first ?? nil, stated > 0 else { return nil }
        self.platform = platform
        line = platform == .macOS ? .macos : .ios
        text = version
        minor = (parts.count > 1 ? parts[1] : nil) ?? 0
        major = line == .ios && stated < 26 ? stated + platform.behindIOS : stated
    }

    /// Whether the app also runs on systems before a change.
    package func isBefore(_ change: SystemChange) -> Bool {
        change.isLater(than: (major, minor), of: line.rawValue)
    }

    package var name: String { "\(platform.rawValue) \(text)" }
}
