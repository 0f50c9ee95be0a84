// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

extension HTTPField.Name {
    // The fallbacks are never taken: all of these are valid field names.
    static let xForwardedFor = HTTPField.Name("X-Forwarded-For") ?? .from
    /// What a proxy adds to the requests that it passes on.
    static let ofProxies = ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"].compactMap { HTTPField.Name($0) }
    static let xForwardedProto = HTTPField.Name("X-Forwarded-Proto") ?? .from
    static let xFrameOptions = HTTPField.Name("X-Frame-Options") ?? .from
    static let referrerPolicy = HTTPField.Name("Referrer-Policy") ?? .from
    static let crossOriginOpenerPolicy = HTTPField.Name("Cross-Origin-Opener-Policy") ?? .from
    static let crossOriginResourcePolicy = HTTPField.Name("Cross-Origin-Resource-Policy") ?? .from
    static let auditReason = HTTPField.Name("X-Audit-Reason") ?? .from
    static let firebaseAppCheck = HTTPField.Name("X-Firebase-AppCheck") ?? .from
    static let sealwardApp = HTTPField.Name("X-Sealward-App") ?? .from
    static let sealwardKey = HTTPField.Name("X-Sealward-Key") ?? .from
    static let sealwardTier = HTTPField.Name("X-Sealward-Tier") ?? .from
    static let sealwardQuotaRemaining = HTTPField.Name("X-Sealward-Quota-Remaining") ?? .from
    static let sealwardClass = HTTPField.Name("X-Sealward-Class") ?? .from
    static let sealwardEnvironment = HTTPField.Name("X-Sealward-Environment") ?? .from
}
