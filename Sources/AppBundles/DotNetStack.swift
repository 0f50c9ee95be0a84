// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings

/// Which HttpClient handler a .NET project for Apple systems uses, and the line that says so.
package struct DotNetStack: Sendable, Equatable {
    package enum Handler: String, Sendable {
        case managed, cfnetwork, nsurlsession
    }

    package let handler: Handler
    /// For example `App.csproj:14`.
    package let source: String

    /// Reads a project file. Nil where it is no project for Apple systems.
    ///
    /// The properties are those of the Apple SDKs: `MtouchHttpClientHandler` (iOS, tvOS, Mac Catalyst), `HttpClientHandler`
    /// (macOS) and the feature switch `UseNativeHttpHandler`. Without them the native handler is used, on macOS the managed one,
    /// and in Xamarin.iOS projects, which name no target framework, the managed one. `docs/dotnet.md` says what of this is UNVERIFIED.
    package init?(project text: String, name: String) {
        var explicit: (Handler, Int)?
        var feature: (Bool, Int)?
        var platform: (Platform, Int)?
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let number = index + 1
            for property in ["MtouchHttpClientHandler", "HttpClientHandler", "HttpClientHandlerType"] {
                if let value = DotNetStack.value(of: property, in: line),
                    let handler = DotNetStack.handler(named: value)
                {
                    explicit = (handler, number)
                }
            }
            if let value = DotNetStack.value(of: "UseNativeHttpHandler", in: line) {
                feature = (value.lowercased() == "true", number)
            }
            for property in ["TargetFrameworks", "TargetFramework", "TargetFrameworkIdentifier"] {
                if let value = DotNetStack.value(of: property, in: line), let found = Platform(frameworks: value),
                    platform == nil
                {
                    platform = (found, number)
                }
            }
            if platform == nil, line.contains("Xamarin.iOS") || line.contains("Xamarin.iOS.CSharp.targets") {
                platform = (.xamarin, number)
            }
        }
        let chosen: (Handler, Int)
        if let explicit {
            chosen = explicit
        } else if let feature {
            chosen = (feature.0 ? .nsurlsession : .managed, feature.1)
        } else if let platform {
            chosen = (platform.0.defaultHandler, platform.1)
        } else {
            return nil
        }
        handler = chosen.0
        source = "\(name):\(chosen.1)"
    }

    private enum Platform {
        case native, macOS, xamarin

        init?(frameworks: String) {
            let text = frameworks.lowercased()
            if ["-ios", "-tvos", "-maccatalyst"].contains(where: text.contains) {
                self = .native
            } else if text.contains("-macos") {
                self = .macOS
            } else if text.contains("xamarin") {
                self = .xamarin
            } else {
                return nil
            }
        }

        var defaultHandler: Handler {
            switch self {
            case .native: .nsurlsession
            case .macOS, .xamarin: .managed
            }
        }
    }

    private static func handler(named text: String) -> Handler? {
        let name = text.lowercased()
        if name.contains("nsurlsession") { return .nsurlsession }
        if name.contains("cfnetwork") { return .cfnetwork }
        if name.contains("httpclienthandler") || name.contains("managed") || name.contains("socketshttphandler") {
            return .managed
        }
        return nil
    }

    /// The text of `<Property ...>text</Property>` on one line, which is how such files are written.
    private static func value(of property: String, in line: Substring) -> String? {
        guard let open = line.firstRange(of: "<\(property)"), let close = line.firstRange(of: "</\(property)>"),
            open.upperBound < close.lowerBound, line[open.upperBound] == ">" || line[open.upperBound] == " ",
            let end = line[open.upperBound..<close.lowerBound].firstIndex(of: ">")
        else { return nil }
        let text = line[line.index(after: end)..<close.lowerBound]
        return text.split(whereSeparator: \.isWhitespace).joined()
    }
}
