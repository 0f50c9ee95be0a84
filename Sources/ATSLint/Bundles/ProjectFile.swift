// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
package import PropertyLists
package import Vocabulary

/// Files of projects from which an Info.plist is made, and files that are easily taken for one.
package enum ProjectFile {
    /// A kind of project file.
    package struct Kind: Sendable {
        /// What it is called in a report for programs.
        package let label: String
        /// The name of the file; one that ends with a point is only its beginning, one that begins with a point its end.
        package let names: [String]
        /// Words of which the file must have one to be of this kind; empty if the name is enough.
        var words: [String] = []
        /// Where JSON has the members of the Info.plist, or the dictionary itself.
        var paths: [[String]] = []
        /// The name of the literal in a script.
        var literal: String?
        /// Reads the list of a file that is neither JSON nor a script; nil if it has none.
        var list: (@Sendable ([UInt8]) throws(MalformedInput) -> PlistDocument?)?
        /// What the file is and how to get an Info.plist that can be read; nil if a file without a list says nothing.
        let advice: String?
    }

    /// Every kind that is known. The first that has the name and the words counts.
    package static let kinds: [Kind] = [
        Kind(
            label: "expo-project", names: ["app.json", "app.config.json"], words: ["\"expo\""],
            paths: [["expo", "ios", "infoPlist"]], literal: "infoPlist",
            advice: expo),
        Kind(
            label: "expo-project", names: ["app.config."], words: ["expo", "infoPlist", "ios"], literal: "infoPlist",
            advice: expo),
        Kind(
            label: "electron-project", names: ["package.json"], words: ["extendInfo"],
            paths: [["build", "mac", "extendInfo"], ["build", "extendInfo"]], advice: nil),
        Kind(
            label: "electron-project", names: ["package.json"], words: ["\"electron-builder\"", "\"@electron-forge/"],
            advice: electron),
        Kind(
            label: "react-native-project", names: ["package.json"], words: ["\"react-native\""],
            advice:
                "this is a React Native project, whose Info.plist is ios/NAME/Info.plist: name that; with Expo run `npx expo prebuild` first"
        ),
        Kind(
            label: "electron-project", names: ["electron-builder.json"],
            paths: [["mac", "extendInfo"], ["build", "mac", "extendInfo"]],
            advice: electron),
        Kind(
            label: "electron-project", names: ["electron-builder.", "forge.config."], literal: "extendInfo",
            list: IndentedList.document, advice: electron),
        Kind(
            label: "capacitor-project", names: ["capacitor.config."],
            advice:
                "this is the configuration of a Capacitor project, whose Info.plist is ios/App/App/Info.plist: name that; if there is none yet, run `npx cap add ios`"
        ),
        Kind(
            label: "flutter-project", names: ["pubspec.yaml"], words: ["flutter"],
            advice:
                "this is a Flutter project, whose Info.plist is ios/Runner/Info.plist: name that; if there is none yet, run `flutter create --platforms=ios .`"
        ),
        Kind(
            label: "xcodegen-project", names: ["project.yml", "project.yaml"], words: ["targets:"],
            advice:
                "this is the specification of XcodeGen: run `xcodegen dump --type json --file spec.json` and name spec.json, or run `xcodegen generate` and name the folder"
        ),
        Kind(
            label: "tuist-project", names: ["Project.swift"], words: ["ProjectDescription"],
            advice: "this is a manifest of Tuist: run `tuist generate --no-open` and name the folder"),
        Kind(
            label: "titanium-project", names: ["tiapp.xml"], words: ["<ti:app"], list: TitaniumProject.document,
            advice:
                "this is the tiapp.xml of a Titanium project, and no list in it has NSAppTransportSecurity: run `ti build -p ios --build-only` and name the Info.plist below build/iphone"
        ),
        Kind(
            label: "unity-project", names: ["ProjectSettings.asset"], list: UnityProject.document, advice: nil),
        Kind(
            label: "nativescript-project", names: ["nativescript.config."],
            advice:
                "this is the configuration of a NativeScript project, whose Info.plist is App_Resources/iOS/Info.plist: name that, or run `ns prepare ios` and name the one below platforms/ios"
        ),
        Kind(
            label: "unreal-project", names: [".uproject"],
            advice:
                "this is an Unreal project, whose Info.plist is written when the app is packaged: package it for iOS and name the .ipa or Intermediate/IOS/NAME-Info.plist"
        ),
        Kind(
            label: "tauri-project", names: ["tauri.conf."],
            advice:
                "this is the configuration of a Tauri app, which takes src-tauri/Info.plist into the bundle: name that, or run `npx tauri build` and name the .app"
        ),
        Kind(
            label: "godot-project", names: ["export_presets.cfg"], words: ["[preset."], list: pastedList,
            advice:
                "these are the export presets of a Godot project, and no list that can be read in them has NSAppTransportSecurity: export the project and name the .app, or the Info.plist of the Xcode project"
        ),
        Kind(
            label: "wails-project", names: ["wails.json"],
            advice:
                "this is the configuration of a Wails app, whose Info.plist is made of build/darwin/Info.plist: run `wails build` and name build/bin/NAME.app"
        ),
        Kind(
            label: "swift-playgrounds-project", names: ["Package.swift"],
            words: ["AppleProductTypes", ".iOSApplication("],
            advice:
                "this is an app of Swift Playgrounds, whose Info.plist is made of what is in this file and in the one that additionalInfoPlistContentFilePath names: build it with Xcode and name the .app"
        ),
        Kind(
            label: "project-json", names: [".json"], words: ["\"infoPlist\"", ATSKey.dictionary, "\"targets\""],
            paths: [
                ["ios", "infoPlist"], ["expo", "ios", "infoPlist"], ["mac", "extendInfo"],
                ["build", "mac", "extendInfo"], ["targets", "*", "info", "properties"],
            ], advice: nil),
    ]

    /// The list of a file that has one between other words; nil if it has none for App Transport Security.
    private static func pastedList(_ bytes: [UInt8]) -> PlistDocument? {
        let list = PastedList.alone(bytes).flatMap { try? PlistReader.read($0) }
        return list?.root[ATSKey.dictionary] == nil ? nil : list?.between
    }

    private static let expo =
        "this is an Expo project whose Info.plist does not exist yet: run `npx expo prebuild` and name ios/NAME/Info.plist, or run `npx expo config --json > expo.json` and name expo.json"
    private static let electron =
        "this is the configuration of a packager of Electron apps, and no extendInfo in it can be read here: run `npx electron-builder --mac --dir` or `npx electron-forge package` and name the .app; \(builder)"
    /// Source: electronMac.ts of electron-builder, configureLocalhostAts.
    private static let builder =
        "electron-builder writes NSAllowsArbitraryLoads and NSAllowsLocalNetworking = YES over what extendInfo says, and entries for localhost and 127.0.0.1 if there is none, but not for the Mac App Store"

    /// What a build writes over the list of a project file; nil if it leaves the list as it is.
    ///
    /// - Parameter name: the file's name without its folder.
    package static func note(_ name: String, _ document: PlistDocument) -> String? {
        guard document.format == .json || document.format == .text, !name.hasPrefix("forge.config."),
            document.source.contains("extendInfo".utf8)
        else { return nil }
        return
            "\(builder); beside the second key the first counts for nothing. For what the app has, run `npx electron-builder --mac --dir` and name the .app"
    }

    /// What a search of a folder looks for, in words.
    package static let searched =
        "an Info.plist, an app, or a project of Xcode, Expo, React Native, Flutter, Capacitor, Cordova, .NET, Unity, Electron, XcodeGen, Tuist, Titanium, NativeScript, Unreal, Tauri, Godot, Wails or Swift Playgrounds"

    /// Whether a search of a folder looks at a file of this name.
    static func isKnown(_ name: String) -> Bool {
        name == "config.xml" || kinds.dropLast().contains { $0.has(name) }
    }

    /// The Info.plist that a project file writes out literally; nil if it is no such file.
    ///
    /// - Parameter name: the file's name without its folder.
    /// - Throws: `malformed.plist` with what the file is and how to get the Info.plist; `malformed.json`.
    package static func document(_ name: String, _ bytes: [UInt8]) throws(MalformedInput) -> PlistDocument? {
        if CordovaProject.isMeant(name, bytes) { return try CordovaProject.document(bytes) }
        if name.hasSuffix(".xcconfig") { return XcodeSettings.document(bytes) }
        let marks = bytes.lazy.filter { $0 > 0x20 && $0 != 0xEF && $0 != 0xBB && $0 != 0xBF }.prefix(2)
        // An old property list has names without quotation marks.
        let isObject = marks.first == UInt8(ascii: "{") && marks.dropFirst().allSatisfy { "\"}/".utf8.contains($0) }
        let isJSON = name.hasSuffix(".json") || !name.contains(".") && isObject
        guard let kind = kinds.first(where: { ($0.has(name) || $0.has(".json") && isJSON) && $0.isMeant(bytes) }) else {
            return nil
        }
        // What is computed is no fault of the file, and Expo reads JSON with comments and with a comma too many.
        lazy var written = kind.literal.flatMap { literal in try? PlistDocument(script: bytes, name: literal) }
        for path in kind.paths {
            do throws(MalformedInput) {
                if let found = try PlistDocument(json: bytes, below: path) { return found }
            } catch {
                if let written { return written }
                // What `plutil -p` prints begins as JSON does.
                if !name.hasSuffix(".json"), (try? PlistReader.read(bytes, isPrinted: true)) != nil { return nil }
                throw error
            }
        }
        if kind.paths.isEmpty, let written { return written }
        if let list = try kind.list?(bytes) { return list }
        if let advice = kind.advice { throw .plist("", advice) }
        return nil
    }

    /// The name of a file of a project whose text was pasted without it, by what is in it; nil for any other text.
    package static func name(of bytes: [UInt8]) -> String? {
        let text = bytes.prefix(1 << 16).drop { $0 <= 0x20 || $0 >= 0x80 }
        return pasted.first { form in
            text.starts(with: form.begin.utf8) && text.contains(form.words.utf8)
        }?.name
    }

    private static let pasted = [
        (begin: "<", words: "www.w3.org/ns/widgets", name: "config.xml"),
        (begin: "<", words: "<ti:app", name: "tiapp.xml"), (begin: "<", words: "<Project Sdk=", name: "shop.csproj"),
        (begin: "%YAML", words: "PlayerSettings:", name: "ProjectSettings.asset"),
        (begin: "import", words: "@capacitor/cli", name: "capacitor.config.ts"),
        (begin: "import", words: "@nativescript/core", name: "nativescript.config.ts"),
        (begin: "import", words: "ExpoConfig", name: "app.config."),
        (begin: "name:", words: "flutter:", name: "pubspec.yaml"),
        (begin: "[preset.", words: "platform=", name: "export_presets.cfg"),
        (begin: "{", words: "wails.io/schemas/", name: "wails.json"),
        (begin: "// swift-tools-version", words: ".iOSApplication(", name: "Package.swift"),
    ]

    /// Whether a file of this name may be one of a project.
    package static func mayBe(_ name: String) -> Bool {
        isKnown(name) || name.hasSuffix(".pbxproj") || isDotNet(name)
    }

    /// Whether a file is a project of .NET: of C#, F# or Visual Basic.
    package static func isDotNet(_ name: String) -> Bool { ["csproj", "fsproj", "vbproj"].contains(name.nameSuffix) }

    /// What a file is called in a report for programs; nil if it is no project file.
    package static func label(_ name: String, _ bytes: [UInt8]) -> String? {
        if CordovaProject.isMeant(name, bytes) { return "cordova-project" }
        if name.hasSuffix(".xcconfig") || name.hasSuffix(".pbxproj") { return "xcode-project" }
        if isDotNet(name) { return "dotnet-project" }
        return kinds.first { $0.has(name) && $0.isMeant(bytes) }?.label
    }

    /// Whether a list has what only an Info.plist has: the identifier of a bundle, or the dictionary of ATS.
    static func isInfoPlist(_ document: PlistDocument) -> Bool {
        document.root["CFBundleIdentifier"] != nil || document.root[ATSKey.dictionary] != nil
    }

    /// Whether a key is one of an Info.plist, by its letters; other texts with braces, and variables of a shell, have none.
    package static func isInfoKey(_ key: String) -> Bool {
        (["NS", "CF", "UI", "LS", "BG", "DT", "IT", "MK", "SK", "WK"].contains(key.prefix(2))
            || key.hasPrefix(ATSKey.buildSetting))
            && key.utf8.contains { 0x61...0x7A ~= $0 } && !key.utf8.contains(0x20)
            && !errorKeys.contains(where: key.hasPrefix)
    }

    /// How the keys of the details of an error begin, and those of a preference that apps of macOS have.
    private static let errorKeys = [
        "NSError", "NSLocalized", "NSUnderlyingError", "NSMultipleUnderlyingErrors", "NSDebugDescription", "NSURL",
        "NSNav",
    ]

    /// What can be read as a list and has nothing of an Info.plist: to read it as one would say that all is well.
    static func refuseUnrelated(_ document: PlistDocument, name: String) throws(MalformedInput) {
        // An Info.plist of which the build writes the rest may have keys of libraries only, or one that is almost right.
        let isText = document.format == .json || document.format == .text
        guard isText || !name.lowercased().contains("info"), let members = document.root.members,
            !members.isEmpty,
            !members.contains(where: { isInfoKey($0.key) || KeyReading($0.key, at: .root) != nil })
        else { return }
        throw .plist(
            "",
            "no key in it is one of an Info.plist, as NS…, CF…, UI… and LS… are: name the app's Info.plist, or paste its NSAppTransportSecurity with what is in it"
        )
    }

    /// What a list is that is no Info.plist: the entitlements of an app.
    ///
    /// - Throws: `malformed.plist` with what it is, and what it lacks for the network.
    package static func refuseEntitlements(_ document: PlistDocument, name: String) throws(MalformedInput) {
        let keys = document.root.members?.map(\.key) ?? []
        guard
            name.hasSuffix(".entitlements")
                || keys.contains(where: { $0.hasPrefix("com.apple.") || $0.hasPrefix("application-identifier") })
                    && !keys.contains(where: isInfoKey)
        else { return }
        func isTrue(_ key: String) -> Bool {
            if case .boolean(true)? = document.root[key]?.value { true } else { false }
        }
        let isSandboxed = isTrue("com.apple.security.app-sandbox")
        let mayConnect = isTrue("com.apple.security.network.client")
        throw .plist(
            "",
            "this is an entitlements file, not an Info.plist"
                + (document.root[ATSKey.dictionary] == nil
                    ? "" : ", which alone is read for \(ATSKey.dictionary): move it there")
                + (!isSandboxed
                    ? "; com.apple.security.app-sandbox is not true, so no sandbox of the app keeps it from connecting"
                    : mayConnect
                        ? "; the app is sandboxed and com.apple.security.network.client is true, so it may connect to servers"
                        : "; the app is sandboxed and com.apple.security.network.client is not true, so it cannot connect to any server")
        )
    }

    /// What a list is that many projects have beside the Info.plist; nil for any other list.
    static func otherList(_ document: PlistDocument) -> String? {
        isInfoPlist(document) ? nil : others.first { document.root[$0.key] != nil }?.what
    }

    private static let others = [
        (key: "GOOGLE_APP_ID", what: "the configuration of Firebase"),
        (key: "OSArchiveVersion", what: "the description of an archive of logs"),
        (key: "PayloadType", what: "a configuration profile"),
        (key: "NSPrivacyTracking", what: "a privacy manifest"),
        (key: "NSPrivacyAccessedAPITypes", what: "a privacy manifest"),
        (key: "NSPrivacyCollectedDataTypes", what: "a privacy manifest"),
        (key: "PreferenceSpecifiers", what: "a page of a settings bundle"),
        (key: "signingStyle", what: "the options of an export of Xcode"),
        (key: "provisioningProfiles", what: "the options of an export of Xcode"),
        (key: "teamID", what: "the options of an export of Xcode"),
    ]

    package static let androidAdvice =
        "cleartext is a setting of Android there, not ATS: give the Info.plist of the app for iOS"

    /// Whether a text is one of Android's: its network security configuration, its manifest, or assetlinks.json.
    package static func isAndroid(_ bytes: [UInt8]) -> Bool {
        let head = bytes.prefix(1 << 18)
        func has(_ words: String) -> Bool { head.contains(words.utf8) }
        return !has("<plist") && !has(ATSKey.dictionary)
            && [
                "<network-security-config", "schemas.android.com/apk/res", "android:usesCleartextTraffic",
                "delegate_permission/",
            ].contains(where: has)
    }

    /// Whether a text begins as the project file of Xcode does.
    package static func isXcodeProject(_ bytes: [UInt8]) -> Bool { bytes.starts(with: "// !$*UTF8*$!".utf8) }

    /// Names a file that is taken for an Info.plist and is something else.
    static func refuseOthers(_ bytes: [UInt8], name: String) throws(MalformedInput) {
        if name.hasSuffix(".mobileprovision") || name.hasSuffix(".provisionprofile") {
            let source = "the profile"
            let grant = ProvisioningProfile.entitlement(bytes, source: source)
            throw .plist(
                "",
                "this is a provisioning profile, not an Info.plist"
                    + (grant.map {
                        "; it grants App Attest \($0.environment.map { "in the environment \($0)" } ?? "in no environment")"
                    } ?? ""))
        }
        if name.hasSuffix(".strings") {
            throw .plist("", "this is a table of texts (.strings), not an Info.plist; ATS is not configured in it")
        }
        if isAndroid(bytes) {
            throw .plist("", "this is a file of an Android app, not an Info.plist: \(androidAdvice)")
        }
        if bytes.first == 0x30, bytes.count > 64, bytes[1] & 0x80 != 0 {
            throw .plist(
                "",
                "this is DER, for example a certificate, a receipt or a PKCS #7 or #12 file, not an Info.plist: give it to `sealward ats certificate` or `sealward receipt inspect`"
            )
        }
        if !name.hasSuffix(".pbxproj"), isXcodeProject(bytes) {
            throw .plist(
                "",
                "this is the project file of Xcode, which names its Info.plists by their paths: name the file project.pbxproj, or the folder of the project"
            )
        }
        if bytes.starts(with: "-----BEGIN ".utf8) {
            throw .plist(
                "", "this is PEM, not an Info.plist: give certificates to `sealward ats certificate`")
        }
    }

    /// Puts what was pasted where it belongs: keys of the dictionary, or hosts of NSExceptionDomains, without what is around them.
    static func completed(_ document: PlistDocument) -> PlistDocument {
        if document.format == .text || document.format == .json {
            // A part of app.json, or of what a packager of Electron apps reads.
            for path in [["infoPlist"], ["ios", "infoPlist"], ["extendInfo"], ["mac", "extendInfo"]] {
                guard let list = document.root[path: path], list.members != nil else { continue }
                return document.below(list)
            }
            let isApp = document.root.members?.contains { $0.key.hasPrefix("CFBundle") } == true
            if !isApp, document.root[ATSKey.dictionary] == nil, let list = holder(in: document.root) {
                return document.below(list)
            }
        }
        let root = document.root
        guard let members = root.members, !members.isEmpty else { return document }
        let source = document.source
        let isPart =
            root.range.lowerBound < source.count
            && (source[root.range.lowerBound...].starts(with: "<key>".utf8)
                || source[root.range.lowerBound...].starts(with: "<dict>".utf8) && !source.contains("<plist".utf8))
        guard document.format == .text || document.format == .json || isPart else { return document }
        let keys = ATSDictionary.keys
        let isWhole = members.contains { $0.key == ATSKey.dictionary || $0.key.hasPrefix("CFBundle") }
        if isWhole { return document }
        if members.contains(where: { keys.contains($0.key) }) {
            return inside(ATSKey.dictionary, document)
        } else if members.allSatisfy({ member in
            member.node.members?.contains { ExceptionEntry.keys.contains($0.key) } == true
        }) {
            return inside(ATSKey.dictionary, inside(ATSKey.exceptionDomains, document))
        }
        return document
    }

    /// The one dictionary of a document that has the dictionary of ATS, whatever is around it; nil if there are none or several.
    private static func holder(in root: PlistNode) -> PlistNode? {
        var found: PlistNode?
        var pending = [root]
        while let node = pending.popLast() {
            if node[ATSKey.dictionary]?.members != nil {
                if found != nil { return nil }
                found = node
            }
            pending.append(contentsOf: node.members?.map(\.node) ?? [])
            pending.append(contentsOf: node.elements ?? [])
        }
        return found
    }

    /// The list as the value of a key.
    static func inside(_ key: String, _ document: PlistDocument) -> PlistDocument {
        let (range, start) = (document.root.range, document.root.range.lowerBound)
        return PlistDocument(
            root: PlistNode(
                .dictionary([PlistMember(key, keyRange: start..<start, document.root)]), range: range),
            format: document.format, source: document.source, oddities: document.oddities)
    }
}

