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
    ///
    /// - Parameter bytes: the text in UTF-8. Only markup in ASCII is looked for, by bytes, in one pass for each property.
    package init?(project bytes: [UInt8], name: String) {
        var explicit: (Handler, Int)?
        var feature: (Bool, Int)?
        var platform: (Platform, Int)?
        for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let number = index + 1
            guard line.contains(0x3C) || line.contains(0x58) else { continue }
            for property in ["MtouchHttpClientHandler", "HttpClientHandler", "HttpClientHandlerType"] {
                if let value = DotNetStack.value(of: property, in: line),
                    let handler = DotNetStack.handler(named: value)
                {
                    explicit = (handler, number)
                }
            }
            if let value = DotNetStack.value(of: "UseNativeHttpHandler", in: line) {
                feature = (value == "true", number)
            }
            for property in ["TargetFrameworks", "TargetFramework", "TargetFrameworkIdentifier"] where platform == nil {
                if let value = DotNetStack.value(of: property, in: line), let found = Platform(frameworks: value) {
                    platform = (found, number)
                }
            }
            if platform == nil, line.position(of: "Xamarin.iOS") != nil { platform = (.xamarin, number) }
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

        /// - Parameter text: in lower case.
        init?(frameworks text: String) {
            let text = Array(text.utf8)[...]
            if ["-ios", "-tvos", "-maccatalyst"].contains(where: { text.position(of: $0) != nil }) {
                self = .native
            } else if text.position(of: "-macos") != nil {
                self = .macOS
            } else if text.position(of: "xamarin") != nil {
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

    /// - Parameter name: in lower case.
    private static func handler(named name: String) -> Handler? {
        let name = Array(name.utf8)[...]
        if name.position(of: "nsurlsession") != nil { return .nsurlsession }
        if name.position(of: "cfnetwork") != nil { return .cfnetwork }
        let managed = ["httpclienthandler", "managed", "socketshttphandler"]
        return managed.contains { name.position(of: $0) != nil } ? .managed : nil
    }

    /// The text of `<Property ...>text</Property>` on one line, which is how such files are written: in lower case, without white
    /// space; nil where there is none, or one of over 4,096 bytes.
    private static func value(of property: String, in line: ArraySlice<UInt8>) -> String? {
        guard let open = line.position(of: "<" + property), let close = line.position(of: "</" + property + ">"),
            open.upperBound < close.lowerBound, [0x3E, 0x20].contains(line[open.upperBound]),
            let end = line[open.upperBound..<close.lowerBound].firstIndex(of: 0x3E),
            close.lowerBound - end <= 4_096
        else { return nil }
        let text = line[line.index(after: end)..<close.lowerBound].compactMap { byte -> UInt8? in
            switch byte {
            case 0x09...0x0D, 0x20: nil
            case 0x41...0x5A: byte + 0x20
            default: byte
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension ArraySlice<UInt8> {
    /// Where a text in ASCII stands first.
    fileprivate func position(of text: String) -> Range<Int>? {
        let wanted = Array(text.utf8)
        guard let first = wanted.first else { return nil }
        var from = startIndex
        while let place = self[from...].firstIndex(of: first), endIndex - place >= wanted.count {
            if self[place..<(place + wanted.count)].elementsEqual(wanted) { return place..<(place + wanted.count) }
            from = place + 1
        }
        return nil
    }
}
