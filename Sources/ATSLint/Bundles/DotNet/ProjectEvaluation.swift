// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// What a project's properties are for one configuration and one target framework: the project, what it imports of its own tree, and
/// `Directory.Build.props` and `.targets` above it, in MSBuild's order. The SDK's own files are not read.
struct ProjectEvaluation {
    /// A property with the line that set it.
    struct Property {
        let value: [UInt8]
        let source: String
        /// Rises with each property that is set, so that of two the later one is known.
        let order: Int
    }

    /// What the project asks for beyond its own text.
    struct FileAccess: Sendable {
        /// The bytes of a file, nil if there is none.
        let file: @Sendable (_ path: String) throws(MalformedInput) -> [UInt8]?
        /// Whether a path is there; nil if it is outside of what may be asked for.
        let exists: @Sendable (_ path: String) -> Bool?

        /// Nothing but the project itself.
        static let none = FileAccess(
            file: { (_: String) throws(MalformedInput) -> [UInt8]? in nil }, exists: { _ in false })
    }

    private static let files = 32
    private static let depth = 8
    private static let notes = 16

    /// By their names in lower case.
    private(set) var properties: [UTF8Key: Property] = [:]
    /// Conditions and imports that were not followed, each with its line.
    private(set) var notFollowed: [String] = []
    /// Set from outside: nothing in a file changes them.
    private var globals: [UTF8Key: [UInt8]]
    private let project: String
    private let fileAccess: FileAccess
    private let budget: ReadingBudget
    private var read: Set<UTF8Key> = []
    private var current: String
    private var setCount = 0
    /// How many texts with references may still be put together, over all files.
    private var expansions = 20_000

    /// Evaluates a project.
    ///
    /// - Parameters:
    ///   - root: the project's own markup.
    ///   - project: its path.
    ///   - globals: properties that the build is started with, for example `Configuration`.
    ///   - budget: what the projects of a run may still read and put together.
    /// - Throws: `MalformedInput` if a file that it imports is not well-formed, or if the budget does not suffice.
    init(
        _ root: ProjectMarkup.Element, project: String, globals: [(String, [UInt8])], fileAccess: FileAccess,
        budget: ReadingBudget
    ) throws(MalformedInput) {
        self.project = project
        self.budget = budget
        self.fileAccess = fileAccess
        current = project
        self.globals = Dictionary(
            globals.map { (Self.key(Array($0.0.utf8)), $0.1) }, uniquingKeysWith: { first, _ in first })
        let usesSDK = root.attribute("Sdk") != nil || root.children.contains { $0.isNamed("Sdk") }
        let isLegacy = !usesSDK && root.children.contains { $0.isNamed("Import") }
        // A project of the older form names what it imports; Microsoft.Common.props, which it imports first, imports the props all the same.
        if usesSDK || isLegacy { try importAbove("Directory.Build.props", depth: 1) }
        try children(of: root, depth: 1)
        if usesSDK || isLegacy { try importAbove("Directory.Build.targets", depth: 1) }
        guard budget.hasExpansions else { throw budget.projectsEnd }
    }

    /// A property's text without white space around it, nil if it is not set or empty.
    func value(_ name: String) -> Property? {
        guard let found = properties[Self.key(Array(name.utf8))], !found.value.isEmpty else { return nil }
        return found
    }

    private static func key(_ name: [UInt8]) -> UTF8Key {
        UTF8Key(String(decoding: name.asciiLowercased, as: UTF8.self))
    }

    private static func folder(of path: String) -> String {
        let folder = path.parentFolder
        return folder.isEmpty ? "./" : folder.utf8.last == 0x2F ? folder : folder + "/"
    }

    // MARK: - Expressions

