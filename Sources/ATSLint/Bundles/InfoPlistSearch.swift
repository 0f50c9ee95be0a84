// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppTransportSecurity
import FoundationEssentials
import Glibc
package import PropertyLists
package import Vocabulary

/// Finds the Info.plists behind a path: a list, an app, an archive, a project, or a folder of any of these.
package struct InfoPlistSearch {
    /// Folders that hold what was built or fetched, not what was written.
    package static let skippedFolders: Set<String> = [
        ".build", "build", "Build", "DerivedData", "node_modules", "Pods", "Carthage", "bin", "obj", "xcuserdata",
        "vendor",
        "SourcePackages", "__pycache__",
    ]

    private var found = FoundPlists()
    /// The stack of each folder with a project, the first by name.
    private var projects: [UTF8Key: DotNetProject] = [:]
    /// How many projects of each folder were evaluated, whether they are for Apple systems or not.
    private var evaluated: [UTF8Key: Int] = [:]
    /// Files from which an Info.plist is made, read if the folder has no list.
    private var projectFiles: [String] = []
    /// What each Xcode project names: the path of the project, its text, and its lists.
    private var namedLists: [(project: String, source: [UInt8], list: XcodeProject.NamedList)] = []
    /// How much a search looks at, and whether it reads nothing but the path that it was given.
    package struct Scope: Sendable {
        package var files = ReadingLimits.searchedFiles
        package var isConfined = false

        package init() {}
    }

    /// The scope of the searches of this task.
    @TaskLocal package static var scope = Scope()
    private let configuration: String
    private let budget: ReadingBudget
    /// Whether the search ended because there were too many files.
    private var isFull = false
    /// The folder that is searched, without links; nil if one file is read.
    private let root: String?
    private let looked: () -> Void

    private init(
        _ budget: ReadingBudget, root: String? = nil, configuration: String = "Release",
        looked: @escaping () -> Void = {}
    ) {
        self.budget = budget
        self.root = root
        self.configuration = configuration
        self.looked = looked
    }

    private mutating func count() {
        found.files += 1
        looked()
    }

    /// Searches one path.
    ///
    /// Inside a folder only regular files are opened, and links only to such files below the same folder: a named pipe, a device or
    /// a link that leads out is listed as unreadable if it has the name of something that would be read.
    ///
    /// - Parameter configuration: the configuration that .NET projects are evaluated for.
    /// - Throws: `MalformedInput` if the path itself cannot be read. What cannot be read inside a folder is listed in the result.
    package static func search(
        _ path: String, budget: ReadingBudget = ReadingBudget(), configuration: String = "Release",
        looked: @escaping () -> Void = {}
    ) throws(MalformedInput) -> FoundPlists {
        let isFolder = isFolder(path)
        var search = InfoPlistSearch(
            budget, root: isFolder ? SystemFile.resolved(path) : nil, configuration: configuration,
            looked: looked)
        if isFolder {
            let clean = path.utf8.count > 1 && path.utf8.last == 0x2F ? String(path.dropLast()) : path
            search.folder(clean, inside: BundlePath.isBundle(clean) || clean.hasSuffix(".xcarchive"), depth: 0)
            search.readNamedLists()
            if search.found.lists.allSatisfy({ $0.origin == .generated }) {
                for path in search.projectFiles { search.projectFile(path) }
            }
            if search.found.lists.isEmpty, search.found.unreadable.isEmpty {
                let empty = PlistDocument(root: PlistNode(.dictionary([])), format: .xml)
                search.found.lists.append(
                    FoundPlist(path: path, document: empty, origin: .nothing(files: search.found.files)))
            }
        } else {
            if !scope.isConfined, ProjectFile.isDotNet(path) {
                let folder = path.parentFolder
                if let fault = InputFile.refusal(of: path) { throw .file(fault) }
                return try InfoPlistSearch.search(
                    folder.isEmpty ? "." : folder, budget: budget, configuration: configuration, looked: looked)
            }
            try search.file(path)
            search.readNamedLists()
            let says = !search.found.lists.isEmpty || !search.found.unreadable.isEmpty
            guard says else {
                throw .plist(
                    "",
                    "nothing in it is about App Transport Security; name the folder of the project or its Info.plist")
            }
        }
        search.assignStacks()
        return search.found
    }

    /// Reads bytes that came without a file.
    package static func read(
        _ bytes: [UInt8], name: String, budget: ReadingBudget = ReadingBudget()
    ) throws(MalformedInput) -> FoundPlists {
        var search = InfoPlistSearch(budget)
        if ZipArchive.isArchive(bytes) {
            try search.archive(bytes, name: name)
        } else {
            try search.keep(FoundPlist(path: name, document: try document(bytes, name: "-")))
        }
        return search.found
    }

    /// Reads a list or an archive from a stream, for example standard input. No more of a list is held than a list may have; an
    /// archive goes to a temporary file without a name.
    package static func read(
        _ input: InputFile, name: String, budget: ReadingBudget = ReadingBudget()
    ) throws(MalformedInput) -> FoundPlists {
        var head: [UInt8] = []
        var file: InputFile?
        do throws(InputFault) {
            head = try input.next(4)
            if ZipArchive.isArchive(head) {
                file = input.isStream ? try input.spooled(after: head, limit: ReadingLimits.streamBytes) : input
            } else {
                head += try input.contents(limit: PlistLimits.bytes)
            }
        } catch {
            throw .file(error)
        }
        guard let file else { return try read(head, name: name, budget: budget) }
        var search = InfoPlistSearch(budget)
        try search.archive(file, name: name)
        return search.found
    }

    package static func isFolder(_ path: String) -> Bool {
        SystemFile.status(of: path, followingLinks: true).map { $0.st_mode & S_IFMT } == S_IFDIR
    }

    private mutating func keep(_ list: FoundPlist) throws(MalformedInput) {
        try budget.keep(list.document, path: list.path)
        found.lists.append(list)
    }

    /// Lists what could not be read, the first ten thousand by name.
    private mutating func refuse(_ path: String, _ fault: MalformedInput) {
        let limit = ReadingLimits.unreadable
        if found.unreadable.count < limit {
            found.unreadable.append((path, fault))
        } else if found.unreadable.count == limit {
            found.unreadable.append(("...", .plist("", "more than \(limit) files cannot be read")))
        }
    }

    // MARK: - One file

    private mutating func file(_ path: String) throws(MalformedInput) {
        count()
        let input: InputFile
        do { input = try InputFile.open(path) } catch { throw .file(error) }
        if input.isStream {
            found = try InfoPlistSearch.read(input, name: path, budget: budget)
            return
        }
        if let head = input.bytes(at: 0, count: 4), ZipArchive.isArchive(head) {
            try archive(input, name: path)
            return
        }
        if path.hasSuffix(".ipa") {
            throw .plist("", "is not a zip archive, which an .ipa must be; was it truncated or renamed?")
        }
        let bytes: [UInt8]
        do { bytes = try input.contents(limit: PlistLimits.bytes) } catch { throw .file(error) }
        if path.hasSuffix(".pbxproj"), let project = try XcodeProject(bytes) { return try keep(project, path, bytes) }
        let document = try InfoPlistSearch.document(bytes, name: path.lastName)
        let sdk = Self.linkedSDK(of: document, at: path)
        try keep(FoundPlist(path: path, document: document, place: BundlePath(path), executableSDK: sdk))
        if !InfoPlistSearch.scope.isConfined { lookForProjects(above: path) }
    }

    /// Takes what an Xcode project generates, and the lists that it names.
    private mutating func keep(_ project: XcodeProject, _ path: String, _ bytes: [UInt8]) throws(MalformedInput) {
        if let document = project.generated {
            try keep(FoundPlist(path: path, document: document, origin: .generated))
        }
        for list in project.lists { namedLists.append((path, bytes, list)) }
    }

    /// Reads the lists that Xcode projects name and the search has not found by their own names.
    private mutating func readNamedLists() {
        for (project, source, named) in namedLists {
            // PROJECT/NAME.xcodeproj/project.pbxproj
            let folder = project.parentFolder.parentFolder
            let line = LineIndex(source).location(named.offset).map { ":\($0.line)" } ?? ""
            let what = "\(named.target.isEmpty ? "" : "of the target \(named.target) ")(\(named.configuration))"
            var steps = named.path
            for variable in ["$(SRCROOT)/", "${SRCROOT}/", "$(PROJECT_DIR)/", "$(SOURCE_ROOT)/", "./"]
            where steps.hasPrefix(variable) {
                steps = String(steps.dropFirst(variable.count))
            }
            for variable in ["$(TARGET_NAME)", "${TARGET_NAME}", "$(PRODUCT_NAME)"] where !named.target.isEmpty {
                steps = steps.replacing(variable, with: named.target)
            }
            let path = join(folder, steps)
            guard !(InfoPlistSearch.scope.isConfined && root == nil), !steps.contains("$"), !steps.hasPrefix("/"),
                !steps.split(separator: "/").contains("..")
            else {
                refuse(
                    project + line,
                    .plist(
                        "",
                        "INFOPLIST_FILE \(what) is \(named.path.prefix(bytes: 200)), which is not read here; name that file"
                    ))
                continue
            }
            guard !found.lists.contains(where: { $0.path.hasSameBytes(as: path) }),
                !found.unreadable.contains(where: { $0.path.hasSameBytes(as: path) })
            else { continue }
            let base = SystemFile.resolved(folder.isEmpty ? "." : folder)
            do throws(MalformedInput) {
                let bytes: [UInt8]
                do throws(InputFault) {
                    bytes = try InputFile.open(path, below: root ?? base).contents(limit: PlistLimits.bytes)
                } catch {
                    throw .plist("", "INFOPLIST_FILE \(what) names \(path.prefix(bytes: 200)): \(error.reason)")
                }
                try keep(FoundPlist(path: path, document: try PlistReader.read(bytes)))
            } catch {
                refuse(project + line, error)
            }
        }
    }

    /// The list in a file, which may be the file of a project from which an Info.plist is made.
    ///
    /// - Parameter name: the file's name without its folder; `-` for standard input.
    /// - Throws: `MalformedInput`, with what the file is if it is known not to be a list.
    package static func document(_ bytes: [UInt8], name: String) throws(MalformedInput) -> PlistDocument {
        let name = name == "-" ? ProjectFile.name(of: bytes) ?? name : name
        if let document = try ProjectFile.document(name, bytes) { return document }
        try ProjectFile.refuseOthers(bytes, name: name)
        let document = try list(bytes, isFile: name.hasSuffix(".plist"))
        try ProjectFile.refuseEntitlements(document, name: name)
        if let other = ProjectFile.otherList(document) {
            throw .plist(
                "", "this is \(other), not an Info.plist, and ATS is not configured in it: name the app's Info.plist")
        }
        let completed = ProjectFile.completed(document)
        // The settings of Xcode stand inside of others.
        if !name.hasSuffix(".pbxproj") { try ProjectFile.refuseUnrelated(completed, name: name) }
        return completed
    }

    /// - Parameter isFile: whether it has the name of a list, and is not text that was pasted.
    private static func list(_ bytes: [UInt8], isFile: Bool) throws(MalformedInput) -> PlistDocument {
        do throws(MalformedInput) {
            return try PlistReader.read(bytes, isPrinted: !isFile)
        } catch {
            guard !isFile, bytes.count <= PlistLimits.bytes else { throw error }
            if let printed = PastedList.behindCommand(bytes) { return try list(printed, isFile: false).between }
            let part = PastedList.alone(bytes)
            if let part, let document = try? PlistReader.read(part, isPrinted: false) { return document.between }
            // A part of app.json, or of a script in JavaScript, Swift or Ruby.
            if let found = try? PlistDocument(script: bytes, name: "infoPlist") { return found }
            if let found = try? PlistDocument(script: bytes, name: ATSKey.dictionary) {
                return ProjectFile.inside(ATSKey.dictionary, found)
            }
            if let found = PlistCommands.document(bytes) ?? IndentedList.document(bytes)
                ?? PrintedEntitlements.document(bytes)
            {
                return found
            }
            // What is wrong with the list says more than that there are other words before it.
            if let part { return try PlistReader.read(part, isPrinted: false).between }
            let marks = ["<", "{"] + [ATSKey.dictionary] + ATSDictionary.keys
            guard bytes.isEmpty || marks.contains(where: { bytes.contains($0.utf8) }) else {
                throw .plist(
                    "",
                    "this is neither an Info.plist nor a part of one; `sealward doctor` says what it is, and `sealward ats log` reads logs"
                )
            }
            throw error
        }
    }

    /// .NET projects keep the list in the project's folder or in Platforms/iOS below it.
    private mutating func lookForProjects(above path: String) {
        var folder = path.parentFolder
        for _ in 0..<3 {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.isEmpty ? "." : folder)) ?? []
            for name in names.filter({ $0.hasSuffix("proj") }).sorted() { project(join(folder, name), in: folder) }
            if !projects.isEmpty || folder.isEmpty || folder == "/" || folder == "." { return }
            folder = folder.parentFolder
        }
    }

    /// The bytes of a file inside the search, at most one more than `limit`; nil if there is none.
    ///
    /// - Throws: `MalformedInput` for what is there and is not read, for example a named pipe.
    private func contents(_ path: String, limit: Int) throws(MalformedInput) -> [UInt8]? {
        do throws(InputFault) {
            return try InputFile.open(path, below: root).contents(limit: limit)
        } catch {
            if error == .missing { return nil }
            throw .file(error)
        }
    }

    // MARK: - Folders

    /// - Parameter inside: inside a built app, where no folder is skipped and only the lists of bundles count.
    private mutating func folder(_ path: String, inside: Bool, depth: Int) {
        guard depth < ReadingLimits.folderDepth else {
            return refuse(path, .file(InputFault("is \(ReadingLimits.folderDepth) folders deep; name it to search it")))
        }
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path).sorted() else {
            return refuse(path, .file(InputFault("cannot be searched; check its permissions")))
        }
        for name in names {
            guard found.files < InfoPlistSearch.scope.files else {
                if isFull { return }
                isFull = true
                let most = InfoPlistSearch.scope.files
                return refuse(path, .file(InputFault("was not searched completely: \(most) files were examined")))
            }
            guard name.utf8.count <= ReadingLimits.nameBytes, !name.hasMarkRun else { continue }
            let full = join(path, name)
            if name.hasSuffix(".plist") {
                count()
                if inside || path.hasSuffix(".xcarchive") {
                    if let place = BundlePath(full) { list(full, isCandidate: place.part != .framework) }
                } else {
                    list(full, isCandidate: name.hasSuffix("Info.plist"))
                }
                continue
            }
            guard let information = SystemFile.status(of: full, followingLinks: false) else { continue }
            guard information.st_mode & S_IFMT == S_IFDIR else {
                count()
                other(full, name: name, folder: path)
                continue
            }
            let isBundle = BundlePath.isBundle(name) || name.hasSuffix(".xcarchive")
            if inside {
                if !name.hasSuffix(".dSYM") { folder(full, inside: true, depth: depth + 1) }
            } else if isBundle {
                folder(full, inside: true, depth: depth + 1)
            } else if Self.skippedFolders.contains(name) || name.hasSuffix(".xcframework") || name.hasSuffix(".dSYM") {
                if found.skipped.count < 100 { found.skipped.append(full) }
            } else if !name.hasPrefix(".") {
                folder(full, inside: false, depth: depth + 1)
            }
        }
    }

    private mutating func list(_ path: String, isCandidate: Bool) {
        do throws(MalformedInput) {
            guard let bytes = try contents(path, limit: PlistLimits.bytes) else { return }
            let document = try PlistReader.read(bytes)
            guard isCandidate && ProjectFile.otherList(document) == nil || ProjectFile.isInfoPlist(document) else {
                return
            }
            let place = BundlePath(path)
            if place?.part == .framework {
                // Of interest only where somebody believes that its dictionary counts.
                guard document.root[ATSKey.dictionary] != nil else { return }
                try keep(FoundPlist(path: path, document: document, place: place))
                return
            }
            let executable = place == nil ? nil : Self.openExecutable(of: document, at: path, below: root)
            let attest =
                place == nil
                ? nil
                : executable.flatMap { CodeSignature.entitlement($0.bytes, name: $0.name) } ?? profile(beside: path)
            let sdk = executable.flatMap { LinkedSDK(executable: $0.bytes) }
            try keep(FoundPlist(path: path, document: document, place: place, executableSDK: sdk, attest: attest))
        } catch {
            if isCandidate { refuse(path, error) }
        }
    }

    /// The SDK of an app: what the executable beside its list names, or else the list itself.
    package static func linkedSDK(of document: PlistDocument, at path: String) -> LinkedSDK? {
        let executable =
            BundlePath(path) == nil || scope.isConfined ? nil : openExecutable(of: document, at: path, below: nil)
        return executable.flatMap { LinkedSDK(executable: $0.bytes) } ?? LinkedSDK(infoPlist: document.root)
    }

    /// The executable of a bundle, if it is a regular file.
    private static func openExecutable(
        of document: PlistDocument, at path: String, below root: String?
    ) -> (bytes: InputFile, name: String)? {
        guard let executable = executable(of: document, at: path) else { return nil }
        guard SystemFile.status(of: executable, followingLinks: false).map({ $0.st_mode & S_IFMT }) == S_IFREG,
            let file = try? InputFile.open(executable, below: root), !file.isStream
        else { return nil }
        return (file, executable)
    }

    /// Where the executable of a bundle lies: beside its list, or in `MacOS` where the list is in `Contents`.
    private static func executable(of document: PlistDocument, at path: String) -> String? {
        guard let name = document.root["CFBundleExecutable"]?.string, (1...255).contains(name.utf8.count),
            name != "..", name != ".", !name.utf8.contains(where: { $0 == 0x2F || $0 == 0 })
        else { return nil }
        let folder = path.parentFolder
        return (folder.lastName == "Contents" ? folder + "/MacOS/" : folder + "/") + name
    }

    private mutating func profile(beside path: String) -> AttestEntitlement? {
        let profile = join(path.parentFolder, ProvisioningProfile.name)
        do throws(MalformedInput) {
            guard let bytes = try contents(profile, limit: ProvisioningProfile.limit) else { return nil }
            return try entitlement(bytes, source: profile)
        } catch {
            refuse(profile, error)
            return nil
        }
    }

    /// What a profile grants, within its own limit and that of the run.
    private func entitlement(_ bytes: [UInt8], source: String) throws(MalformedInput) -> AttestEntitlement? {
        guard bytes.count <= ProvisioningProfile.limit else {
            throw .plist("", "is larger than \(ProvisioningProfile.limit >> 20) MiB, which no profile is")
        }
        guard budget.take(bytes.count, from: \.claims) else {
            throw .plist(
                "", "is not read: the profiles of this run have more than \(ReadingLimits.claimBytes >> 20) MiB")
        }
        return ProvisioningProfile.entitlement(bytes, source: source)
    }

    private mutating func other(_ path: String, name: String, folder: String) {
        do throws(MalformedInput) {
            if name.hasSuffix(".ipa") {
                let input: InputFile
                do { input = try InputFile.open(path, below: root) } catch { throw .file(error) }
                try archive(input, name: path)
            } else if ProjectFile.isDotNet(name) {
                project(path, in: folder)
            } else if name == "project.pbxproj" {
                guard let bytes = try contents(path, limit: PlistLimits.bytes), let project = try XcodeProject(bytes)
                else { return }
                try keep(project, path, bytes)
            } else if name.hasSuffix(".xcconfig") {
                projectFile(path, origin: .generated)
            } else if ProjectFile.isKnown(name), projectFiles.count < 16 {
                projectFiles.append(path)
            }
        } catch {
            refuse(path, error)
        }
    }

    private mutating func projectFile(_ path: String, origin: FoundPlist.Origin = .file) {
        do throws(MalformedInput) {
            guard let bytes = try contents(path, limit: PlistLimits.bytes),
                let document = try ProjectFile.document(path.lastName, bytes)
            else { return }
            try keep(FoundPlist(path: path, document: document, origin: origin))
        } catch {
            // Beside another file of a project its package.json, which has no list, says nothing.
            guard path.lastName != "package.json" || found.lists.isEmpty && found.unreadable.isEmpty else { return }
            refuse(path, error)
        }
    }

    // MARK: - Archives

    private mutating func archive(_ source: some ByteSource, name: String) throws(MalformedInput) {
        let archive = try ZipArchive(source)
        found.files += archive.entries.count
        // Only bundles and what lies beside their lists is looked at: few of the names of an app.
        let bundles = archive.entries.compactMap { entry in BundlePath(entry.name).map { (entry, $0) } }
            .sorted { UTF8Key($0.0.name) < UTF8Key($1.0.name) }
        let byName = Dictionary(archive.entries.map { (UTF8Key($0.name), $0) }, uniquingKeysWith: { first, _ in first })
        var executables = CodeSignature.unpackedBytesOfArchive
        var lists: [FoundPlist] = []
        guard bundles.count(where: { $0.1.part != .framework }) <= 1_000 else {
            throw .archive(name, "has more than 1000 bundles")
        }
        var frameworks = 2_000
        for (entry, place) in bundles {
            if place.part == .framework {
                frameworks -= 1
                if frameworks >= 0, let list = framework(entry, place, in: archive, name: name) { lists.append(list) }
                continue
            }
            let bytes = try archive.contents(entry, limit: PlistLimits.bytes)
            guard budget.take(bytes.count, from: \.unfolded) else { throw Self.tooMuch(name) }
            let path = name + "/" + entry.name
            let document: PlistDocument
            do throws(MalformedInput) {
                document = try PlistReader.read(bytes)
            } catch {
                refuse(path, error)
                continue
            }
            // What a list takes in memory counts as well: many small values are a few bytes each in the file.
            guard budget.take(ReadingBudget.weight(of: document), from: \.unfolded) else { throw Self.tooMuch(name) }
            do throws(MalformedInput) {
                try budget.keep(document, path: path)
            } catch {
                refuse(path, error)
                continue
            }
            var attest: AttestEntitlement?
            var sdk: LinkedSDK?
            if let executable = Self.executable(of: document, at: entry.name).flatMap({ byName[UTF8Key($0)] }),
                executable.size <= min(CodeSignature.unpackedBytes, executables),
                budget.take(executable.size, from: \.executables),
                let bytes = try? archive.contents(executable, limit: CodeSignature.unpackedBytes)
            {
                executables -= executable.size
                attest = CodeSignature.entitlement(bytes, name: name + "/" + executable.name)
                sdk = LinkedSDK(executable: bytes)
            }
            let folder = entry.name.utf8.dropLast("Info.plist".utf8.count)
            let profileName = String(decoding: folder, as: UTF8.self) + ProvisioningProfile.name
            if attest == nil, let profile = byName[UTF8Key(profileName)] {
                do throws(MalformedInput) {
                    let bytes = try archive.contents(profile, limit: ProvisioningProfile.limit)
                    attest = try entitlement(bytes, source: name + "/" + profileName)
                } catch {
                    refuse(name + "/" + profileName, error)
                }
            }
            lists.append(FoundPlist(path: path, document: document, place: place, executableSDK: sdk, attest: attest))
        }
        guard !lists.isEmpty || !found.unreadable.isEmpty else {
            throw .archive("", "contains no app: it has no Payload/NAME.app/Info.plist")
        }
        found.lists += lists
    }

    /// The list of a framework or of a bundle of resources, if it has a dictionary that nobody reads. Others, and what cannot be read, are
    /// of no interest: no app fails because of them.
    private func framework(
        _ entry: ZipArchive.Entry, _ place: BundlePath, in archive: ZipArchive, name: String
    ) -> FoundPlist? {
        guard entry.size <= 1 << 20, budget.take(entry.size, from: \.unfolded),
            let bytes = try? archive.contents(entry, limit: 1 << 20), let document = try? PlistReader.read(bytes),
            document.root[ATSKey.dictionary] != nil, budget.take(ReadingBudget.weight(of: document), from: \.unfolded),
            (try? budget.keep(document, path: name)) != nil
        else { return nil }
        return FoundPlist(path: name + "/" + entry.name, document: document, place: place)
    }

    private static func tooMuch(_ name: String) -> MalformedInput {
        .archive(
            name,
            "is not read: the lists in the archives of this run expand to more than \(ReadingLimits.unfoldedBytes >> 20) MiB"
        )
    }

    // MARK: - .NET projects

    private mutating func project(_ path: String, in folder: String) {
        let folder = UTF8Key(folder == "." ? "" : folder)
        guard projects[folder] == nil, ProjectFile.isDotNet(path) else { return }
        let most = ReadingLimits.folderProjects
        evaluated[folder, default: 0] += 1
        guard evaluated[folder, default: 0] <= most else {
            if evaluated[folder] == most + 1 {
                refuse(
                    path,
                    .plist(
                        "",
                        "and later projects are not evaluated: none of the first \(most) of the folder is for Apple systems"
                    ))
            }
            return
        }
        do throws(MalformedInput) {
            guard let bytes = try contents(path, limit: DotNetProject.fileBytes) else { return }
            guard bytes.count <= DotNetProject.fileBytes else {
                throw .plist("", "is larger than \(DotNetProject.fileBytes >> 20) MiB, which no project is")
            }
            projects[folder] = try DotNetProject.read(
                bytes, name: path, configuration: configuration, shared: DotNetProject.sharedFiles(above: path),
                budget: budget)
        } catch {
            refuse(path, error)
        }
    }

    /// Gives each list the stack of the nearest project above it.
    private mutating func assignStacks() {
        guard !projects.isEmpty else { return }
        for index in found.lists.indices {
            var folder = found.lists[index].path.parentFolder.utf8[...]
            while true {
                if let project = projects[UTF8Key(String(decoding: folder, as: UTF8.self))] {
                    found.lists[index].stack = project.stack(forListAt: found.lists[index].path)
                    break
                }
                if folder.isEmpty { break }
                // Without a slash what is above is the folder without a name, where the search began.
                folder = folder.lastIndex(of: 0x2F).map { folder[..<$0] } ?? folder.prefix(0)
            }
        }
    }

    private func join(_ folder: String, _ name: String) -> String {
        folder.isEmpty || folder == "." ? name : folder.hasSuffix("/") ? folder + name : folder + "/" + name
    }
}
