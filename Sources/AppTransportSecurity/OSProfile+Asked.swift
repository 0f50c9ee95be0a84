// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

extension LinkedSDK {
    /// The sentence for apps in which App Transport Security is off whatever the system.
    package var absence: String {
        "App Transport Security is off in an app that is linked on SDK \(self): it applies to apps that are linked on the SDK of iOS 9, OS X "
            + "10.11 or later, and the dictionary of older ones is ignored"
    }
}

extension OSProfile {
    /// The system with this id, also one that is older than App Transport Security.
    ///
    /// - Throws: `MalformedInput` with code `malformed.system`, whose reason says what is known of the system, if that is not enough to judge.
    package static func asked(_ id: String) throws(MalformedInput) -> OSProfile {
        if let profile = named(id) { return profile }
        let text = id.lowercased()
        guard id.utf8.count <= 32,
            let family = families.first(where: { text.hasPrefix($0.id) }),
            let number = ReleaseNumber(text.dropFirst(family.id.count)), let first = ReleaseNumber(family.first)
        else {
            throw unknown(
                "'\(id.terminalSafe(limit: 40))' is not a system; write for example ios17, macos26.4 or published")
        }
        let name = family.name(number)
        if number < first {
            guard var profile = named("ios9") else { throw unknown("\(name) is unknown") }
            profile.id = text
            profile.name = name
            profile.sdk = nil
            profile.isBeforeTransportSecurity = true
            return profile
        }
        guard let sibling = family.sibling else { throw unknown("\(name) is not known yet") }
        throw unknown(
            "no source says which TLS versions, suites and certificates \(name) accepts; App Transport Security came to it with "
                + "\(family.label) \(family.first), and its keys are those of \(sibling) of the same year")
    }

    /// The sentence for systems without App Transport Security.
    package var absence: String {
        if !isBeforeTransportSecurity, let sdk { return sdk.absence }
        return
            "App Transport Security does not exist on \(name): it came with iOS 9, OS X 10.11, tvOS 9, watchOS 2 and visionOS 1, and older "
            + "systems ignore the dictionary"
    }

    /// Where that is written.
    var absenceCitation: Citation {
        .apple(
            "NSAppTransportSecurity, \(isBeforeTransportSecurity ? "availability" : "versioning")", read: "2026-11-21")
    }

    private struct Family {
        let id: String
        let label: String
        /// The first release with App Transport Security.
        let first: String
        /// What to ask for in its place; nil for systems that are known themselves.
        let sibling: String?

        func name(_ number: ReleaseNumber) -> String {
            id == "macos" && number.major == 10 && number.minor < 12 ? "OS X \(number.text)" : "\(label) \(number.text)"
        }
    }

    /// Ids that begin another one stand behind it.
    private static let families = [
        Family(id: "visionos", label: "visionOS", first: "1", sibling: "iOS"),
        Family(id: "watchos", label: "watchOS", first: "2", sibling: "iOS"),
        Family(id: "tvos", label: "tvOS", first: "9", sibling: "iOS"),
        Family(id: "macos", label: "macOS", first: "10.11", sibling: nil),
        Family(id: "ios", label: "iOS", first: "9", sibling: nil),
    ]

    private static func unknown(_ reason: String) -> MalformedInput {
        MalformedInput(code: .malformedSystem, reason: reason)
    }
}
