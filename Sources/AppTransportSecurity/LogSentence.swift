// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// A sentence that App Transport Security or the TLS library writes, and what it means.
package struct LogSentence: Sendable, Equatable {
    package let words: StaticString
    /// Our causes; more than one where the sentence leaves it open.
    package let codes: [Code]
    package let source: String
    /// Whether only loads that FCP_v2.1 hardens write it: a plain check would not see the failure.
    package var isHardened = false

    package var isCleartext: Bool { codes.first == .cleartextBlocked }

    package static func == (left: LogSentence, right: LogSentence) -> Bool { left.text == right.text }

    package var text: String { "\(words)" }

    private static let boringssl = "libboringssl of 26.4, its strings"
    private static let guide = "Apple, Preventing Insecure Network Connections; reports of developers"

    static let unofferedSignature = LogSentence(
        words: "[ATS FCPv2.1 violation]: Server certificate signed using signature algorithm",
        codes: [.trustWeakSignature], source: boringssl, isHardened: true)
    static let masterSecret = LogSentence(
        words: "[ATS FCPv2.1 violation]: TLS 1.2 negotiated without extended master secret",
        codes: [.tlsNoExtendedMasterSecret], source: boringssl, isHardened: true)
    static let unofferedSuite = LogSentence(
        words: "not offered in ATS FCP_v2.1 mode negotiated", codes: [.tlsNoCommonSuite], source: boringssl,
        isHardened: true)
    static let trust = LogSentence(
        words: "ATS certificate trust requirement not satisfied", codes: RefusalNumbers.trust, source: boringssl)
    static let curveKey = LogSentence(
        words: "[ATS violation]: ECDSA key size", codes: [.trustWeakKey], source: boringssl)
    static let rsaKey = LogSentence(words: "[ATS violation]: RSA key size", codes: [.trustWeakKey], source: boringssl)
    static let leafHash = LogSentence(
        words: "[ATS violation]: Leaf certificate hash algorithm", codes: [.trustWeakSignature], source: boringssl)
    static let noLeaf = LogSentence(
        words: "[ATS violation]: Leaf certificate is absent", codes: [.tlsHandshakeFailed], source: boringssl)
    static let noKey = LogSentence(
        words: "[ATS violation]: Peer public key not set", codes: [.tlsHandshakeFailed], source: boringssl)
    static let skipped = LogSentence(
        words: "Skipping local ATS trust evaluation (ats_trust_policy=skip)", codes: [], source: boringssl)
    static let cleartext = LogSentence(
        words: "App Transport Security has blocked a cleartext HTTP", codes: [.cleartextBlocked], source: guide)
    static let olderCleartext = LogSentence(
        words: "Application Transport Security has blocked a cleartext HTTP", codes: [.cleartextBlocked],
        source: "reports of developers with iOS 9")
    static let policy = LogSentence(words: "does not conform to ATS policy", codes: [.cleartextBlocked], source: guide)
    static let cleartextPolicy = LogSentence(
        words: "App Transport Security policy requires the use of a secure connection", codes: [.cleartextBlocked],
        source: guide)

    /// The most telling first: a line is taken for the first whose words it contains.
    package static let all = [
        unofferedSignature, masterSecret, unofferedSuite, trust, curveKey, rsaKey, leafHash, noLeaf, noKey, skipped,
        cleartext, olderCleartext, policy, cleartextPolicy,
    ]
}
