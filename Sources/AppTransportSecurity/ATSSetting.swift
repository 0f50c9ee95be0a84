// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import PropertyLists

/// One key of a dictionary that changes decisions, as a search takes it away and puts it back.
package struct ATSSetting: Sendable, Hashable {
    /// Below NSAppTransportSecurity: a global key; or NSExceptionDomains, a host, and a key of its entry (none for an empty entry).
    package let components: [String]

    /// The host of an exception; nil for a global key.
    package var host: String? { components.count > 1 ? components[1] : nil }

    /// The whole entry that a key is in; nil for a global key and an entry itself.
    package var entry: ATSSetting? {
        components.count > 2 ? ATSSetting(components: Array(components.prefix(2))) : nil
    }

    /// As the linter prints key paths: from the Info.plist on.
    package var keyPath: String { "NSAppTransportSecurity." + components.joined(separator: ".") }
}

extension ATSDictionary {
    /// Every key that is set apart from pins, which no search touches, sorted by name; an entry without keys is a setting of its own.
    package var settings: [ATSSetting] {
        var settings: [ATSSetting] = []
        for (key, path) in ATSDictionary.flags where self[keyPath: path] != nil {
            settings.append(.init(components: [key]))
        }
        if hardening != nil { settings.append(.init(components: [ATSKey.requiresNIAP])) }
        for (host, entry) in exceptions {
            let keys = entry.propertyListValue.members?.keys.sorted() ?? []
            let domain = [ATSKey.exceptionDomains, host]
            settings += keys.isEmpty ? [.init(components: domain)] : keys.map { .init(components: domain + [$0]) }
        }
        return settings.sorted { $0.components.lexicographicallyPrecedes($1.components) }
    }

    /// The dictionary without one key; an entry that is left without keys goes too.
    package func removing(_ setting: ATSSetting) -> ATSDictionary {
        var smaller = self
        smaller.remove(setting)
        return smaller
    }

    /// Removes one key, or a whole entry where a setting names no key of it.
    ///
    /// - Parameter keepsEntry: whether an entry that is left without keys stays, as it does if somebody deletes the line of a property list.
    package mutating func remove(_ setting: ATSSetting, keepsEntry: Bool = false) {
        guard let host = setting.host else {
            for (key, path) in ATSDictionary.flags where [key] == setting.components { self[keyPath: path] = nil }
            if setting.components == [ATSKey.requiresNIAP] { hardening = nil }
            return
        }
        guard var entry = exceptions[host] else { return }
        if setting.components.count < 3 {
            exceptions[host] = nil
            return
        }
        let defaults = ExceptionEntry()
        switch setting.components.last {
        case ATSKey.minimumTLSVersion: entry.minimumTLSVersion = nil
        case ATSKey.exceptionNIAP: entry.hardening = nil
        case let name? where LegacyKeys.names.contains(name): entry.legacy = entry.legacy?.removing(name)
        default:
            for (key, path) in ExceptionEntry.flags where key == setting.components.last {
                entry[keyPath: path] = defaults[keyPath: path]
            }
        }
        exceptions[host] = entry == defaults && !keepsEntry ? nil : entry
    }

    /// Whether a key loosens something: stricter keys are never called dead.
    package func weakens(_ setting: ATSSetting) -> Bool {
        guard let host = setting.host else {
            return ATSDictionary.flags.contains { [$0.key] == setting.components && self[keyPath: $0.path] == true }
        }
        guard let entry = exceptions[host] else { return false }
        switch setting.components.last {
        case ATSKey.forwardSecrecy: return !entry.requiresForwardSecrecy
        case ATSKey.minimumTLSVersion: return entry.minimumTLSVersion != .tls13
        case ATSKey.insecureHTTPLoads: return entry.allowsInsecureHTTPLoads
        case ATSKey.includesSubdomains: return entry.includesSubdomains
        case let name? where LegacyKeys.names.contains(name): return entry.legacy?.weakens(name) ?? false
        // An empty entry switches ATS on for its host.
        default: return false
        }
    }
}
