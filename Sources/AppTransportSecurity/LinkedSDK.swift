// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import PropertyLists
import Vocabulary

/// The SDK that an app is linked on, in the numbering of iOS: macOS 10.11 is 9, macOS 15 is 18, and since 26 all systems have one number.
///
/// Some rules hold "for apps linked on or after" a release, so what a system does depends on both. In apps that are linked on an SDK before 9
/// App Transport Security is off.
public struct LinkedSDK: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// One of ``known``.
    package let number: Int

    /// The numbers that there may be: up to the newest of the table of profiles.
    package static let known = 1...(ProfileTable.iOS.last?.number.major ?? 9)

    /// Nil for numbers outside ``known``.
    package init?(number: Int) {
        guard LinkedSDK.known.contains(number) else { return nil }
        self.number = number
    }

    /// A number as text: `26`. Nil for anything else.
    public init?(_ text: String) {
        guard let number = text.decimalNumber(digits: 2) else { return nil }
        self.init(number: number)
    }

    /// The number of the SDK as text.
    public var description: String { String(number) }

    public static func < (left: LinkedSDK, right: LinkedSDK) -> Bool { left.number < right.number }
}

extension LinkedSDK {
    /// The platforms whose SDKs count in their own way until 26.
    package enum Platform: String, Sendable {
        case iOS, tvOS, watchOS, visionOS, macOS

        /// How far the numbers of its releases were behind those of iOS of the same year, until 26. macOS 10 had numbers of another kind.
        package var behindIOS: Int {
            switch self {
            case .iOS, .tvOS: 0
            case .watchOS: 7
            case .visionOS: 16
            case .macOS: 3
            }
        }

        /// The platform by the name of its SDK: `iphoneos`, `macosx`.
        package init?(sdkName: String) {
            switch sdkName {
            case "iphoneos", "iphonesimulator": self = .iOS
            case "appletvos", "appletvsimulator": self = .tvOS
            case "watchos", "watchsimulator": self = .watchOS
            case "xros", "xrsimulator": self = .visionOS
            case "macosx": self = .macOS
            default: return nil
            }
        }
    }

    /// A version of a platform's SDK, named by the iOS version of the same year.
    ///
    /// What is newer than every known SDK counts as the newest. Nil is what is no version.
    package init?(_ platform: Platform, major: Int, minor: Int) {
        guard (1...999).contains(major), minor >= 0 else { return nil }
        var number = major
        if major < 26 {
            number = platform == .macOS && major == 10 ? min(minor, 15) - 2 : major + platform.behindIOS
            // No SDK has a number from 19 to 25, and those of the first versions of OS X all count as old ones.
            number = max(min(number, 18), LinkedSDK.known.lowerBound)
        }
        self.init(number: min(number, LinkedSDK.known.upperBound))
    }

    /// What an Info.plist says of the SDK that its app was built with: `DTSDKName`, or else `DTPlatformVersion`. Nil if it says nothing.
    package init?(infoPlist root: PlistNode) {
        self.init(infoPlist: { root[$0]?.string })
    }

    /// The same of a list in any form.
    ///
    /// - Parameter string: the string of a key; nil if there is none.
    package init?(infoPlist string: (String) -> String?) {
        if let name = string("DTSDKName"), name.utf8.count <= 64 {
            let letters = name.utf8.prefix { !(0x30...0x39).contains($0) }
            if let platform = Platform(sdkName: String(decoding: letters, as: UTF8.self)),
                let sdk = LinkedSDK(platform, version: name.utf8[letters.endIndex...])
            {
                self = sdk
                return
            }
        }
        guard let version = string("DTPlatformVersion"), version.utf8.count <= 64 else { return nil }
        let stated = string("DTPlatformName").flatMap { Platform(sdkName: $0) }
        let isMac = string("LSMinimumSystemVersion") != nil && string("MinimumOSVersion") == nil
        self.init(stated ?? (isMac ? .macOS : .iOS), version: version.utf8[...])
    }

    private init?(_ platform: Platform, version: Substring.UTF8View) {
        var numbers: [Int] = []
        for part in version.split(separator: 0x2E, maxSplits: 2) {
            let digits = part.prefix { (0x30...0x39).contains($0) }
            guard (1...3).contains(digits.count), let number = Int(String(decoding: digits, as: UTF8.self)) else {
                break
            }
            numbers.append(number)
            if digits.count < part.count { break }
        }
        guard let major = numbers.first else { return nil }
        self.init(platform, major: major, minor: numbers.dropFirst().first ?? 0)
    }
}
