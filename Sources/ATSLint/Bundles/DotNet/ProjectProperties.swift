// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// The properties of a .NET project that choose its HTTP handler, read literally. Nothing is evaluated.
struct ProjectProperties {
    /// A property that has a value, in the order in which they are set.
    private struct Setting {
        /// In lower case: MSBuild does not tell `A` from `a` in names of properties.
        let name: [UInt8]
        let handler: DotNetStack.Handler?
        let source: String
    }

    private static let notes = 16
    private static let feature = Array("usenativehttphandler".utf8)
    private static let names =
        ["mtouchhttpclienthandler", "httpclienthandler", "httpclienthandlertype"].map { Array($0.utf8) } + [feature]

    private let file: String
    /// What is built. A condition that compares anything else is not decided.
    private let configuration: String
    private let platform: String
    private var settings: [Setting] = []
    /// The Apple platforms that the project names, in lower case, each with its first line, whatever condition is on it.
    private(set) var platforms: [String: String] = [:]
    /// The line that names Xamarin as the project's framework.
    private(set) var xamarin: String?
    /// What may set the handler and was not followed, each with its line.
    private(set) var notFollowed: [String] = []

    /// Reads a project.
    ///
    /// - Parameters:
    ///   - root: the project's markup, whose depth its reader bounds.
    ///   - file: its path, for the sources.
    ///   - configuration: what conditions are compared with, as the platform.
    init(_ root: ProjectMarkup.Element, file: String, configuration: String, platform: String) {
        (self.file, self.configuration, self.platform) = (file, configuration, platform)
        read(root, isFollowed: true)
    }

    /// The handler that is named last, else what the feature switch says, with the line; nil if neither is set.
    var handler: (handler: DotNetStack.Handler, source: String)? {
        let named = settings.last { $0.name != Self.feature && $0.handler != nil }
        guard let setting = named ?? settings.last(where: { $0.handler != nil }) else { return nil }
        return setting.handler.map { ($0, setting.source) }
    }

    private mutating func read(_ element: ProjectMarkup.Element, isFollowed: Bool) {
        for child in element.children {
            let condition = child.attribute("Condition")
            let holds = condition.map(holds) ?? true
            if child.isNamed("Import") {
                if holds != false { noteImport(child) }
            } else if child.children.isEmpty {
                set(child, holds: isFollowed ? holds : nil, condition: isFollowed ? condition : nil)
            } else if holds != false {
                // What these set depends on more than the group's own condition.
                let isGroup = !["Choose", "Target", "ItemGroup"].contains(where: child.isNamed)
                if isFollowed, !isGroup || holds == nil, setsHandler(child) {
                    note(child, condition.map(undecided) ?? "what \(shown(child.name)) sets is not followed")
                }
                read(child, isFollowed: isFollowed && isGroup && holds == true)
            }
        }
    }

    private func setsHandler(_ element: ProjectMarkup.Element) -> Bool {
        Self.names.contains(element.name.asciiLowercased) || element.children.contains(where: setsHandler)
    }

    /// - Parameters:
    ///   - holds: whether it is set; nil if that is not known.
    ///   - condition: its own condition, nil if it has none, or if what holds it is named already.
    private mutating func set(_ element: ProjectMarkup.Element, holds: Bool?, condition: [UInt8]?) {
        let (name, source) = (element.name.asciiLowercased, "\(file):\(element.line)")
        let text = element.text.asciiLowercased
        if name.elementsEqual("targetframework".utf8) || name.elementsEqual("targetframeworks".utf8) {
            if holds != false { frameworks(text, source) }
        } else if name.elementsEqual("targetframeworkidentifier".utf8), text.has("xamarin") {
            xamarin = xamarin ?? source
        }
        guard Self.names.contains(name), holds != false else { return }
        guard holds == true else {
            if let condition { note(element, undecided(condition)) }
            return
        }
        guard Self.isLiteral(text) else { return note(element, "the value \(shown(element.text)) is not followed") }
        // An empty value takes back what was set before.
        settings.removeAll { $0.name == name }
        settings.append(Setting(name: name, handler: Self.handler(name, text), source: source))
    }

    private static func handler(_ name: [UInt8], _ text: [UInt8]) -> DotNetStack.Handler? {
        if name == feature { return text.has("true") ? .nsurlsession : text.has("false") ? .managed : nil }
        if text.has("nsurlsession") { return .nsurlsession }
        if text.has("cfnetwork") { return .cfnetwork }
        return ["httpclienthandler", "managed", "socketshttphandler"].contains(where: text.has) ? .managed : nil
    }

