// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats048 = Rule(
        id: "ATS048",
        severity: .note,
        summary: "The app also runs where App Transport Security is off.",
        reason: """
            ATS came with \(SystemChange.transportSecurity.names). Older systems ignore the dictionary: nothing in it protects or hinders a load there, and the app \
            is responsible for its own security. An app that is linked on an older SDK has no App Transport Security on any system.
            """,
        citation: .apple(ATSKey.dictionary, read: "2026-11-21"),
        firstOS: SystemChange.transportSecurity.list,
        fires: .domain(
            "<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>",
            root: "<key>MinimumOSVersion</key>\n<string>8.0</string>"),
        passes: .domain(
            "<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>",
            root: "<key>MinimumOSVersion</key>\n<string>9.0</string>"),
        notApplicable: .domain("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"),
        check: .plist { facts, hits in
            if let sdk = facts.subject.sdk, sdk.isBeforeTransportSecurity {
                let message = "\(sdk.absence)."
                let fix = "Build the app with a newer SDK, or check servers in code."
                if let ats = facts.ats {
                    hits.report(ats, PlistFacts.atsPath, message, fix: fix)
                } else {
                    hits.report(facts.subject.document.root, PlistFacts.atsPath, message, fix: fix)
                }
                return
            }
            guard let ats = facts.ats, let minimum = facts.subject.minimumOS,
                minimum.isBefore(.transportSecurity)
            else { return }
            hits.report(
                ats, PlistFacts.atsPath,
                "The app runs on \(minimum.name) and later. App Transport Security does not exist before \(SystemChange.transportSecurity.names): there the dictionary is ignored.",
                fix: "Later systems need no change; for the older ones check servers in code.")
        }
    )
}
