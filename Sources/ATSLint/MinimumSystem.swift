// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import PropertyLists

/// The oldest system that an app runs on.
public struct MinimumSystem: Sendable, Equatable {
    /// The two lines of systems that ATS distinguishes; the others follow iOS.
    package enum Line: String, Sendable {
        /// iOS, and its siblings by the iOS of their year.
        case ios
        /// macOS.
        case macos
    }

    /// Which line of systems.
    package let line: Line
    /// The first number of the version.
    package let major: Int
    /// The second number of the version; 0 where absent.
    package let minor: Int
    /// The version as it was stated, for example `15.0`.
    public let text: String

    /// A system by its id, for example `ios15`, `ios12.2` or `macos10.12`.
    public init?(id: String) {
        guard let line = [Line.macos, .ios].first(where: { id.hasPrefix($0.rawValue) }) else { return nil }
        self.init(line: line, version: String(id.dropFirst(line.rawValue.count)))
    }

    /// The minimum that an Info.plist states. Nil where it states none or leaves it to the build.
    package init?(infoPlist root: PlistNode) {
        if let text = root["LSMinimumSystemVersion"]?.string, root["MinimumOSVersion"] == nil {
            self.init(line: .macos, version: text)
            return
        }
        guard let text = root["MinimumOSVersion"]?.string else { return nil }
        self.init(line: .ios, version: text, platform: root["DTPlatformName"]?.string ?? "")
    }

    init?(line: Line, version: String, platform: String = "") {
        // A version has a dozen letters; the text stands in every message about old systems.
        guard version.utf8.count <= 32 else { return nil }
        let parts = version.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) }
        guard (1...3).contains(parts.count), let stated = parts.first ?? nil, stated > 0 else { return nil }
        self.line = line
        text = version
        minor = (parts.count > 1 ? parts[1] : nil) ?? 0
        // Versions of the other systems, told as the iOS version of the same year.
        switch platform {
        case "watchos", "watchsimulator": major = stated < 26 ? stated + 7 : stated
        case "xros", "xrsimulator": major = stated < 26 ? stated + 16 : stated
        default: major = stated
        }
    }

    /// Whether the app also runs on systems older than these.
    package func isBefore(ios: (Int, Int), macos: (Int, Int)) -> Bool {
        let limit = line == .ios ? ios : macos
        return (major, minor) < limit
    }

    /// The name for people, for example `iOS 15.0`.
    package var name: String { (line == .ios ? "iOS " : "macOS ") + text }
}
