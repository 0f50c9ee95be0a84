// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// Which HttpClient handler a .NET project for Apple systems uses, and the line that says so.
package struct DotNetStack: Sendable, Equatable {
    package enum Handler: String, Sendable {
        case managed, cfnetwork, nsurlsession

        /// The name of its class.
        package var className: String {
            switch self {
            case .managed: "HttpClientHandler (managed)"
            case .cfnetwork: "CFNetworkHandler"
            case .nsurlsession: "NSUrlSessionHandler"
            }
        }
    }

    package let handler: Handler
    /// For example `App.csproj:14`.
    package let source: String
    /// Conditions, imports and values that were not followed, each with its line.
    package let notFollowed: [String]

    /// Whether App Transport Security sees the requests of this handler.
    package var atsApplies: Bool { handler != .managed }

    package init(handler: Handler, source: String, notFollowed: [String] = []) {
        (self.handler, self.source, self.notFollowed) = (handler, source, notFollowed)
    }
}

/// The stacks of one .NET project: one for each platform that it is built for.
///
/// The properties are those of the Apple SDKs: `MtouchHttpClientHandler` (iOS, tvOS, Mac Catalyst), `HttpClientHandler` (macOS) and the
/// feature switch `UseNativeHttpHandler`. Without them the native handler is used, on macOS the managed one, and in Xamarin.iOS projects,
/// which name no target framework, the managed one. `docs/dotnet.md` says what of this is UNVERIFIED.
package struct DotNetProject: Sendable {
    /// That of the first platform, in the order iOS, tvOS, Mac Catalyst, macOS.
    package let stack: DotNetStack
    private let byPlatform: [String: DotNetStack]

    /// The stack that counts for an Info.plist: below `Platforms/NAME` that of the platform, else the first.
    ///
    /// - Parameter path: the list's path.
    package func stack(forListAt path: String) -> DotNetStack {
        let folders = path.utf8.split(separator: 0x2F)
        for (place, next) in zip(folders, folders.dropFirst()) where place.elementsEqual("Platforms".utf8) {
            let name = String(decoding: next.asciiLowercased, as: UTF8.self)
            if let found = byPlatform[name] { return found }
        }
        return stack
    }

    /// Reads the properties that choose the handler, as far as they are literal. Nothing is evaluated.
    ///
    /// A property counts where it and the groups around it have no condition, or one that compares the configuration and the platform with
    /// literals. Everything else that may set one of them is listed in ``DotNetStack/notFollowed``.
    ///
    /// - Parameter shared: the files above the project that a build imports unasked.
    /// - Returns: nil if it is no project for Apple systems.
    package static func read(
        _ bytes: [UInt8], name: String, configuration: String = "Release", shared: [String] = [],
        budget: ReadingBudget = ReadingBudget()
    ) throws(MalformedInput) -> DotNetProject? {
        let root = try budget.markup(bytes)
        // Projects that name an SDK are never Xamarin's, whatever else they speak of.
        let usesSDK = root.attribute("Sdk") != nil || root.children.contains { $0.isNamed("Sdk") }
        let mention = usesSDK ? nil : mention(of: "Xamarin.iOS", in: bytes)
        // Visual Studio builds a Xamarin project for devices as iPhone, all others as AnyCPU.
        let properties = ProjectProperties(
            root, file: name, configuration: configuration, platform: mention == nil ? "AnyCPU" : "iPhone")
        var notFollowed = properties.notFollowed
        notFollowed.append(contentsOf: shared.map { "\($0.terminalSafe(limit: 120)) is not followed" })
        let explicit = properties.handler.map {
            DotNetStack(handler: $0.handler, source: $0.source, notFollowed: notFollowed)
        }
        var sources = properties.platforms
        if sources.isEmpty { sources["xamarin"] = properties.xamarin ?? mention.map { "\(name):\($0)" } }
        var stacks: [String: DotNetStack] = [:]
        for (platform, source) in sources {
            let isNative = platform != "macos" && platform != "xamarin"
            stacks[platform] =
                explicit
                ?? DotNetStack(
                    handler: isNative ? .nsurlsession : .managed, source: source, notFollowed: notFollowed)
        }
        let first = (platforms + ["xamarin"]).lazy.compactMap { stacks[$0] }.first
        return (first ?? explicit).map { DotNetProject(stack: $0, byPlatform: stacks) }
    }

    /// The platforms of target frameworks, the first one first.
    static let platforms = ["ios", "tvos", "maccatalyst", "macos"]

    /// The files that a build imports unasked: the nearest of each name in a folder above the project.
    static func sharedFiles(above project: String) -> [String] {
        ["Directory.Build.props", "Directory.Build.targets"].compactMap { name in
            var folder = SystemFile.resolved(project.parentFolder.isEmpty ? "." : project.parentFolder) ?? "/"
            for _ in 0..<64 {
                let path = (folder == "/" ? "" : folder) + "/" + name
                if SystemFile.status(of: path, followingLinks: true) != nil { return path }
                if folder == "/" || folder.isEmpty { break }
                folder = folder.parentFolder
            }
            return nil
        }
    }

    /// The largest project file, in bytes.
    static let fileBytes = 4 << 20

    /// The first line that has a text.
    private static func mention(of text: String, in bytes: [UInt8]) -> Int? {
        guard let range = bytes.firstRange(of: text.utf8) else { return nil }
        return bytes[..<range.lowerBound].count { $0 == 0x0A } + 1
    }
}
