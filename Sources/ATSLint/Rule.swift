// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import PropertyLists
public import Vocabulary

/// One rule of the linter, with everything that explains it.
public struct Rule: Sendable {
    /// The stable id, for example `ATS001`. Ids are never reused.
    public let id: String
    /// How much its findings usually matter; a check may say less of one finding, never more.
    public let severity: Severity
    /// One sentence: what is wrong.
    public let summary: String
    /// Why it matters, with the behavior that an app would see.
    public let reason: String
    /// Where the rule is written.
    public let citation: Citation
    /// The first system where it matters, where that is not every one.
    public private(set) var firstOS: String?
    /// What `--fix` does, where it can do something.
    public private(set) var fixDescription: String?
    /// An example that the rule reports.
    package let fires: Example
    /// A corrected form of the same.
    package let passes: Example
    /// An example that looks similar and where the rule has nothing to say.
    package let notApplicable: Example

    let check: Check

    enum Check: Sendable {
        /// A look at one Info.plist.
        case plist(@Sendable (PlistFacts, inout Hits) -> Void)
        /// A look at the lists of one app: its own and those of its extensions.
        case bundle(@Sendable ([PlistFacts]) -> [(subject: Int, hit: Hit)])
        /// Said by the comparison of two lists, not by a look at one.
        case difference
    }
}

package struct Example: Sendable {
    /// The contents of the NSAppTransportSecurity dictionary in XML; nil if the list has none.
    package let ats: String?
    /// Members of the root dictionary in XML, beside NSAppTransportSecurity.
    package private(set) var root = ""
    package private(set) var trailing = ""
    /// For rules about apps: the dictionary of an extension.
    package private(set) var sibling: String?
    /// For differences: the dictionary before the change.
    package private(set) var before: String?
    /// The HttpClient handler of a .NET project, where the rule is about it.
    package private(set) var handler: DotNetStack.Handler?

    package var infoPlist: String { Example.infoPlist(ats: ats, root: root) + trailing }

    package var siblingPlist: String? { sibling.map { Example.infoPlist(ats: $0, root: "") } }

    package var beforePlist: String? { before.map { Example.infoPlist(ats: $0, root: "") } }

    private static func infoPlist(ats: String?, root: String) -> String {
        let dictionary = ats.map { "<key>NSAppTransportSecurity</key>\n<dict>\n\($0)\n</dict>\n" } ?? ""
        return PlistDocument.xml(members: root.isEmpty ? dictionary : root + "\n" + dictionary)
    }

    /// An exception for `api.example.com` with these sub-keys.
    static func domain(
        _ keys: String, host: String = "api.example.com", globals: String = "", root: String = ""
    )
        -> Example
    {
        Example(
            ats: (globals.isEmpty ? "" : globals + "\n")
                + "<key>NSExceptionDomains</key>\n<dict>\n<key>\(host)</key>\n<dict>\(keys)</dict>\n</dict>", root: root
        )
    }

    /// Pins for `api.example.com`.
    static func pins(_ contents: String, host: String = "api.example.com", root: String = "") -> Example {
        Example(ats: "<key>NSPinnedDomains</key>\n<dict>\n<key>\(host)</key>\n\(contents)\n</dict>", root: root)
    }
}

extension Rule {
    /// A rule of the comparison with an earlier list.
    static func weakening(
        _ id: String, _ summary: String, reason: String, fires: Example,
        passes: Example = .gained("<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>")
    ) -> Rule {
        let unchanged = "<key>NSAllowsLocalNetworking</key>\n<true/>"
        return Rule(
            id: id, severity: .error, summary: summary, reason: reason,
            citation: .apple("Preventing Insecure Network Connections", read: "2026-11-21"), fires: fires,
            passes: passes, notApplicable: Example(ats: unchanged, before: unchanged), check: .difference)
    }
}

extension Example {
    /// A list that gained an exception for a host with these sub-keys.
    static func gained(_ keys: String) -> Example {
        Example(
            ats: "<key>NSExceptionDomains</key>\n<dict>\n<key>api.example.com</key>\n<dict>\(keys)</dict>\n</dict>",
            before: "")
    }
}