    private var expression: ProjectExpression {
        let (properties, globals, current, project) = (properties, globals, current, project)
        let (fileAccess, budget) = (fileAccess, budget)
        func value(_ name: [UInt8]) -> [UInt8] {
            let key = Self.key(name)
            if let value = globals[key] { return value }
            switch key.text {
            case "msbuildthisfiledirectory": return Array(Self.folder(of: current).utf8)
            case "msbuildprojectdirectory": return Array(Self.folder(of: project).utf8.dropLast())
            case "msbuildthisfile": return Array(current.lastName.utf8)
            case "msbuildprojectfile": return Array(project.lastName.utf8)
            case "msbuildprojectname":
                return Array(project.lastName.utf8.dropLast(project.nameSuffix.utf8.count + 1))
            case "os": return Array("Unix".utf8)
            default: return properties[key]?.value ?? []
            }
        }
        return ProjectExpression(
            property: { name in
                let found = value(name)
                budget.expand(name.count + found.count)
                return found
            },
            exists: { path in Self.path(path, beside: current).flatMap(fileAccess.exists) },
            above: { name, folder in
                guard let name = Self.plainName(name) else { return nil }
                return Self.above(name, from: String(decoding: folder, as: UTF8.self), fileAccess).map {
                    Array($0.utf8)
                }
                    ?? []
            }
        )
    }

    /// A path of a project, with slashes of either kind, below the folder of the file that names it.
    private static func path(_ text: [UInt8], beside file: String) -> String? {
        let bytes = text.map { $0 == 0x5C ? 0x2F : $0 }
        guard !bytes.isEmpty, !bytes.contains(where: { $0 < 0x20 || $0 == 0x2A || $0 == 0x3F }) else { return nil }
        let path = String(decoding: bytes, as: UTF8.self)
        return Self.normal(path.utf8.first == 0x2F ? path : folder(of: file) + path)
    }

    /// Without `.` and with `..` taken together with the folder before it.
    private static func normal(_ path: String) -> String {
        var parts: [Substring.UTF8View] = []
        let isAbsolute = path.utf8.first == 0x2F
        for part in path.utf8.split(separator: 0x2F) {
            if part.elementsEqual(".".utf8) { continue }
            if part.elementsEqual("..".utf8), let last = parts.last, !last.elementsEqual("..".utf8) {
                parts.removeLast()
            } else {
                parts.append(part)
            }
        }
        let text = parts.map { String(Substring($0)) }.joined(separator: "/")
        return isAbsolute ? "/" + text : text
    }

    private static func plainName(_ name: [UInt8]) -> String? {
        guard (1...255).contains(name.count), !name.contains(where: { $0 < 0x20 || $0 == 0x2F || $0 == 0x5C }) else {
            return nil
        }
        return String(decoding: name, as: UTF8.self)
    }

    /// The nearest file of a name in a folder or above it. A relative path ends where the search began.
    private static func above(_ name: String, from folder: String, _ fileAccess: FileAccess) -> String? {
        var folder = normal(folder)
        for _ in 0..<32 {
            let path = folder.isEmpty ? name : folder == "/" ? "/" + name : folder + "/" + name
            if fileAccess.exists(path) == true { return path }
            if folder.isEmpty || folder == "/" || folder.utf8.suffix(2).elementsEqual("..".utf8) { return nil }
            folder = folder.parentFolder
        }
        return nil
    }

    // MARK: - Elements

    private mutating func note(_ element: ProjectMarkup.Element, _ what: String) {
        if notFollowed.count < Self.notes { notFollowed.append("\(current):\(element.line): \(what)") }
    }

    private mutating func mayExpand(_ text: [UInt8]) -> Bool {
        guard text.contains(0x24) else { return true }
        guard expansions > 0, budget.hasExpansions else { return false }
        expansions -= 1
        budget.expand(text.count)
        if expansions == 0 { notFollowed.append("\(current): has too many conditions; the rest is not followed") }
        return expansions > 0
    }

    /// Whether an element's condition lets it count. One that cannot be decided does not, and is noted.
    private mutating func counts(_ element: ProjectMarkup.Element) -> Bool {
        guard let condition = element.attribute("Condition") else { return true }
        guard mayExpand(condition) else { return false }
        if let holds = expression.holds(condition) { return holds }
        let text = String(decoding: condition.prefix(200), as: UTF8.self).terminalSafe(limit: 120)
        note(element, "the condition \(text) cannot be decided without a build")
        return false
    }

