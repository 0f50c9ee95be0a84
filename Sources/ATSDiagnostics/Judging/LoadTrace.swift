// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppTransportSecurity
package import TLSProbe
package import Vocabulary

/// What one real load of the target met, under the widest policy that gets through: the places it came to and its end.
///
/// It is judged again under every configuration, since a redirect that one dictionary allows is refused by another.
package struct LoadTrace: Sendable {
    /// How the load ended after the last place, apart from the policy.
    package enum End: Sendable {
        case loaded
        /// No answer under any policy: a loop, a demanded client certificate.
        case refused(URLLoadError?, [Cause])
        case noAnswer(URLLoadError?, [Cause])
        /// The last place's TLS failed in the load, though its hello is judged on its own. It counts where the library that loads could
        /// offer the suite.
        case handshakeRefused(URLLoadError?, [Cause])
    }

    /// Every URL of the load in order; the target first.
    package let places: [LoadURL]
    package let end: End
    package internal(set) var status: Int?
    /// Whether the target's certificate was accepted as the app's own code might: the load then shows what is behind it.
    package internal(set) var isBehindCertificate = false
    /// What the report should say of the load itself.
    package internal(set) var notes: [Cause] = []
    /// The addresses that the load could go to at each place that it was led to.
    package internal(set) var scopes: [Endpoint: FetchScope] = [:]
}

/// A host and port that a load connects to.
package struct Endpoint: Hashable, Sendable {
    package let host: String
    package let port: Int
}

extension Endpoint {
    package init(_ url: LoadURL) { self.init(host: url.host, port: url.effectivePort) }
}
