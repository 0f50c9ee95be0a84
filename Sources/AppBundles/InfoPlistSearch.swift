// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
package import Findings
import Foundation

/// Finds the Info.plists behind a path: a list, an app, an archive, a project, or a folder of any of these.
package struct InfoPlistSearch {
    /// Folders that hold what was built or fetched, not what was written.
    static let skippedFolders: Set<String> = [
        "build", "Build", "DerivedData", "node_modules", "Pods", "Carthage", "bin", "obj", "xcuserdata", "vendor",
        "SourcePackages", "__pycache__",
    ]

    private var found = FoundPlists()
    private var projects: [(folder: String, stack: DotNetStack)] = []

    /// Searches one path.
    ///
    /// - Throws: `MalformedInput` where the path itself cannot be read. What cannot be read inside of a folder is listed in the result.
    package static func search(_ path: String) throws(MalformedInput) -> FoundPlists {
        var search = InfoPlistSearch()
        let kind = FileKind(path)
        switch kind {
        case .missing: throw MalformedInput(code: "malformed.plist", reason: "there is no such file")
        case .folder:
            let clean = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
            search.folder(clean, inside: BundlePath.isBundle(clean) || clean.hasSuffix(".xcarchive"), depth: 0)
            if search.found.lists.isEmpty, search.found.unreadable.isEmpty {
                let empty = PlistDocument(root: PlistNode(.dictionary([])), format: .xml)
                search.found.lists.append(
                    FoundPlist(path: path, document: empty, origin: .nothing(files: search.found.files))
                )
            }
        case .file:
            if path.hasSuffix(".csproj") || path.hasSuffix(".fsproj") || path.hasSuffix(".vbproj") {
                let folder = (path as NSString).deletingLastPathComponent
                return try search.search(folder.isEmpty ? "." : folder)
            }
            try search.file(path)
        }
        search.assignStacks()
        return search.found
    }

    /// Reads bytes that came without a file, for example from standard input.
    package static func read(_ bytes: [UInt8], name: String) throws(MalformedInput) -> FoundPlists {
        var search = InfoPlistSearch()
        if ZipArchive.isArchive(bytes) {
            try search.archive(MemoryBytes(bytes), name: name)
        } else {
            search.found.lists = [FoundPlist(path: name, document: try PlistReader.read(bytes))]
        }
        return search.found
    }

    private func search(_ path: String) throws(MalformedInput) -> FoundPlists { try InfoPlistSearch.search(path) }

    private enum FileKind {
        case missing, file, folder

        init(_ path: String) {
            var information = stat()
            if stat(path, &information) != 0 {
                self = .missing
            } else {
                self = information.st_mode & S_IFMT == S_IFDIR ? .folder : .file
            }
        }
    }

    // MARK: - One file

    private mutating func file(_ path: String) throws(MalformedInput) {
        found.files += 1
        guard let head = FileBytes.contents(path, limit: 3) else {
            throw MalformedInput(code: "malformed.plist", reason: "cannot be read; check its permissions")
        }
        if ZipArchive.isArchive(head) {
            try archive(FileBytes(path), name: path)
            return
        }
        guard let bytes = FileBytes.contents(path, limit: ReadingLimits.plistBytes) else {
            throw MalformedInput(code: "malformed.plist", reason: "cannot be read; check its permissions")
        }
        if path.hasSuffix(".pbxproj"), let document = XcodeProject.generated(bytes) {
            found.lists.append(FoundPlist(path: path, document: document, origin: .generated))
            return
        }
        let document = try PlistReader.read(bytes)
        found.lists.append(FoundPlist(path: path, document: document, place: BundlePath(path)))
        lookForProjects(above: path)
    }

    /// .NET projects keep the list in the project's folder or in Platforms/iOS below it.
    private mutating func lookForProjects(above path: String) {
        var folder = (path as NSString).deletingLastPathComponent
        for _ in 0..<3 {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.isEmpty ? "." : folder)) ?? []
            for name in names.sorted() where name.hasSuffix("proj") { project(join(folder, name), in: folder) }
            if !projects.isEmpty || folder.isEmpty || folder == "/" || folder == "." { return }
            folder = (folder as NSString).deletingLastPathComponent
        }
    }

    // MARK: - Folders

    /// - Parameter inside: inside of a built app, where no folder is skipped and only the lists of bundles count.
    private mutating func folder(_ path: String, inside: Bool, depth: Int) {
        guard depth < ReadingLimits.folderDepth, found.files < ReadingLimits.searchedFiles else { return }
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
        for name in names {
            let full = join(path, name)
            if name.hasSuffix(".plist") {
                found.files += 1
                if inside || path.hasSuffix(".xcarchive") {
                    if BundlePath(full) != nil { list(full, isCandidate: true) }
                } else {
                    list(
                        full,
                        isCandidate: name == "Info.plist" || name.hasSuffix("-Info.plist")
                            || name.hasSuffix("Info.plist")
                    )
                }
                continue
            }
            var information = stat()
            guard lstat(full, &information) == 0 else { continue }
            guard information.st_mode & S_IFMT == S_IFDIR else {
                if information.st_mode & S_IFMT == S_IFREG {
                    found.files += 1
                    other(full, name: name, folder: path)
                }
                continue
            }
            let isBundle = BundlePath.isBundle(name) || name.hasSuffix(".xcarchive")
            if inside {
                if !name.hasSuffix(".framework"), !name.hasSuffix(".bundle") {
                    folder(full, inside: true, depth: depth + 1)
                }
            } else if isBundle {
                folder(full, inside: true, depth: depth + 1)
            } else if !name.hasPrefix("."), !Self.skippedFolders.contains(name), !name.hasSuffix(".xcframework") {
                folder(full, inside: false, depth: depth + 1)
            }
        }
    }

    private mutating func list(_ path: String, isCandidate: Bool) {
        guard let bytes = FileBytes.contents(path, limit: ReadingLimits.plistBytes) else {
            if isCandidate {
                found.unreadable.append(
                    (path, MalformedInput(code: "malformed.plist", reason: "cannot be read; check its permissions"))
                )
            }
            return
        }
        do throws(MalformedInput) {
            let document = try PlistReader.read(bytes)
            let isInfoPlist =
                isCandidate || document.root["NSAppTransportSecurity"] != nil
                || document.root["CFBundleIdentifier"] != nil
            guard isInfoPlist else { return }
            let place = BundlePath(path)
            let attest = place == nil ? nil : signature(of: document, at: path) ?? profile(beside: path)
            found.lists.append(FoundPlist(path: path, document: document, place: place, attest: attest))
        } catch {
            if isCandidate { found.unreadable.append((path, error)) }
        }
    }

    private func signature(of document: PlistDocument, at path: String) -> AttestEntitlement? {
        guard let executable = Self.executable(of: document, at: path) else { return nil }
        var information = stat()
        guard lstat(executable, &information) == 0, information.st_mode & S_IFMT == S_IFREG,
            let file = try? FileBytes(executable)
        else { return nil }
        return CodeSignature.entitlement(file, name: executable)
    }

    /// Where the executable of a bundle lies: beside its list, or in `MacOS` where the list is in `Contents`.
    private static func executable(of document: PlistDocument, at path: String) -> String? {
        guard let name = document.root["CFBundleExecutable"]?.string, !name.isEmpty, name != "..", name != ".",
            !name.contains("/"), !name.contains("\u{0}")
        else { return nil }
        let folder = (path as NSString).deletingLastPathComponent
        return ((folder as NSString).lastPathComponent == "Contents" ? folder + "/MacOS/" : folder + "/") + name
    }

    private func profile(beside path: String) -> AttestEntitlement? {
        let profile = join((path as NSString).deletingLastPathComponent, ProvisioningProfile.name)
        return FileBytes.contents(profile, limit: ProvisioningProfile.limit)
            .flatMap { ProvisioningProfile.entitlement($0, source: profile) }
    }

    private mutating func other(_ path: String, name: String, folder: String) {
        if name.hasSuffix(".ipa") {
            do throws(MalformedInput) {
                try archive(FileBytes(path), name: path)
            } catch {
                found.unreadable.append((path, error))
            }
        } else if name.hasSuffix(".csproj") || name.hasSuffix(".fsproj") {
            project(path, in: folder)
        } else if name == "project.pbxproj" {
            if let bytes = FileBytes.contents(path, limit: ReadingLimits.plistBytes),
                let document = XcodeProject.generated(bytes)
            {
                found.lists.append(FoundPlist(path: path, document: document, origin: .generated))
            }
        }
    }

    // MARK: - Archives

    private mutating func archive(_ source: some ByteSource, name: String) throws(MalformedInput) {
        let archive = try ZipArchive(source)
        found.files += archive.entries.count
        let byName = Dictionary(archive.entries.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var executables = CodeSignature.unpackedBytesOfArchive
        var lists: [FoundPlist] = []
        for entry in archive.entries.sorted(by: { $0.name < $1.name }) {
            guard let place = BundlePath(entry.name) else { continue }
            guard lists.count < 1_000 else { throw .archive(name, "has more than 1000 bundles") }
            let bytes = try archive.contents(entry, limit: ReadingLimits.plistBytes)
            let path = name + "/" + entry.name
            let document: PlistDocument
            do throws(MalformedInput) {
                document = try PlistReader.read(bytes)
            } catch {
                found.unreadable.append((path, error))
                continue
            }
            var attest: AttestEntitlement?
            if let executable = Self.executable(of: document, at: entry.name).flatMap({ byName[$0] }),
                executable.size <= min(CodeSignature.unpackedBytes, executables),
                let bytes = try? archive.contents(executable, limit: CodeSignature.unpackedBytes)
            {
                executables -= executable.size
                attest = CodeSignature.entitlement(MemoryBytes(bytes), name: name + "/" + executable.name)
            }
            let profileName = String(entry.name.dropLast("Info.plist".count)) + ProvisioningProfile.name
            if attest == nil, let profile = byName[profileName],
                let bytes = try? archive.contents(profile, limit: ProvisioningProfile.limit)
            {
                attest = ProvisioningProfile.entitlement(bytes, source: name + "/" + profileName)
            }
            lists.append(FoundPlist(path: path, document: document, place: place, attest: attest))
        }
        guard !lists.isEmpty || !found.unreadable.isEmpty else {
            throw .archive("", "holds no app: there is no Payload/NAME.app/Info.plist in it")
        }
        found.lists += lists
    }

    // MARK: - .NET projects

    private mutating func project(_ path: String, in folder: String) {
        guard ["csproj", "fsproj", "vbproj"].contains((path as NSString).pathExtension),
            let bytes = FileBytes.contents(path, limit: 4 << 20),
            let stack = DotNetStack(project: String(decoding: bytes, as: UTF8.self), name: path)
        else { return }
        projects.append((folder == "." ? "" : folder, stack))
    }

    /// Gives each list the stack of the nearest project above it.
    private mutating func assignStacks() {
        guard !projects.isEmpty else { return }
        for index in found.lists.indices {
            let folder = (found.lists[index].path as NSString).deletingLastPathComponent
            let owners = projects.filter {
                folder == $0.folder || $0.folder.isEmpty || folder.hasPrefix($0.folder + "/")
            }
            found.lists[index].stack = owners.max { $0.folder.count < $1.folder.count }?.stack
        }
    }

    private func join(_ folder: String, _ name: String) -> String {
        folder.isEmpty || folder == "." ? name : folder.hasSuffix("/") ? folder + name : folder + "/" + name
    }
}
