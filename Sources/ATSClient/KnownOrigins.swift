// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// Remembers what a policy decided about the origins that a client loads from, because neither path nor query has a part in the decision.
///
/// Only what may be loaded is kept; a refusal names its URL and is made each time. At most `capacity` origins.
final class KnownOrigins: Sendable {
    private let policy: ATSPolicy
    private let kept = BoundedCache<Substring, (url: LoadURL, decision: URLDecision)>(capacity: KnownOrigins.capacity)
    static let capacity = 256

    init(_ policy: ATSPolicy) { self.policy = policy }

    /// The URL taken apart, and the decision about it.
    ///
    /// - Throws: ``MalformedInput`` with code `malformed.url`.
    func decide(_ text: String) throws(MalformedInput) -> (LoadURL, URLDecision) {
        guard let (origin, target) = KnownOrigins.split(text) else {
            let url = try LoadURL(text)
            return (url, policy.decide(url))
        }
        if let known = kept[origin] {
            return (try known.url.with(target: target), known.decision)
        }
        let url = try LoadURL(text)
        let decision = policy.decide(url)
        if decision.verdict != .blocked {
            // A copy: a part of a string keeps the whole of it in memory.
            kept.keep((url, decision), for: String(origin)[...])
        }
        return (url, decision)
    }

    /// `scheme://authority`, and the rest where it begins with a slash.
    private static func split(_ text: String) -> (origin: Substring, target: Substring)? {
        let bytes = text.utf8
        guard let colon = bytes.firstIndex(of: 0x3A), bytes[colon...].starts(with: [0x3A, 0x2F, 0x2F]),
            let authority = bytes.index(colon, offsetBy: 3, limitedBy: bytes.endIndex),
            let end = bytes[authority...].firstIndex(where: { $0 == 0x2F || $0 == 0x3F || $0 == 0x23 }),
            bytes[end] == 0x2F
        else { return nil }
        return (text[..<end], text[end...])
    }
}
