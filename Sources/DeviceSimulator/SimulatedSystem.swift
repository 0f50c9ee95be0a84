// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// The system of a simulated device. What it puts into attestations differs from version to version as with real devices.
public struct SimulatedSystem: Hashable, Sendable {
    /// `iphoneos` or `macosx`.
    public let platform: String
    /// For example `27.0.1`.
    public let version: String
    /// For example `24A446`.
    public let build: String

    /// A system of any version, released or not.
    public init(platform: String = "iphoneos", version: String, build: String) {
        self.platform = platform
        self.version = version
        self.build = build
    }

    /// An iPhone with the first release of a version, for example `.iOS("17.6")`; App Attest exists from 14 on.
    public static func iOS(_ version: String) -> SimulatedSystem {
        let major = version.split(separator: ".").first.flatMap { Int($0) } ?? 27
        // Build numbers count on from iOS 14's 18A; 26 follows 18.
        let release = major >= 26 ? major - 3 : major + 4
        return SimulatedSystem(version: version, build: "\(release)A100")
    }

    /// A Mac; App Attest exists on Macs from macOS 27 on.
    public static func macOS(_ version: String) -> SimulatedSystem {
        SimulatedSystem(platform: "macosx", version: version, build: "26A100")
    }

    /// The versions that tests go through: one for each change in what devices send.
    public static let catalog: [SimulatedSystem] =
        ["14.2", "15.0", "16.4", "17.6", "18.5", "26.0", "26.1", "27.0"].map(iOS) + [macOS("27.0")]

    private var numbers: [Int] { version.split(separator: ".").map { Int($0) ?? 0 } }
    var major: Int { numbers.first ?? 0 }
    var isMac: Bool { platform == "macosx" }
    /// From iOS 27 on the app's version and category follow the key and every assertion.
    var sendsExtensions: Bool { major >= 27 }
    /// From iOS 26.1 on, and on Macs, the leaf has the key's access control.
    var sendsAccessControl: Bool { isMac || major > 26 || (major == 26 && numbers.dropFirst().first ?? 0 >= 1) }
    /// Up to iOS 18 the key usage properties name the Secure Enclave's key store.
    var namesKeyStore: Bool { major <= 18 }
}
