// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// A reason for an exception that Apple has named as acceptable in App Review.
struct ReviewReason: Sendable {
    /// One clause, for example `the server belongs to somebody else and does not meet the requirements`.
    let text: String
    private let keys: [String]

    /// Where Apple named them. Both documents are of 2016; no later list is known.
    static let citation = Citation(
        source: "Apple's documents on App Transport Security of 2016, archived", read: "2026-11-22")

    private static let exceptions = [
        ATSKey.arbitraryLoads, ATSKey.insecureHTTPLoads, ATSKey.minimumTLSVersion,
        ATSKey.forwardSecrecy,
    ]

    static let all = [
        ReviewReason(
            text: "the app depends on a third-party server that does not meet the requirements", keys: exceptions),
        ReviewReason(
            text: "the app reaches, by a public host name, a device that cannot be upgraded to meet them",
            keys: exceptions),
        ReviewReason(
            text: """
                the app shows web content from many sources and cannot use the classes that \
                NSAllowsArbitraryLoadsInWebContent covers
                """,
            keys: [ATSKey.arbitraryLoads]
        ),
        ReviewReason(
            text: "the app loads media that is itself encrypted and contains nothing personal",
            keys: [ATSKey.arbitraryLoads, ATSKey.arbitraryLoadsForMedia]),
    ]

    /// The reasons that fit a key.
    static func accepted(for key: String) -> [String] { all.filter { $0.keys.contains(key) }.map(\.text) }

    /// Where Apple's texts do not agree about ``ATSKey/minimumTLSVersion``.
    static let anyMinimum =
        "Two of Apple's documents of 2016 name NSExceptionMinimumTLSVersion with any value among the keys that App Review asks about; the page of the key (read 2026-11-21) only values below TLSv1.2."

    /// The reasons that fit a key, as one sentence for the page of its rule.
    static func sentence(for key: String) -> String {
        let reasons = accepted(for: key)
        guard !reasons.isEmpty else { return "Apple has named no acceptable reason for this key." }
        return
            "Reasons that Apple has named as acceptable (2016): \(reasons.joined(separator: "; ")). On 2016-12-21 Apple postponed, without a new date, the day from which every app would "
            + "have needed one." + (key == ATSKey.minimumTLSVersion ? " " + anyMinimum : "")
    }
}
