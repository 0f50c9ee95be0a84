// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import TLSModel

/// One thing to learn of a server: does it agree with a client that accepts these suites from this version on?
package struct HelloQuestion: Sendable, Hashable {
    /// The least version that the hello would take.
    package let minimumVersion: TLSVersion
    package let suites: Set<CipherSuite>

    package init(minimumVersion: TLSVersion, suites: [CipherSuite]) {
        self.minimumVersion = minimumVersion
        self.suites = Set(suites)
    }

    /// Whether every handshake that `other` accepts is accepted here too.
    package func includes(_ other: HelloQuestion) -> Bool {
        minimumVersion <= other.minimumVersion && suites.isSuperset(of: other.suites)
    }

    /// Whether a handshake that ended with this version and suite is accepted.
    package func accepts(_ version: TLSVersion, _ suite: CipherSuite) -> Bool {
        minimumVersion <= version && suites.contains(suite)
    }
}
