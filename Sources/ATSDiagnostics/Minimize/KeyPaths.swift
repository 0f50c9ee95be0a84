// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity

/// The keys of an NSAppTransportSecurity dictionary that change decisions, one by one.
enum KeyPaths {
    /// Global keys, and the keys of each exception, sorted; an empty exception is a path of its own.
    static func all(in dictionary: PropertyListValue) -> [[String]] {
        var paths: [[String]] = []
        let members = dictionary.members ?? [:]
        for key in members.keys.sorted() {
            guard key == ATSKey.exceptionDomains, let hosts = members[key]?.members else {
                if key != ATSKey.pinnedDomains { paths.append([key]) }
                continue
            }
            for host in hosts.keys.sorted() {
                let entry = hosts[host]?.members ?? [:]
                if entry.isEmpty { paths.append([key, host]) }
                for name in entry.keys.sorted() { paths.append([key, host, name]) }
            }
        }
        return paths
    }

    /// As the linter prints key paths: from the Info.plist on.
    static func text(_ path: [String]) -> String { "NSAppTransportSecurity." + path.joined(separator: ".") }

    /// The dictionary without one key; what is left empty by that goes too.
    static func removing(_ path: [String], from dictionary: PropertyListValue) -> PropertyListValue {
        guard var members = dictionary.members, let key = path.first else { return dictionary }
        if path.count == 1 {
            members[key] = nil
        } else if let child = members[key] {
            let smaller = removing(Array(path.dropFirst()), from: child)
            members[key] = smaller.members?.isEmpty == true ? nil : smaller
        }
        return .dictionary(members)
    }

    /// Whether a key loosens something: stricter keys are never called dead.
    static func weakens(_ path: [String], in dictionary: PropertyListValue) -> Bool {
        var value: PropertyListValue? = dictionary
        for key in path { value = value?.members?[key] }
        guard let value else { return false }
        switch path.last {
        case ATSKey.forwardSecrecy: return value.asAppleBoolean == false
        case ATSKey.minimumTLSVersion: return value != .string("TLSv1.3")
        case ATSKey.insecureHTTPLoads, ATSKey.arbitraryLoads, ATSKey.arbitraryLoadsForMedia,
            ATSKey.arbitraryLoadsInWebContent, ATSKey.localNetworking:
            return value.asAppleBoolean == true
        case ATSKey.includesSubdomains: return value.asAppleBoolean == true
        // An empty exception switches ATS on for its host, and unknown keys are for the linter.
        default: return false
        }
    }
}
