// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import AppTransportSecurity
import ArgumentParser
import PropertyLists
import Vocabulary

/// Which dictionary, and on which system.
struct DictionaryOptions: ParsableArguments {
    @Option(help: .value("The app's Info.plist, XML or binary; - is standard input.", "PATH"))
    var infoPlist: String?

    @Option(help: .value("The NSAppTransportSecurity dictionary itself, as JSON.", "PATH"))
    var atsJson: String?

    @OptionGroup var values: BuildValueOptions

    @OptionGroup var system: SystemOptions

    func validate() throws {
        if infoPlist != nil, atsJson != nil { throw ValidationError("Give --info-plist or --ats-json, not both.") }
        try values.requireList(infoPlist)
    }

    func load() throws -> AppDictionary {
        if let atsJson {
            let dictionary = try CommandIO.value(of: atsJson, limit: 4 << 20) { bytes throws(MalformedInput) in
                // The file of a project holds the dictionary of its Info.plist.
                if let project = try ProjectFile.document(atsJson.lastName, bytes) {
                    return project.root.propertyListValue.members?[ATSKey.dictionary]
                }
                return try PropertyListValue(json: bytes)
            }
            return AppDictionary(dictionary: ATSDictionary(dictionary), sdk: nil)
        }
        return try infoPlist.map { try PropertyListFile.app(infoPlist: $0, values) }
            ?? AppDictionary(dictionary: ATSDictionary(), sdk: nil)
    }

    /// The dictionary on the system that was asked for.
    ///
    /// - Parameter ofAnySystem: whether it may be older than ATS; otherwise that is wrong usage.
    func policy(ofAnySystem: Bool = false) throws -> ATSPolicy {
        let app = try load()
        return ATSPolicy(
            dictionary: app.dictionary,
            profile: try ofAnySystem ? system.anyProfile(app: app) : system.profile(app: app))
    }
}

extension LinkedSDK {
    static let help =
        "The SDK that the app is linked on, up to \(known.upperBound) as iOS counts (macOS 15 is 18; before 9 ATS is off); default the one that the app names"
}

/// Which system, and which SDK the app is linked on.
struct SystemOptions: ParsableArguments {
    @Option(
        help: .value("The system: \(OSProfile.range), published; default macos26.", "ID"),
        transform: SystemOptions.system)
    var os: OSProfile?

    @Option(help: .value("\(LinkedSDK.help), or the system's own.", "N"))
    var sdk: LinkedSDK?

    /// A system, or that of the option, with the SDK of the option, or else the app's, or else its own. It may be older than ATS.
    func anyProfile(on system: OSProfile? = nil, app: AppDictionary? = nil) -> OSProfile {
        let system = system ?? os ?? .standard
        return (sdk ?? app?.sdk).map(system.linked) ?? system
    }

    /// The same; one that is older than ATS is wrong usage.
    func profile(on system: OSProfile? = nil, app: AppDictionary? = nil) throws -> OSProfile {
        try SystemOptions.usable { () throws(MalformedInput) in try judged(on: system, app: app) }
    }

    /// The same; one that is older than ATS is malformed.
    func judged(on system: OSProfile? = nil, app: AppDictionary? = nil) throws(MalformedInput) -> OSProfile {
        let profile = anyProfile(on: system, app: app)
        guard profile.hasTransportSecurity else {
            throw MalformedInput(code: .malformedSystem, reason: profile.absence)
        }
        return profile
    }

    static func system(_ id: String) throws -> OSProfile {
        try usable { () throws(MalformedInput) in try OSProfile.asked(id) }
    }

    private static func usable(_ profile: () throws(MalformedInput) -> OSProfile) throws -> OSProfile {
        do {
            return try profile()
        } catch {
            throw ValidationError("\(error.reason).")
        }
    }
}

/// Systems separated by commas, each once.
struct SystemList {
    let profiles: [OSProfile]

    /// - Throws: `ValidationError` for more than 64, and for one that is unknown.
    init(_ argument: String) throws {
        var profiles: [OSProfile] = []
        let parts = argument.split(separator: ",", maxSplits: 64, omittingEmptySubsequences: false)
        guard parts.count <= 64 else { throw ValidationError("at most 64 systems can be compared") }
        for part in parts {
            let profile = try SystemOptions.system(String(part))
            if !profiles.contains(where: { $0.id == profile.id }) { profiles.append(profile) }
        }
        self.profiles = profiles
    }
}

/// Values that a build puts for `$(NAME)` in an Info.plist.
struct BuildValueOptions: ParsableArguments {
    @Option(help: .value("The value of $(NAME) in the Info.plist; repeatable.", "NAME=VALUE"))
    var define: [String] = []

