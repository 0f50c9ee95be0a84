// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import TrustStores

extension TrustServer.Configuration {
    /// How much a gateway lets through for each subject in a window, across all nodes.
    public struct Quota: Sendable, Equatable {
        /// Who is counted.
        public enum Per: String, Sendable, CaseIterable {
            /// Each key.
            case key
            /// Each user of an app; a key without a user counts by itself.
            case user
            /// Each app.
            case app
        }

        package var name: String
        package var per: Per
        package var limit: Int
        package var window: Duration
        package var costHeader: String?
        /// Whether a key without a user is refused.
        package var requireUser: Bool

        /// Makes one from its parts.
        ///
        /// - Parameters:
        ///   - name: its name in gateway queries: 1 to 64 letters, digits, dots, hyphens and underscores.
        ///   - per: who is counted.
        ///   - limit: how much may be used in one window, at least 1.
        ///   - window: how long a window is, from its first request on: whole seconds, up to a year.
        ///   - costHeader: the header in which the gateway states what a request costs; nil counts each as 1.
        ///   - requireUser: whether a key without a user is refused, instead of counted by itself.
        public init(
            name: String, per: Per, limit: Int, window: Duration, costHeader: String? = nil, requireUser: Bool = false
        ) {
            self.requireUser = requireUser
            self.name = name
            self.per = per
            self.limit = limit
            self.window = window
            self.costHeader = costHeader
        }
    }
}

extension Configuration.Quota: ConfigurationObject {
    mutating func visit(_ keys: ConfigurationKeys) {
        keys("name", &name, .quotaName, isRequired: true, "Its name in gateway queries (`quota=`).")
        keys(
            "per", &per, .choice, isRequired: true,
            "Who is counted: each key, each user of an app (a key without a user by itself), or each app.")
        keys("limit", &limit, .integer(1...1_000_000_000), isRequired: true, "How much may be used in one window.")
        keys(
            "windowSeconds", &window, .seconds(1...31_536_000), isRequired: true,
            "The length of a window, in seconds; a window begins with its first request.")
        keys(
            "cost", &costHeader, .costHeader, otherwise: "each request costs 1",
            "The header in which the gateway states what a request costs. The gateway sets it and removes the client's."
        )
        keys(
            "requireUser", &requireUser, .flag,
            "Refuses keys without a user; otherwise a phone gets a new count with each new key.")
    }
}

extension ConfigurationKind<String> {
    static var quotaName: Self {
        .text("1 to 64 letters, digits, dots, hyphens and underscores") { text in
            let isName = text.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                    || [0x2D, 0x2E, 0x5F].contains(byte)
            }
            return isName && (1...64).contains(text.utf8.count) ? text : nil
        }
    }

    /// The name of a field that has no meaning of its own here.
    static var costHeader: Self {
        .text("name of a header", "must be the name of a header of your own, for example X-Cost") { text in
            guard text.utf8.count <= 64, let name = HTTPField.Name(text) else { return nil }
            let taken: [HTTPField.Name] = [
                .authorization, .firebaseAppCheck, .xForwardedFor, .contentLength, .contentType,
            ]
            return taken.contains(name) ? nil : text
        }
    }
}
