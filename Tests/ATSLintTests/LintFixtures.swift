// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import ATSLint
import AppTransportSecurity
import Foundation
import PropertyLists
public import Testing
import Vocabulary

/// Ways to lint what a test has at hand.
enum LintFixtures {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    static let vectors = root.appendingPathComponent("Tests/Vectors/ats")

    static func subject(
        _ text: String, path: String = "Info.plist", role: LintSubject.Role = .unknown, app: String? = nil,
        handler: DotNetStack.Handler? = nil
    ) throws -> LintSubject {
        var subject = LintSubject(path: path, document: try PlistReader.read(Array(text.utf8)), role: role, app: app)
        subject.networkStack = handler.map { DotNetStack(handler: $0, source: "App.csproj:3") }
        return subject
    }

    /// What the rules say about an example, comparing parts of an app and versions where the example has them.
    static func results(_ example: Example) throws -> [LintResult] {
        let main = try subject(
            example.infoPlist, role: example.siblingPlist == nil ? .unknown : .app,
            app: example.siblingPlist == nil ? nil : "A.app", handler: example.handler)
        if let before = example.beforePlist { return [Linter.weakenings(from: try subject(before), to: main)] }
        guard let sibling = example.siblingPlist else { return [Linter.lint(main)] }
        return Linter.lint([
            main, try subject(sibling, path: "PlugIns/B.appex/Info.plist", role: .appExtension, app: "A.app"),
        ])
    }

    static func rules(_ results: [LintResult]) -> [String: Int] {
        Dictionary(results.flatMap(\.findings).flatMap(\.rules).map { ($0, 1) }, uniquingKeysWith: +)
    }

    static func lint(ats: String, root: String = "") throws -> LintResult {
        Linter.lint(
            try subject("<plist><dict>\(root)<key>NSAppTransportSecurity</key><dict>\(ats)</dict></dict></plist>"))
    }
}

extension Rule: CustomTestStringConvertible {
    public var testDescription: String { id }
}

extension ReadingBudget {
    /// A budget with so many bytes of one kind.
    convenience init(_ kind: ReferenceWritableKeyPath<ReadingBudget, Int>, _ bytes: Int) {
        self.init()
        self[keyPath: kind] = bytes
    }
}
