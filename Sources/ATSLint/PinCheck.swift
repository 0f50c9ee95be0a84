// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

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

    static func entry(_ entry: DomainEntry, _ facts: PlistFacts, _ hits: inout Hits) {
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
        let load = entry.fault == nil && !entry.isPlaceholder ? EntryEffects.Load(host: entry.key) : nil
        let pinned = load.map { facts.scopes.about([$0.secure]).effects($0.secure) } ?? []
        for list in lists { identities(list, entry, facts.systems, pinned, &hits) }
        if let member = entry.sub(ATSKey.includesSubdomains), case .boolean(true) = member.node.value, load != nil,
            let below = EntryEffects.Load(host: "zz." + entry.key),
            facts.systems.someSupported(facts.scopes.about([below.secure]).effects(below.secure).map { $0.pins != nil })
        {
            hits.report(
                member, entry.path(member.key),
                "The pins cover subdomains of \(entry.key) exactly one label deep, unlike exceptions.",
                fix: "Pin deeper hosts separately.", severity: .note)
        }
    }

    /// The pins of one list, by their effect on the host.
    ///
    /// - Parameter pinned: what happens to HTTPS to the host, by era; empty if that is not known before the build.
    private static func identities(
        _ list: PlistMember, _ entry: DomainEntry, _ systems: AppSystems, _ pinned: [LoadEffect], _ hits: inout Hits
    ) {
        let path = entry.path(list.key)
        guard let elements = list.node.elements else {
            hits.report(
                list, path,
                "\(list.key) of \(entry.key) is of type \(list.node.typeName); it must be an array of dictionaries.",
                fix: "Write an array of dictionaries with SPKI-SHA256-BASE64.")
            return
        }
        let pins = pinned.map { effect in
            effect.pins.flatMap { list.key == ATSKey.pinnedLeaves ? $0.leaves : $0.authorities }
        }
        let refused = pins.map { pins in pins?.isEmpty ?? false }
        let isFilledIn = elements.contains { $0.member(ATSKey.pin)?.node.string.map(BuildVariable.isIn) == true }
        if systems.someSupported(refused), !isFilledIn {
            let isMeant = elements.contains { $0.member(ATSKey.pin)?.node.string.flatMap(PinText.right) != nil }
            hits.report(
                list, path,
                "\(list.key) of \(entry.key) has no usable pin: the host counts as pinned to no key, so every connection fails\(systems.words(refused) ?? "").",
                fix: isMeant ? "Write each pin as its own finding says." : "Add a pin, or remove the list.",
                advice: isMeant ? [] : [Advice([.remove(list)], .otherLoads)])
        } else if elements.isEmpty {
            hits.report(
                list, path, "\(list.key) of \(entry.key) is empty and adds no pin.",
                fix: "Add a pin, or remove the list.",
                severity: .warning)
        }
        var usable = 0
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
            if BuildVariable.isIn(text) { continue }
            let count = text.isEmpty ? nil : Base64.decodeIgnoringStrayBits(text)?.count
            if count != 32, let right = PinText.right(text) {
                hits.report(
                    member, place + [member.key],
                    "\"\(text.prefix(bytes: 60))\" is a pin as other tools write it, and this pin of \(entry.key) matches nothing. Here the value is the base64 of the SHA-256 alone.",
                    fix: "Write <string>\(right)</string>.",
                    advice: [Advice([.value(member, "<string>\(right)</string>")], .goes)])
                continue
            }
            guard let count else {
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
            usable += 1
        }
        // Both lists must be satisfied where both are there: a lone leaf key is one whatever the other list says. One key twice is one key.
        let isLeaf = list.key == ATSKey.pinnedLeaves
        let isSingle = pins.map { $0?.count == 1 }
        if isLeaf || entry.sub(ATSKey.pinnedLeaves) == nil, usable == elements.count,
            systems.someSupported(isSingle)
        {
            hits.report(
                list, path,
                "\(entry.key) is pinned to a single \(isLeaf ? "leaf key" : "key of an authority"): when the server changes it, every installed app is locked out.",
                fix:
                    "Add a second pin: 'sealward ats pins \(entry.host.checkTarget) --spare FILE' writes the keys of the authorities, and the leaf's beside a backup key that is kept off the server."
            )
        }
    }
}