    /// The platforms of names such as `net9.0-android;net9.0-ios17.0`.
    private mutating func frameworks(_ names: [UInt8], _ source: String) {
        for name in names.split(separator: 0x3B).prefix(64) {
            guard let dash = name.firstIndex(of: 0x2D) else { continue }
            let platform = name[(dash + 1)...].prefix { (0x61...0x7A).contains($0) }
            for known in DotNetProject.platforms where platform.elementsEqual(known.utf8) {
                platforms[known] = platforms[known] ?? source
            }
        }
    }

    // MARK: - What is not followed

    private mutating func noteImport(_ element: ProjectMarkup.Element) {
        guard element.attribute("Sdk") == nil, let path = element.attribute("Project") else { return }
        // What is installed with the build is no part of the project.
        let installed = ["$(msbuildextensionspath", "$(msbuildtoolspath", "$(msbuildbinpath"]
        let start = path.asciiLowercased
        guard !installed.contains(where: { start.starts(with: $0.utf8) }) else { return }
        note(element, "the import \(shown(path)) is not followed")
    }

    private mutating func note(_ element: ProjectMarkup.Element, _ what: String) {
        if notFollowed.count < Self.notes { notFollowed.append("\(file):\(element.line): \(what)") }
    }

    private func undecided(_ condition: [UInt8]) -> String {
        "the condition \(shown(condition)) cannot be decided without a build"
    }

    private func shown(_ text: [UInt8]) -> String {
        String(decoding: text.prefix(200), as: UTF8.self).terminalSafe(limit: 120)
    }

    // MARK: - Conditions

    /// Whether a text has no properties, items, metadata and escapes.
    private static func isLiteral(_ text: [UInt8]) -> Bool { !text.contains { [0x24, 0x25, 0x40].contains($0) } }

    /// Whether a condition holds that compares the configuration and the platform with literals, several all joined by `and` or all by
    /// `or`; nil for any other.
    private func holds(_ condition: [UInt8]) -> Bool? {
        guard condition.count <= 4_096 else { return nil }
        guard condition.contains(where: { $0 > 0x20 }) else { return true }
        var words = Self.words(condition.asciiLowercased)[...]
        var (results, joints): ([Bool], Set<String>) = ([], [])
        while let left = words.popFirst(), let sign = words.popFirst(), let right = words.popFirst() {
            guard sign == "==" || sign == "!=", left.contains("$(") || right.contains("$("),
                let first = literal(left), let second = literal(right)
            else { return nil }
            results.append((first == second) == (sign == "=="))
            guard let joint = words.popFirst() else {
                return joints.count > 1 ? nil : joints == ["or"] ? results.contains(true) : !results.contains(false)
            }
            guard joint == "and" || joint == "or" else { return nil }
            joints.insert(joint)
        }
        return nil
    }

    /// Quoted texts with their first quote, signs and words; empty if a quote is not closed.
    private static func words(_ condition: [UInt8]) -> [String] {
        var (words, rest): ([String], ArraySlice<UInt8>) = ([], condition[...])
        while let next = rest.first {
            var word = rest.prefix(1)
            if next == 0x27 {
                word = rest.prefix(1 + rest.dropFirst().prefix { $0 != 0x27 }.count)
                guard word.count < rest.count else { return [] }
            } else if next == 0x3D || next == 0x21 {
                word = rest.prefix(2)
            } else if next > 0x20 {
                word = rest.prefix { $0 > 0x20 && ![0x27, 0x3D, 0x21].contains($0) }
            }
            if next > 0x20 { words.append(String(decoding: word, as: UTF8.self)) }
            rest = rest.dropFirst(word.count).dropFirst(next == 0x27 ? 1 : 0)
        }
        return words
    }

    /// One side of a comparison with the configuration and platform in it, in lower case; nil if anything else would have to be known.
    private func literal(_ word: String) -> [UInt8]? {
        let isQuoted = word.utf8.first == 0x27
        let text = (isQuoted ? String(decoding: word.utf8.dropFirst(), as: UTF8.self) : word)
            .replacing("$(configuration)", with: configuration).replacing("$(platform)", with: platform)
        let bytes = Array(text.utf8).asciiLowercased
        guard Self.isLiteral(bytes), isQuoted || !bytes.contains(where: { $0 == 0x28 || $0 == 0x29 }) else {
            return nil
        }
        return bytes
    }
}

extension [UInt8] {
    fileprivate func has(_ word: String) -> Bool { firstRange(of: word.utf8) != nil }
}
