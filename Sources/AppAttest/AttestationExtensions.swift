// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats

/// What a device on iOS 27 or later says about the app, in an attestation and in each assertion.
public struct AttestationExtensions: Hashable, Sendable {
    /// `apple_bundle_version_01`: the app's `CFBundleVersion`.
    public let bundleVersion: String?
    /// `apple_validation_category_01`: how the app was distributed.
    public let validationCategory: ValidationCategory?
    /// Keys that this version does not know, with their values as CBOR, in the order of the object.
    package let unknown: [UnknownEntry]
    /// The whole map as CBOR.
    package let encoded: [UInt8]

    /// A key that this version does not know.
    package struct UnknownEntry: Hashable, Sendable {
        /// The key, as it stands.
        package let key: String
        /// The value as CBOR.
        package let encodedValue: [UInt8]
    }

    /// Reads the map that follows the key; nil if the item is not one, or if a known key has an unknown kind of value.
    init?(_ item: CBORItem, encoded: ArraySlice<UInt8>) {
        guard let entries = item.entries else { return nil }
        var version: String?
        var category: ValidationCategory?
        var unknown: [UnknownEntry] = []
        for entry in entries {
            guard let key = entry.key.textString else { return nil }
            switch key {
            case "apple_bundle_version_01":
                guard let text = entry.value.textString else { return nil }
                version = text
            case "apple_validation_category_01":
                guard let number = AttestationExtensions.category(entry.value) else { return nil }
                category = ValidationCategory(rawValue: number)
            default:
                unknown.append(UnknownEntry(key: key, encodedValue: entry.value.encoded))
            }
        }
        bundleVersion = version
        validationCategory = category
        self.unknown = unknown
        self.encoded = Array(encoded)
    }

    /// A 32-bit number, as Apple documents it, or its four bytes from the lowest, as devices write it; nil for anything else.
    private static func category(_ value: CBORItem) -> UInt32? {
        switch value {
        case .unsigned(let number): UInt32(exactly: number)
        case .bytes(let bytes) where bytes.count == 4: bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
        default: nil
        }
    }
}

/// How an app was distributed to a device, in the system's own numbers. New numbers may appear, so this is not an enumeration.
public struct ValidationCategory: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// 1: part of the operating system.
    public static let platform = ValidationCategory(rawValue: 1)
    /// 2: TestFlight.
    public static let testFlight = ValidationCategory(rawValue: 2)
    /// 3: signed for development.
    public static let development = ValidationCategory(rawValue: 3)
    /// 4: the App Store.
    public static let appStore = ValidationCategory(rawValue: 4)
    /// 5: enterprise or ad hoc distribution.
    public static let enterprise = ValidationCategory(rawValue: 5)
    /// 6: Developer ID, on a Mac.
    public static let developerId = ValidationCategory(rawValue: 6)
    /// 10: none of the others.
    public static let other = ValidationCategory(rawValue: 10)

    public var description: String { String(rawValue) }

    /// The number with its meaning, for people: `3 (development)`.
    package var named: String {
        let meaning: String? =
            switch self {
            case .platform: "system"
            case .testFlight: "TestFlight"
            case .development: "development"
            case .appStore: "App Store"
            case .enterprise: "enterprise or ad hoc"
            case .developerId: "Developer ID"
            case .other: "other"
            default: nil
            }
        return meaning.map { "\(rawValue) (\($0))" } ?? String(rawValue)
    }
}
