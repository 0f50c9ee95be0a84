// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

extension RuleCatalog {
    static let ats034 = Rule(
        id: "ATS034",
        severity: .note,
        summary: "There is no ATS dictionary, so the default rules apply.",
        reason:
            "Without NSAppTransportSecurity every host needs TLS 1.2 with forward secrecy and a trusted certificate; only local hosts are exempt.",
        citation: .apple(ATSKey.dictionary, read: "2026-11-21"),
        fires: Example(ats: nil, root: "<key>CFBundleIdentifier</key>\n<string>com.example.app</string>"),
        passes: Example(ats: "<key>NSAllowsLocalNetworking</key>\n<true/>"),
        notApplicable: Example(ats: nil, root: "<key>CFBundlePackageType</key>\n<string>FMWK</string>"),
        check: .plist { facts, hits in
            // A key that was meant for the dictionary is an error of its own.
            guard facts.ats == nil, facts.subject.role != .framework,
                !(facts.subject.document.root.members ?? []).contains(where: {
                    KeyReading($0.key, at: .root) != nil || $0.key.utf8.starts(with: ATSKey.buildSetting.utf8)
                }),
                facts.subject.sdk?.isBeforeTransportSecurity != true
            else { return }
            let place: String
            var (rest, fix) = (
                "The default rules of ATS apply.",
                "Nothing to do if every host of the app meets them; 'sealward ats check' shows whether they do."
            )
            switch facts.subject.origin {
            case .file: place = "at the top of \(facts.subject.path)"
            case .generated:
                place =
                    "in \(facts.subject.path); the build generates the Info.plist (GENERATE_INFOPLIST_FILE) and no list of the project adds the key"
            case .nothing(let files):
                place =
                    "in the \(files == 1 ? "one file" : "\(files) files") under \(facts.subject.path), \(files == 1 ? "which is no" : "none of which is an") Info.plist (build and dependency folders are not searched)"
                rest = "Which rules apply to the app is not known: the default ones, if it has no dictionary."
                fix = "Name one of what is looked for: \(ProjectFile.searched)."
            }
            hits.report(
                facts.subject.document.root, PlistFacts.atsPath,
                "No NSAppTransportSecurity was found \(place). \(rest)", fix: fix)
        }
    )
}