extension ProjectFile.Kind {
    package func has(_ name: String) -> Bool {
        names.contains { pattern in
            pattern.hasPrefix(".")
                ? name.hasSuffix(pattern) : pattern.hasSuffix(".") ? name.hasPrefix(pattern) : name == pattern
        }
    }

    /// Whether the file says something as one of this kind: what it is, or a list at one of its places.
    package func isRead(_ bytes: [UInt8]) -> Bool {
        advice != nil || paths.contains { ((try? PlistDocument(json: bytes, below: $0)) ?? nil) != nil }
    }

    /// Whether the file has one of the words in its first 256 kB.
    package func isMeant(_ bytes: [UInt8]) -> Bool {
        if words.isEmpty { return true }
        let text = bytes.prefix(1 << 18)
        return words.contains { text.contains($0.utf8) }
    }
}

extension PlistDocument {
    /// A list between other words, in whose source blanks are in the place of them: it must not be written back.
    var between: PlistDocument { below(root) }

    /// The same text with another value in it as the list.
    fileprivate func below(_ list: PlistNode) -> PlistDocument {
        PlistDocument(root: list, format: format, source: source, oddities: oddities)
    }
}

/// What Unity writes into the Info.plist, from ProjectSettings/ProjectSettings.asset.
enum UnityProject {
    /// - Throws: `malformed.plist` where only some builds have the dictionary. Nil for a file that is none of Unity's.
    static func document(_ bytes: [UInt8]) throws(MalformedInput) -> PlistDocument? {
        guard bytes.contains("PlayerSettings:".utf8) else { return nil }
        func setting(_ name: String) -> (value: String, range: Range<Int>)? {
            guard let found = bytes.firstRange(of: "\n  \(name):".utf8) else { return nil }
            let value = bytes[found.upperBound...].prefix { $0 != 0x0A }
            let text = String(decoding: value.filter { $0 > 0x20 }, as: UTF8.self)
            return (text, (found.lowerBound + 3)..<value.endIndex)
        }
        let option = setting("insecureHttpOption")
        let old = setting("iosAllowHTTPDownload")
        if option?.value == "1" {
            throw .plist(
                "",
                "this is a Unity project that allows downloads over HTTP in development builds only (insecureHttpOption: 1): build it and name the Info.plist of the Xcode project"
            )
        }
        guard let chosen = option ?? old else { return nil }
        let allows = option.map { $0.value == "2" } ?? (old?.value == "1")
        let flag = PlistMember(
            ATSKey.arbitraryLoads, keyRange: chosen.range, PlistNode(.boolean(true), range: chosen.range))
        let ats = PlistMember(
            ATSKey.dictionary, keyRange: chosen.range, PlistNode(.dictionary([flag]), range: chosen.range))
        return PlistDocument(
            root: PlistNode(.dictionary(allows ? [ats] : []), range: chosen.range), format: .text, source: bytes)
    }
}

/// The list in the `ios` element of a tiapp.xml, which Titanium merges into the Info.plist.
enum TitaniumProject {
    /// - Throws: `malformed.plist` for a list that is none. Nil for a file without a dictionary for App Transport Security.
    static func document(_ bytes: [UInt8]) throws(MalformedInput) -> PlistDocument? {
        guard String(validating: bytes, as: UTF8.self) != nil else { throw .plist("", "is not text in UTF-8") }
        var tokens = XMLTokenizer(bytes)
        while tokens.byte != nil {
            let start = tokens.position
            if tokens.byte != UInt8(ascii: "<") {
                tokens.position += 1
            } else if try tokens.section() == nil, try !tokens.skipMarkup(),
                bytes[tokens.tag().name].elementsEqual("plist".utf8)
            {
                let end = bytes[start...].firstRange(of: "</plist>".utf8)?.upperBound
                guard let end else { throw tokens.fault("<plist> is not closed", at: start) }
                let list = try PlistReader.read(Array(bytes[..<end]), from: start)
                guard list.root[ATSKey.dictionary] != nil else { return nil }
                return PlistDocument(root: list.root, format: .text, source: bytes, oddities: list.oddities)
            }
        }
        return nil
    }
}