    @Option(help: .value("Take values of $(NAME) from an .xcconfig; repeatable.", "FILE"))
    var xcconfig: [String] = []

    func validate() throws {
        for text in define where !text.utf8.dropFirst().contains(UInt8(ascii: "=")) {
            throw ValidationError("--define: '\(text.terminalSafe(limit: 80))' is not NAME=VALUE.")
        }
    }

    /// Refuses values without the list that they are for.
    func requireList(_ infoPlist: String?) throws {
        guard infoPlist == nil, !isEmpty else { return }
        throw ValidationError("--define and --xcconfig are for an Info.plist: name it with --info-plist.")
    }

    var isEmpty: Bool { define.isEmpty && xcconfig.isEmpty }

    /// The values by name: those of --define win, then those of the last file.
    func values() throws -> [UTF8Key: String] {
        var values: [UTF8Key: String] = [:]
        for path in xcconfig {
            for setting in XcodeSettings.settings(try CommandIO.readText(path, limit: 1 << 20)) {
                values[UTF8Key(setting.key)] = setting.node.string
            }
        }
        for text in define {
            let parts = text.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            values[UTF8Key(String(Substring(parts[0])))] = parts.last.map { String(Substring($0)) }
        }
        return values
    }
}

/// What an app says about itself.
struct AppDictionary {
    let dictionary: ATSDictionary
    /// The SDK that it is linked on; nil if it does not say so.
    let sdk: LinkedSDK?
}

/// Property lists of either form, as values: read by the reader of `ats lint`, so that no two commands disagree about a file.
enum PropertyListFile {
    /// The NSAppTransportSecurity dictionary of an Info.plist, the empty one if there is none, and the SDK of the app.
    static func app(infoPlist path: String, _ options: BuildValueOptions) throws -> AppDictionary {
        let values = try options.values()
        if path != "-", InfoPlistSearch.isFolder(path) { return try app(folder: path, values) }
        let bytes = try CommandIO.read(path, limit: 16 << 20)
        guard !ZipArchive.isArchive(bytes) else {
            throw CommandFault(
                "\(CommandIO.name(of: path)): is an archive, not a property list; name the Info.plist inside it, or run `sealward ats lint` "
                    + "on the whole app.")
        }
        if path.hasSuffix(".pbxproj") { return try app(folder: path, values) }
        let list = try CommandIO.named(path) { () throws(MalformedInput) in
            try InfoPlistSearch.document(bytes, name: path.lastName).substituting { values[UTF8Key($0)] }
        }
        if let note = ProjectFile.note(path.lastName, list) {
            CommandIO.say("sealward: \(CommandIO.name(of: path)): \(note).")
        }
        let document = list.root.propertyListValue
        guard let members = document.members else {
            throw CommandFault(
                "\(CommandIO.name(of: path)): contains \(document.kind), not a dictionary, which an Info.plist must be."
            )
        }
        return AppDictionary(
            dictionary: ATSDictionary(members[ATSKey.dictionary]), sdk: InfoPlistSearch.linkedSDK(of: list, at: path))
    }

    /// The dictionary of the one app in a folder or project.
    private static func app(folder path: String, _ values: [UTF8Key: String]) throws -> AppDictionary {
        let found = try CommandIO.named(path) { () throws(MalformedInput) in try InfoPlistSearch.search(path) }
        let name = CommandIO.name(of: path)
        let lists = found.lists.filter {
            if case .nothing = $0.origin { false } else { $0.place?.part != .framework }
        }
        let apps = lists.map { list in
            (
                list,
                list.document.substituting { values[UTF8Key($0)] }.root.propertyListValue.members?[ATSKey.dictionary]
            )
        }
        guard let (first, dictionary) = apps.first(where: { $0.0.place?.part == .app }) ?? apps.first else {
            let reason = found.unreadable.first.map { "\($0.path): \($0.fault.description)" }
            throw CommandFault(
                "\(name): \(reason ?? "nothing was found of what is looked for: \(ProjectFile.searched)").")
        }
        guard apps.allSatisfy({ $0.1 == dictionary }) || first.place?.part == .app else {
            let names = lists.prefix(5).map(\.path).joined(separator: ", ")
            throw CommandFault(
                "\(name): has \(lists.count) Info.plists with different dictionaries; name one: \(names).")
        }
        if let note = ProjectFile.note(first.path.lastName, first.document) {
            CommandIO.say("sealward: \(first.path): \(note).")
        }
        return AppDictionary(dictionary: ATSDictionary(dictionary), sdk: first.sdk)
    }
}
