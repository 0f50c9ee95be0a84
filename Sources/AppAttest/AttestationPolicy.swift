// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// What is required of an attestation beyond Apple's steps. The default requires nothing more.
public struct AttestationPolicy: Sendable {
    /// Whether the identifier `appattestsandbox` counts as development. No published object has it; Apple's page names it.
    public var acceptsSandboxIdentifier = false
    /// Which kinds of distribution are accepted (iOS 27 and later).
    public var validationCategories: Requirement<ValidationCategory>?
    /// Which `CFBundleVersion`s are accepted (iOS 27 and later).
    public var bundleVersions: Requirement<String>?
    /// The access control that a Mac's key must have, as DER; absence is a refusal. Leave it nil for devices that are not Macs.
    public var requiredAccessControl: [UInt8]?

    /// Requires nothing beyond Apple's steps.
    public init() {}

    /// A set of accepted values, and what it means that the device says nothing.
    public struct Requirement<Value: Hashable & Sendable>: Sendable {
        /// The values that are accepted.
        public var accepted: Set<Value>
        /// Whether an object without the value is accepted. Systems before iOS 27 never have one.
        public var acceptsAbsence: Bool

        /// Accepts these values, and absence only if `acceptsAbsence` says so.
        public init(_ accepted: Set<Value>, acceptsAbsence: Bool) {
            self.accepted = accepted
            self.acceptsAbsence = acceptsAbsence
        }

        func accepts(_ value: Value?) -> Bool { value.map(accepted.contains) ?? acceptsAbsence }
    }

    /// The access control of a key on a Mac with System Integrity Protection and Full Security (macOS 27).
    ///
    /// Apple documents one constant; this value was quoted by another library and not compared with Apple's page.
    package static let macFullSecurityAccessControl: [UInt8] = [
        0x30, 0x40, 0x0C, 0x02, 0x31, 0x31, 0x30, 0x3A, 0x30, 0x09, 0x0C, 0x02, 0x6F, 0x6B, 0xA1, 0x03, 0x01, 0x01,
        0xFF, 0x30, 0x09, 0x0C, 0x02, 0x6F, 0x61, 0xA1, 0x03, 0x01, 0x01, 0xFF, 0x30, 0x0B, 0x0C, 0x04, 0x6F, 0x64,
        0x65, 0x6C, 0xA1, 0x03, 0x01, 0x01, 0xFF, 0x30, 0x15, 0x0C, 0x04, 0x6F, 0x73, 0x67, 0x6E, 0xA0, 0x06, 0x0C,
        0x04, 0x72, 0x73, 0x65, 0x63, 0x30, 0x05, 0xA6, 0x03, 0x02, 0x01, 0x01,
    ]
}