    private mutating func children(of element: ProjectMarkup.Element, depth: Int) throws(MalformedInput) {
        guard depth <= Self.depth * 2 else { return note(element, "is nested too deeply") }
        for child in element.children {
            if child.isNamed("PropertyGroup") {
                if counts(child) { for property in child.children { set(property) } }
            } else if child.isNamed("Import") {
                if counts(child) { try importFile(child, depth: depth) }
            } else if child.isNamed("ImportGroup") {
                if counts(child) { try children(of: child, depth: depth + 1) }
            } else if child.isNamed("Choose") {
                try choose(child, depth: depth)
            } else if child.children.isEmpty, child.attribute("Include") == nil,
                !["Target", "UsingTask", "Sdk", "ItemGroup"].contains(where: child.isNamed)
            {
                set(child)
            }
        }
    }

    private mutating func choose(_ element: ProjectMarkup.Element, depth: Int) throws(MalformedInput) {
        for branch in element.children where branch.isNamed("When") && counts(branch) {
            return try children(of: branch, depth: depth + 1)
        }
        for branch in element.children where branch.isNamed("Otherwise") {
            return try children(of: branch, depth: depth + 1)
        }
    }

    private mutating func set(_ element: ProjectMarkup.Element) {
        let key = Self.key(element.name)
        guard element.children.isEmpty, globals[key] == nil, counts(element) else { return }
        guard properties.count < 10_000 || properties[key] != nil else { return }
        let text = ProjectExpression.trimmed(element.text)
        guard mayExpand(text), let value = expression.expanded(text) else { return }
        properties[key] = Property(value: value, source: "\(current):\(element.line)", order: setCount)
        setCount += 1
    }

    // MARK: - Imports

    private mutating func importAbove(_ name: String, depth: Int) throws(MalformedInput) {
        guard let path = Self.above(name, from: Self.folder(of: project), fileAccess) else { return }
        try follow(path, from: nil, depth: depth)
    }

    private mutating func importFile(_ element: ProjectMarkup.Element, depth: Int) throws(MalformedInput) {
        // An import of an SDK is the SDK's own.
        guard element.attribute("Sdk") == nil, let text = element.attribute("Project") else { return }
        guard let expanded = expression.expanded(text), let path = Self.path(expanded, beside: current) else {
            return note(
                element,
                "the import \(String(decoding: text.prefix(200), as: UTF8.self).terminalSafe(limit: 120)) is not followed"
            )
        }
        // The build's own files lie outside the project.
        switch fileAccess.exists(path) {
        case true?: try follow(path, from: element, depth: depth)
        case false? where text.firstRange(of: Array("$(MSBuild".utf8)) == nil:
            note(element, "the import \(path.terminalSafe(limit: 120)) does not exist")
        case nil where text.firstRange(of: Array("$(MSBuild".utf8)) == nil:
            note(element, "the import \(path.terminalSafe(limit: 120)) is outside the tree")
        case false?, nil: break
        }
    }

    private mutating func follow(
        _ path: String, from element: ProjectMarkup.Element?, depth: Int
    ) throws(MalformedInput) {
        guard depth < Self.depth, read.count < Self.files else {
            if let element { note(element, "has too many imports") }
            return
        }
        // MSBuild reads a file once.
        guard read.insert(UTF8Key(path)).inserted else { return }
        guard let bytes = try fileAccess.file(path) else {
            if let element { note(element, "the import \(path.terminalSafe(limit: 120)) is outside the tree") }
            return
        }
        let root: ProjectMarkup.Element
        do throws(MalformedInput) {
            root = try budget.markup(bytes)
        } catch {
            throw MalformedInput(code: error.code, place: "\(path.terminalSafe) \(error.place)", reason: error.reason)
        }
        let importer = current
        current = path
        defer { current = importer }
        try children(of: root, depth: depth + 1)
    }
}
