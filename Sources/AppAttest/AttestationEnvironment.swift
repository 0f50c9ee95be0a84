// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// The two environments of App Attest keys. A key from one is not valid in the other.
public enum AttestationEnvironment: String, Hashable, Sendable, CaseIterable {
    /// `appattest`: TestFlight, App Store, enterprise and Developer ID.
    case production
    /// `appattestdevelop`: keys made by development builds.
    case development

    /// The environment's name in field 7 of a receipt.
    var receiptName: String {
        switch self {
        case .development: "sandbox"
        case .production: "production"
        }
    }
}

/// What the 16 bytes of an attestation's AAGUID say.
enum AttestationAAGUID: CaseIterable {
    case production, development, sandbox

    init?(_ bytes: ArraySlice<UInt8>) {
        guard let known = AttestationAAGUID.allCases.first(where: { bytes.elementsEqual($0.bytes) }) else { return nil }
        self = known
    }

    var bytes: [UInt8] {
        switch self {
        case .production: Array("appattest".utf8) + [UInt8](repeating: 0, count: 7)
        case .development: Array("appattestdevelop".utf8)
        case .sandbox: Array("appattestsandbox".utf8)
        }
    }

    /// Apple's page counts the sandbox to development.
    var environment: AttestationEnvironment { self == .production ? .production : .development }
}
