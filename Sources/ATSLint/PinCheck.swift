// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import PropertyLists

/// What can be wrong with pins (rule ATS026).
enum PinCheck {
    /// Pins that stand where nothing reads them.
    static func misplaced(_ facts: PlistFacts, _ hits: inout Hits) {
        for member in facts.subject.document.root.members ?? [] where member.key == ATSKey.pinnedDomains {
            hits.report(
                member, [member.key],
                "NSPinnedDomains is at the top level of the Info.plist, where it is never read: nothing is pinned. It belongs in NSAppTransportSecurity.",
                fix: "Move it into NSAppTransportSecurity.")
        }
        for member in facts.exceptionsMember?.node.members ?? [] where member.key == ATSKey.pinnedDomains {
            hits.report(
                member, facts.path(ATSKey.exceptionDomains) + [member.key],
                "NSPinnedDomains is in NSExceptionDomains, where it is never read: nothing is pinned. It belongs one level up.",
                fix: "Move it one level up, directly into NSAppTransportSecurity.")
        }
    }

    static func entry(_ entry: DomainEntry, _ hits: inout Hits) {
        guard entry.members != nil else {
            hits.report(
                entry.member, entry.path,
                "The pins of \(entry.key) are of type \(entry.member.node.typeName) and are ignored: the host is not pinned. They must be a dictionary.",
                fix: "Write a dictionary with NSPinnedCAIdentities or NSPinnedLeafIdentities.")
            return
        }
        let lists = PinKeys.identities.compactMap { entry.sub($0) }
        if lists.isEmpty {
            hits.report(
                entry.member, entry.path,
                "The entry of \(entry.key) has neither NSPinnedCAIdentities nor NSPinnedLeafIdentities: the host is not pinned.",
                fix: "Add one of the two lists, or remove the entry.")
        }
        for list in lists { identities(list, entry, &hits) }
        if let member = entry.sub(ATSKey.includesSubdomains), AppleBoolean.read(member.node) == true {
            hits.report(
                member, entry.path(member.key),
                "The pins cover subdomains of \(entry.key) exactly one label deep, unlike exceptions.",
                fix: "Pin deeper hosts separately.", severity: .note)
        }
    }

    private static func identities(_ list: PlistMember, _ entry: DomainEntry, _ hits: inout Hits) {
        let path = entry.path(list.key)
        guard let elements = list.node.elements else {
            hits.report(
                list, path,
                "\(list.key) of \(entry.key) is of type \(list.node.typeName); it must be an array of dictionaries.",
                fix: "Write an array of dictionaries with SPKI-SHA256-BASE64.")
            return
        }
        if elements.isEmpty {
            hits.report(
                list, path,
                "\(list.key) of \(entry.key) is empty: the host counts as pinned to no key, so every connection fails.",
                fix: "Add a pin, or remove the list.")
            return
        }
        var valid: Set<String> = []
        for (index, element) in elements.enumerated() {
            let place = path + ["[\(index)]"]
            guard element.members != nil else {
                hits.report(
                    element, place,
                    "This pin of \(entry.key) is of type \(element.typeName) and is skipped; it must be a dictionary with SPKI-SHA256-BASE64.",
                    fix: "Wrap it: <dict><key>SPKI-SHA256-BASE64</key><string>...</string></dict>.")
                continue
            }
            guard let member = element.member(ATSKey.pin) else {
                hits.report(
                    element, place, "This pin of \(entry.key) has no SPKI-SHA256-BASE64 and is skipped.",
                    fix: "Add the key with the base64 of the SHA-256 of the public key.")
                continue
            }
            guard let text = member.node.string else {
                hits.report(
                    member, place + [member.key],
                    "This pin of \(entry.key) is of type \(member.node.typeName) and is skipped; it must be a string.",
                    fix: "Write it as a string.")
                continue
            }
            if PlaceholderText.isIn(text) { continue }
            guard let count = text.isEmpty ? nil : Base64.decodeIgnoringStrayBits(text)?.count else {
                hits.report(
                    member, place + [member.key],
                    "\"\(text.prefix(bytes: 60))\" is not base64, so this pin of \(entry.key) is skipped.",
                    fix: "Write the base64 of the SHA-256 of the public key: 44 characters that end with '='.")
                continue
            }
            guard count == 32 else {
                hits.report(
                    member, place + [member.key],
                    "This pin of \(entry.key) has \(count) bytes; a SHA-256 has 32, so no certificate matches it.",
                    fix: "Write the base64 of the SHA-256 of the public key: 44 characters that end with '='.")
                continue
            }
            valid.insert(text)
        }
        if list.key == ATSKey.pinnedLeaves, valid.count == 1, elements.count == 1 {
            hits.report(
                list, path,
                "\(entry.key) is pinned to a single leaf key: when the server changes it, every installed app is locked out.",
                fix: "Add the pin of a backup key that is kept off the server, or pin a certificate authority.")
        }
    }
}
