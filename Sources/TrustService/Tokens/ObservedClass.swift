// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// What enforcement would find in a request that is only watched. The names are the contract's.
enum ObservedClass: String, CaseIterable {
    /// The token is good and passes the terms of the query.
    case verified
    /// A token without an attested device, or of a tier below the one that the query asks for.
    case untrusted
    /// A token that was good and has ended, or of an app older than every accepted version.
    case outdated
    /// A token that this service did not sign, or of another app, environment or kind than the query asks for.
    case invalid
    /// A single-use token that was spent before.
    case reused
    /// No token.
    case none
    /// The store did not answer.
    case unknown
}
