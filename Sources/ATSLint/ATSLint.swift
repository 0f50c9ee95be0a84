// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppTransportSecurity
public import PropertyLists
public import Vocabulary

/// One Info.plist that is linted, with what is known about the app around it.
public struct LintSubject: Sendable {
    package let path: String
    package private(set) var document: PlistDocument
    package let bundle: String?
    package let minimumOS: MinimumSystem?
    package let sdk: LinkedSDK?
    package let role: Role
    package let app: String?
    /// Which HTTP stack a .NET app uses, and so whether ATS applies to it.
    package var networkStack: DotNetStack?
    /// Where the list comes from.
    package var origin = FoundPlist.Origin.file

    /// What a bundle is. Each has its own dictionary.
    public enum Role: String, Sendable {
        /// An app.
        case app
        /// An .appex inside an app.
        case appExtension = "extension"
        /// An App Clip.
        case appClip = "app clip"
        /// A watch app.
        case watchApp = "watch app"
        /// A framework or another bundle without a process of its own.
        case framework
        /// An Info.plist on its own.
        case unknown

        /// The role that an Info.plist tells by itself.
        package init(infoPlist root: PlistNode) {
            let types: [String: Role] = [
                "XPC!": .appExtension, "APPL": .app, "FMWK": .framework, "BNDL": .framework,
            ]
            let type = root["CFBundlePackageType"]?.string.flatMap { types[$0] } ?? .unknown
            self =
                if root["NSExtension"] != nil || root["EXAppExtensionAttributes"] != nil || type == .appExtension {
                    .appExtension
                } else if root["NSAppClip"] != nil {
                    .appClip
                } else if root["WKApplication"] != nil || root["WKWatchKitApp"] != nil {
                    .watchApp
                } else {
                    type
                }
        }
    }

    /// Makes one from its parts.
    ///
    /// - Parameters:
    ///   - path: the path as reports show it.
    ///   - document: the property list.
    ///   - bundle: the bundle identifier, where the list states one.
    ///   - minimumOS: the oldest system that the app runs on, as the list or the user states it.
    ///   - sdk: the SDK that the app is linked on, as the user, its executable or the list states it; nil if none does.
    ///   - role: what the bundle is: an app, or something inside one.
    ///   - app: names the app that the bundle belongs to; subjects with the same name are compared with each other.
    public init(
        path: String, document: PlistDocument, bundle: String? = nil, minimumOS: MinimumSystem? = nil,
        sdk: LinkedSDK? = nil, role: Role = .unknown, app: String? = nil
    ) {
        self.path = path
        self.document = document
        // Apple takes 155 characters; whoever writes more finds the beginning in the report.
        self.bundle = bundle ?? document.root["CFBundleIdentifier"]?.string?.prefix(bytes: 255)
        self.minimumOS = minimumOS ?? MinimumSystem(infoPlist: document.root)
        self.sdk = sdk ?? LinkedSDK(infoPlist: document.root)
        self.role = role == .unknown ? Role(infoPlist: document.root) : role
        self.app = app
    }

    /// The systems that the app runs on, by its minimum system and its SDK.
    package var systems: AppSystems {
        AppSystems(from: minimumOS.map { ($0.line.rawValue, $0.major, $0.minor) }, sdk: sdk)
    }

    /// The same list with another text.
    package func with(_ document: PlistDocument) -> LintSubject {
        var other = self
        other.document = document
        return other
    }
}

/// What the linter says about one Info.plist.
public struct LintResult: Sendable {
    /// What was read.
    public let subject: LintSubject
    /// In the order of the file.
    public let findings: [LintFinding]
    /// The keys for which App Review asks for a justification, in the order of the file, each once.
    public var reviewTriggers: [String] {
        // All of them are keys of Apple's, so few are different.
        questions.reduce(into: []) { if !$0.contains($1.key) { $0.append($1.key) } }
    }
    /// The same keys, each with every place where it asks.
    package let questions: [ReviewQuestion]
    /// How many more findings there are than are listed.
    public let omitted: Int
}

/// A key that App Review asks about because it is there, whatever its effect.
package struct ReviewQuestion: Sendable {
    package let key: String
    package let keyPath: [String]
    package let location: SourceLocation?
}

/// A finding with the edits that the linter can try.
public struct LintFinding: Sendable {
    /// What a report shows.
    public let finding: Finding
    /// Every rule that has a part in the finding, that of the finding first.
    package let rules: [String]
    /// Fixes in the order of preference; each leaves the rest of the file untouched.
    package let edits: [TextEdit]
    /// What the fix says, as edits.
    package let advice: [Advice]
}
