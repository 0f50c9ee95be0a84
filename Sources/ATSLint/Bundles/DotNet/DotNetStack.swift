// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// Which HttpClient handler a .NET project for Apple systems uses, and the line that says so.
package struct DotNetStack: Sendable, Equatable {
    package enum Handler: String, Sendable {
        case managed, cfnetwork, nsurlsession
    }

    package let handler: Handler
    /// For example `App.csproj:14`.
    package let source: String
    /// Conditions and imports of the project that could not be followed, each with its line.
    package let notFollowed: [String]

    fileprivate init(handler: Handler, source: String, notFollowed: [String]) {
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

    /// Evaluates a project as a build would, as far as its own files say.
    ///
    /// - Parameters:
    ///   - bytes: the project, XML in UTF-8.
    ///   - name: its path, for the sources.
    ///   - configuration: the configuration that is built, for example `Release`.
    ///   - fileAccess: the files beside and above it.
    ///   - budget: what the projects of a run may still read and put together.
    /// - Returns: nil if it is no project for Apple systems.
    /// - Throws: `MalformedInput` if it, or a file that it imports, is not well-formed.
    static func read(
        _ bytes: [UInt8], name: String, configuration: String = "Release",
        fileAccess: ProjectEvaluation.FileAccess = .none, budget: ReadingBudget = ReadingBudget()
    ) throws(MalformedInput) -> DotNetProject? {
        let root = try budget.markup(bytes)
        // Projects that name an SDK are never Xamarin's, whatever else they speak of.
        let usesSDK = root.attribute("Sdk") != nil || root.children.contains { $0.isNamed("Sdk") }
        let mention = usesSDK ? nil : mention(of: "Xamarin.iOS", in: bytes)
        var globals = [("Configuration", Array(configuration.utf8))]
        // Visual Studio builds a Xamarin project for devices as iPhone, all others as AnyCPU.
        globals.append(("Platform", Array((mention == nil ? "AnyCPU" : "iPhone").utf8)))
        let outer = try ProjectEvaluation(root, project: name, globals: globals, fileAccess: fileAccess, budget: budget)
        let frameworks = Framework.all(of: outer, mention: mention.map { "\(name):\($0)" })
        guard let first = frameworks.first else {
            return explicit(outer).map { DotNetProject(stack: $0, byPlatform: [:]) }
        }
        var stacks: [String: DotNetStack] = [:]
        for framework in frameworks {
            var inner = outer
            if let target = framework.target {
                // A build for several frameworks starts one for each, with the framework set from outside.
                inner = try ProjectEvaluation(
                    root, project: name, globals: globals + [("TargetFramework", target)], fileAccess: fileAccess,
                    budget: budget)
            }
            stacks[framework.platform] =
                explicit(inner)
                ?? DotNetStack(
                    handler: framework.defaultHandler, source: framework.source, notFollowed: inner.notFollowed)
        }
        return stacks[first.platform].map { DotNetProject(stack: $0, byPlatform: stacks) }
    }

    /// What the properties say, nil if they say nothing.
    private static func explicit(_ project: ProjectEvaluation) -> DotNetStack? {
        let named = ["MtouchHttpClientHandler", "HttpClientHandler", "HttpClientHandlerType"]
            .compactMap { project.value($0) }
            .compactMap { property in handler(named: property.value).map { ($0, property) } }
            .max { $0.1.order < $1.1.order }
        if let (handler, property) = named {
            return DotNetStack(handler: handler, source: property.source, notFollowed: project.notFollowed)
        }
        guard let feature = project.value("UseNativeHttpHandler") else { return nil }
        let isNative = feature.value.equalsIgnoringASCIICase("true")
        return DotNetStack(
            handler: isNative ? .nsurlsession : .managed, source: feature.source, notFollowed: project.notFollowed)
    }

    private static func handler(named name: [UInt8]) -> DotNetStack.Handler? {
        let name = name.asciiLowercased
        func has(_ text: String) -> Bool { ProjectExpression.contains(name, Array(text.utf8)) }
        if has("nsurlsession") { return .nsurlsession }
        if has("cfnetwork") { return .cfnetwork }
        return ["httpclienthandler", "managed", "socketshttphandler"].contains(where: has) ? .managed : nil
    }

    /// The first line that has a text.
    private static func mention(of text: String, in bytes: [UInt8]) -> Int? {
        guard let range = bytes.firstRange(of: Array(text.utf8)) else { return nil }
        return bytes[..<range.lowerBound].count { $0 == 0x0A } + 1
    }

    /// A platform that a project is built for.
    private struct Framework {
        /// In lower case, for example `maccatalyst`.
        let platform: String
        let source: String
        /// The one of several that a build is started for; nil if the project names one itself.
        let target: [UInt8]?

        var defaultHandler: DotNetStack.Handler {
            ["ios", "tvos", "maccatalyst"].contains(platform) ? .nsurlsession : .managed
        }

        /// - Parameter mention: where the file speaks of Xamarin.iOS.
        static func all(of project: ProjectEvaluation, mention: String?) -> [Framework] {
            for property in ["TargetFrameworks", "TargetFramework"] {
                guard let found = project.value(property) else { continue }
                let names = found.value.split(separator: 0x3B).prefix(64).map { TargetFramework(Array($0)) }
                let frameworks = ["ios", "tvos", "maccatalyst", "macos"].compactMap { platform -> Framework? in
                    guard let name = names.first(where: { $0.platform.elementsEqual(platform.utf8) }) else {
                        return nil
                    }
                    let target = property == "TargetFrameworks" ? name.name : nil
                    return Framework(platform: platform, source: found.source, target: target)
                }
                if !frameworks.isEmpty { return frameworks }
            }
            let identifier = project.value("TargetFrameworkIdentifier").flatMap { property in
                ProjectExpression.contains(property.value.asciiLowercased, Array("xamarin".utf8))
                    ? property.source : nil
            }
            guard let source = identifier ?? mention else { return [] }
            return [Framework(platform: "xamarin", source: source, target: nil)]
        }
    }
}
