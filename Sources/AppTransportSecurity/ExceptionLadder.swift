// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// The entries of NSExceptionDomains that are tried for one host when the smallest one is searched, least exposure first.
///
/// The one list for `ats check`, `ats minimize` and `ats proxy`. The order never puts a set of keys before one of its parts, so the first
/// that works has no smaller one that works: forward secrecy before versions, because App Review asks for no justification of it; insecure
/// HTTP last, because it gives up most.
package enum ExceptionLadder {
    /// The first is the empty entry: the defaults.
    package static let entries: [ExceptionEntry] = {
        let tls = [
            ExceptionEntry(), ExceptionEntry(requiresForwardSecrecy: false), ExceptionEntry(minimumTLSVersion: .tls11),
            ExceptionEntry(minimumTLSVersion: .tls10),
            ExceptionEntry(minimumTLSVersion: .tls11, requiresForwardSecrecy: false),
            ExceptionEntry(minimumTLSVersion: .tls10, requiresForwardSecrecy: false),
        ]
        return tls
            + tls.map { entry in
                var entry = entry
                entry.allowsInsecureHTTPLoads = true
                return entry
            }
    }()

    /// A dictionary with one entry, or the empty one if the entry changes nothing.
    package static func dictionary(host: String, _ entry: ExceptionEntry) -> ATSDictionary {
        dictionary([host: entry])
    }

    /// A dictionary with these entries, without those that change nothing.
    package static func dictionary(_ entries: [String: ExceptionEntry]) -> ATSDictionary {
        var dictionary = ATSDictionary()
        dictionary.exceptions = entries.filter { $0.value != ExceptionEntry() }
        return dictionary
    }

    /// Every dictionary that the search for one host may judge.
    package static func dictionaries(host: String) -> [ATSDictionary] {
        entries.map { dictionary(host: host, $0) }
    }
}

extension ATSDictionary {
    /// NSAllowsArbitraryLoads and nothing else: what is left if no exception can name a host.
    package static let allowingEverything: ATSDictionary = {
        var dictionary = ATSDictionary()
        dictionary.arbitraryLoads = true
        return dictionary
    }()
}
