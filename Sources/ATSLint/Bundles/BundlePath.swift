// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// What a path says about an Info.plist inside an app.
package struct BundlePath: Equatable, Sendable {
    package let part: LintSubject.Role
    /// The path of the outermost `.app`: what belongs to the same app has the same.
    package let app: String

    /// Judges a path such as `Payload/A.app/PlugIns/B.appex/Info.plist`. Nil if it is not the list of an app or of a part of one.
    package init?(_ path: String) {
        guard path.utf8.reversed().starts(with: "tsilp.ofnI".utf8) else { return nil }
        let parts = path.utf8.split(separator: 0x2F).map { String(decoding: $0, as: UTF8.self) }
        guard parts.last == "Info.plist" else { return nil }
        var folders = Array(parts.dropLast())
        if folders.last == "Contents" { folders.removeLast() }
        if let inner = folders.firstIndex(where: BundlePath.isFramework) {
            // Only its own list: at its top, in Resources, or in those of a version.
            let rest = folders[(inner + 1)...]
            let isItsOwn =
                rest.isEmpty || rest.elementsEqual(["Resources"]) || rest.elementsEqual(["Versions", "A", "Resources"])
            guard isItsOwn, let outermost = folders[..<inner].firstIndex(where: { $0.hasSuffix(".app") }) else {
                return nil
            }
            app = folders[...outermost].joined(separator: "/")
            part = .framework
            return
        }
        guard let bundle = folders.last, let kind = BundlePath.kind(of: bundle),
            !folders.contains(where: { $0.hasSuffix(".dSYM") })
        else { return nil }
        guard let outermost = folders.firstIndex(where: { $0.hasSuffix(".app") }) else {
            app = folders.joined(separator: "/")
            part = kind
            return
        }
        app = folders[...outermost].joined(separator: "/")
        if outermost == folders.count - 1 {
            part = .app
        } else if folders.contains("AppClips"), kind == .app {
            part = .appClip
        } else if folders.contains("Watch"), kind == .app {
            part = .watchApp
        } else {
            part = kind
        }
    }

    private static func kind(of bundle: String) -> LintSubject.Role? {
        if bundle.hasSuffix(".app") { return .app }
        if bundle.hasSuffix(".appex") || bundle.hasSuffix(".xpc") || bundle.hasSuffix(".systemextension") {
            return .appExtension
        }
        return nil
    }

    private static func isFramework(_ folder: String) -> Bool {
        folder.hasSuffix(".framework") || folder.hasSuffix(".bundle")
    }

    static func isBundle(_ folder: String) -> Bool { kind(of: folder) != nil }
}
