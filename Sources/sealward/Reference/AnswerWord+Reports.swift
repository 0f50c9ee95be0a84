// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TrustService
import Vocabulary

extension AnswerWord {
    /// Words of the program's own reports that are no codes, by their members.
    static let ofReports: [AnswerWord] = table.flatMap { place, rows in
        rows.map { AnswerWord(word: $0.word, place: place, meaning: $0.meaning, action: $0.action) }
    }

    private static let table: [(place: String, rows: [(word: String, meaning: String, action: String)])] = [
        (
            "exit status",
            [
                ("exit status 0", "done, and nothing is wrong", "nothing"),
                ("exit status 1", "something is wrong, and the report says what", "read `because` or the codes"),
                (
                    "exit status 2", "nothing is known: an input or a server could not be read, or sources contradict",
                    readMore
                ),
                ("exit status 64", "the command was not understood", "read the help of the command"),
            ]
        ),
        (
            "verdict",
            [
                ("accepted", "every step of the verification passed", "nothing"),
                ("refused", "a step failed", "explain the code beside it"),
                ("pass", "the rules are met", "nothing"), ("fail", "a rule is broken", "read `because`"),
                ("undetermined", "what is needed to judge is not known", readMore),
                ("fine", "the command that knows the input finds nothing wrong", "nothing"),
                ("cause", "a cause was found", "read `because` and `fix`"),
                ("unknown", "what it is or what is wrong is not known", readMore),
            ]
        ),
        (
            "result",
            [
                ("loaded", "a complete answer arrived, whatever its status", "nothing"),
                ("refused", "the policy or the trust evaluation refused the load", "read `because`"),
                ("no-answer", "no complete answer arrived", "read `because`, and look at the network"),
            ]
        ),
        (
            "type",
            [
                (
                    "ATTEST", "a receipt out of an attestation; it has no risk metric",
                    "exchange it: sealward receipt refresh"
                ),
                (
                    "RECEIPT", "a receipt that Apple gave in exchange; it has the risk metric",
                    "read docs/risk-metric.md"
                ),
            ]
        ),
        (
            "environment",
            [
                (
                    "production", "keys of TestFlight, the App Store and enterprise distribution",
                    "allow it for released apps"
                ),
                (
                    "development", "keys of builds from Xcode, unless the entitlement says production",
                    "allow it for tests"
                ),
                ("sandbox", "what receipts call development", "exchange them at data-development.appattest.apple.com"),
                ("debug", "an App Check token that a debug token gave", "accept it nowhere but in tests"),
            ]
        ),
        (
            "severity",
            [
                ("error", "the app will not do what its author wants", "fix it"),
                ("warning", "it works, and not as it should", "fix it, or write it into a baseline"),
                ("note", "nothing is wrong; it may matter", "nothing"),
            ]
        ),
        (
            "kind",
            [
                ("ats", "App Transport Security refused the load", loads),
                ("trust", "the certificate was refused", loads),
                ("tls", "the handshake failed", loads), ("network", "nothing of TLS was reached", loads),
                ("local-network", "the user or the system denies the app the local network", loads),
                ("sandbox", "the sandbox denies the app the network", loads),
                ("app-attest", "App Attest, DeviceCheck or App Check failed, and no load", loads),
                ("not-apple", "another stack than Apple's refused, which ATS does not judge", loads),
            ]
        ),
        (
            "who",
            CodeExplanation.Actor.allCases.map {
                ($0.rawValue, "it is for \($0.words) to do something", "read `action`")
            }
        ),
    ]

    private static let readMore = "read what the report says is missing"
    private static let loads = "read `because` and `fix`"
}
