// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

enum ExceptionKeys {
    static let all = ExceptionEntry.keys
    static let suffixes = ["AllowsInsecureHTTPLoads", "RequiresForwardSecrecy", "MinimumTLSVersion"]
    /// Keys of the time before the first release and of its technical note.
    static let legacy = LegacyKeys.names
    /// The key of today for a legacy one; nil for others.
    static func current(_ key: String) -> String? {
        legacy.contains(key) ? suffixes.first(where: key.hasSuffix).map { "NSException" + $0 } : nil
    }
    /// Keys that never existed and are copied from project to project.
    static let neverExisted = ["NSException", "NSThirdPartyException", "NSTemporaryException"].map {
        $0 + "AllowsInsecureHTTPSLoads"
    }
    /// Keys whose value is a boolean, legacy ones included.
    static let allBooleans = ExceptionEntry.booleanKeys + legacy.filter { !$0.hasSuffix("MinimumTLSVersion") }
    /// Whether the value of a key of the dictionary or of an entry is a boolean.
    static func isBoolean(_ key: String) -> Bool {
        ATSDictionary.booleanKeys.contains(key) || allBooleans.contains(key)
    }
    /// Keys whose value names a TLS version.
    static let tlsVersions = [ATSKey.minimumTLSVersion] + legacy.filter { $0.hasSuffix("MinimumTLSVersion") }
}

enum PinKeys {
    static let identities = [ATSKey.pinnedAuthorities, ATSKey.pinnedLeaves]
    static let all = identities + [ATSKey.includesSubdomains]
}

extension TLSVersionName {
    /// The version that somebody who wrote `text` probably meant.
    static func meant(_ text: String) -> TLSVersionName? {
        guard text.utf8.count <= 64, !text.uppercased().contains("SSL") else { return nil }
        let digits = String(decoding: text.utf8.filter { (0x30...0x39).contains($0) || $0 == 0x2E }, as: UTF8.self)
        return switch digits {
        case "1", "1.0", "1.00", "10": .tls10
        case "1.1", "11": .tls11
        case "1.2", "12": .tls12
        case "1.3", "13": .tls13
        default: nil
        }
    }
}

/// The nearest known spelling of a misspelled key.
package enum Spelling {
    /// A key that was once real, or is how a tool displays the real one, with the real one.
    package static let renamed: [String: String] = [
        ATSKey.arbitraryLoadsInMedia: ATSKey.arbitraryLoadsForMedia,
        "NSAllowsArbitraryLoadsInWebView": ATSKey.arbitraryLoadsInWebContent,
        "NSAllowsArbitraryLoadsForLocalNetworking": ATSKey.localNetworking,
        "NSAllowsLocalNetworks": ATSKey.localNetworking,
        "NSExceptionMinimumTLS": ATSKey.minimumTLSVersion,
        // Lists of keys of 2015 have this form beside the two that existed.
        "NSTemporaryThirdPartyExceptionAllowsInsecureHTTPLoads": ATSKey.insecureHTTPLoads,
        "NSTemporaryThirdPartyExceptionRequiresForwardSecrecy": ATSKey.forwardSecrecy,
        "NSTemporaryThirdPartyExceptionMinimumTLSVersion": ATSKey.minimumTLSVersion,
        "NSAllowInsecureHTTPLoads": ATSKey.insecureHTTPLoads,
        "NSExceptionAllowInsecureHTTPLoads": ATSKey.insecureHTTPLoads,
        "NSAllowArbitraryLoads": ATSKey.arbitraryLoads,
        "App Transport Security Settings": ATSKey.dictionary,
        "Allow Arbitrary Loads": ATSKey.arbitraryLoads,
        "Allows Local Networking": ATSKey.localNetworking,
        "Exception Domains": ATSKey.exceptionDomains,
    ]

    /// The known key that `key` probably means, or nil if none is near.
    static func correction(of key: String, among known: [String]) -> String? {
        let key = trimmed(key)
        guard (5...64).contains(key.utf8.count) else { return nil }
        let folded = Array(key.lowercased().utf8)
        if let exact = foldedNames[folded] {
            return known.contains(exact) ? exact : nil
        }
        var best: (key: String, distance: Int)?
        for candidate in known {
            let limit = max(1, candidate.utf8.count / 8)
            guard abs(candidate.utf8.count - folded.count) <= limit + 2 else { continue }
            let wanted = candidate.utf8.asciiLowercased
            var distance = NearName.distance(folded, wanted)
            // A missing prefix is a common slip: AllowsArbitraryLoads.
            if !folded.starts(with: prefix) { distance = min(distance, 1 + NearName.distance(prefix + folded, wanted)) }
            if distance <= limit, distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.key ?? known.filter { lacksWord(folded, of: $0) }.min { $0.utf8.count < $1.utf8.count }
    }

    private static let prefix = Array("ns".utf8)
    private static let foldedNames = Dictionary(renamed.map { ($0.key.utf8.asciiLowercased, $0.value) }) { first, _ in
        first
    }

    /// Whether a key is another one of which a piece is missing: `NSTransportSecurity`, `NSAllowsLocalNetwork`, `NSRequiresForwardSecrecy`.
    private static func lacksWord(_ key: [UInt8], of candidate: String) -> Bool {
        let wanted = candidate.utf8.asciiLowercased
        guard key.count >= 12, 1...10 ~= wanted.count - key.count else { return false }
        let start = zip(key, wanted).prefix { $0 == $1 }.count
        let end = zip(key.reversed(), wanted.reversed()).prefix { $0 == $1 }.count
        return start + end >= key.count
    }

    /// What value a key takes, in words; nil if it has one already.
    static func valueToWrite(_ key: String, _ node: PlistNode) -> String? {
        if ExceptionKeys.isBoolean(key) {
            if case .boolean = node.value { return nil }
            return "<true/> or <false/>"
        }
        if ExceptionKeys.tlsVersions.contains(key) {
            return node.string.flatMap(TLSVersionName.init(rawValue:)) == nil ? "TLSv1.0, TLSv1.1 or TLSv1.3" : nil
        }
        if key.hasSuffix(ATSKey.packageWord) {
            return node.string.flatMap(HardeningLevel.init(rawValue:)) == nil ? "none, FCP_v2.1 or recommended" : nil
        }
        if PinKeys.identities.contains(key) { return node.elements == nil ? "an array of pins" : nil }
        return node.members == nil ? "a dictionary" : nil
    }

    /// A text without blanks, quotation marks and invisible characters around it.
    static func trimmed(_ text: String) -> String {
        func isBlank(_ scalar: Unicode.Scalar) -> Bool {
            scalar.properties.isWhitespace || scalar.properties.isDefaultIgnorableCodePoint
                || scalar.properties.isQuotationMark
        }
        return text.utf8.count > 256 ? text : String(text.unicodeScalars.trimmed(while: isBlank))
    }

    /// Every key of the dictionary and of its entries.
    static let all = ATSDictionary.keys + ExceptionKeys.all + ExceptionKeys.legacy + PinKeys.identities
}
