// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
public import Vocabulary

/// A line that a system writes to its console or log about a load that fails.
public struct ConsoleLine: Sendable, Equatable {
    /// As the system writes it; what differs from load to load stands in angle brackets.
    public let text: String
    /// Who saw the line, and on which release.
    public let citation: Citation
    /// How it is known for the system that was asked about.
    package let basis: Basis
}

extension ConsoleLine {
    /// What the console of a system shows for a failed load, as far as a source has it; empty if none has.
    ///
    /// - Parameters:
    ///   - error: what the app gets.
    ///   - causes: why, first cause first.
    ///   - host: of the URL.
    package static func lines(
        for error: URLLoadError, causes: [Cause], host: String, on profile: OSProfile
    ) -> [ConsoleLine] {
        guard let situation = Situation(error, causes) else { return [] }
        let shownHost = host.terminalSafe(limit: 253)
        return table.filter { $0.situation.contains(situation) && $0.holds(on: profile) }.map { row in
            let text = row.text
                .replacing("<host>", with: shownHost)
                .replacing("<code>", with: String(error.code))
                .replacing("<stream>", with: error.streamCode.map(String.init) ?? "<stream>")
            return ConsoleLine(text: text, citation: row.citation, basis: row.basis(on: profile))
        }
    }

    /// What kind of failure a line is about.
    private enum Situation: CaseIterable {
        case cleartext
        /// TLS failed before anything was judged.
        case handshake
        /// ATS refused the certificate.
        case trust
        case rsaKey
        case curveKey
        case leafHash
        /// FCP_v2.1: no extended master secret.
        case masterSecret
        /// FCP_v2.1: the certificate is signed with an algorithm that was not offered.
        case unofferedSignature
        /// Trust evaluation refused the certificate outside ATS.
        case plainTrust

        init?(_ error: URLLoadError, _ causes: [Cause]) {
            if error.code == -1022 {
                self = .cleartext
                return
            }
            guard let stream = error.streamCode else { return nil }
            guard error.code == -1200 else {
                self = .plainTrust
                return
            }
            let cause = causes.first
            // The library looks at key and hash of the leaf; those of the certificates above are a matter of trust evaluation.
            switch (cause?.code, stream == RefusalNumbers.transportSecurity, cause?.situation == nil) {
            case (.tlsNoExtendedMasterSecret, false, _): self = .masterSecret
            case (.trustWeakSignature, false, _): self = .unofferedSignature
            case (_, false, _): self = .handshake
            case (.trustWeakKey, true, true): self = cause?.keyKind == .rsa ? .rsaKey : .curveKey
            case (.trustWeakSignature, true, true): self = .leafHash
            default: self = .trust
            }
        }
    }

    private struct Row {
        let text: String
        let situation: Set<Situation>
        /// Numbers of iOS and of macOS: from the first, and before the second; nil if it has no end.
        let iOS: (from: String, before: String?)
        let macOS: (from: String, before: String?)
        /// The releases that the source itself is about.
        let seenOn: Set<String>
        let citation: Citation

        func holds(on profile: OSProfile) -> Bool {
            if profile.id == "published" { return iOS.from == "9" && situation == [.cleartext] }
            let (family, range) = profile.isMac ? ("macos", macOS) : ("ios", iOS)
            guard let number = ReleaseNumber(profile.id.dropFirst(family.count)), let from = ReleaseNumber(range.from)
            else { return false }
            guard let before = range.before.flatMap({ ReleaseNumber($0) }) else { return from <= number }
            return from <= number && number < before
        }

        func basis(on profile: OSProfile) -> Basis {
            if seenOn.isEmpty { return .unknown }
            return seenOn.contains(profile.id) || profile.id == "published" ? .measured : .inferred
        }
    }

    private static let tls: Set<Situation> = [
        .handshake, .trust, .rsaKey, .curveKey, .leafHash, .masterSecret, .unofferedSignature, .plainTrust,
    ]

    private static let boringSSL = Citation(
        source: "libboringssl 26.4, its strings (blacktop/ipsw-diffs)", read: "2026-11-22")

    private static func libraryRow(_ text: String, _ situation: Situation) -> Row {
        Row(
            text: text, situation: [situation], iOS: ("26.4", nil), macOS: ("26.4", nil),
            seenOn: ["ios26.4", "macos26.4"], citation: boringSSL)
    }

    private static let table: [Row] = [
        Row(
            text:
                "\(LogSentence.cleartext.text) (http://) resource load since it is insecure. Temporary exceptions can be "
                + "configured via your app's Info.plist file.", situation: [.cleartext], iOS: ("9", nil),
            macOS: ("10.11", nil), seenOn: ["ios9"],
            citation: .apple("Preventing Insecure Network Connections", read: "2026-11-21")),
        Row(
            text: "Cannot start load of Task <UUID>.<number> since it \(LogSentence.policy.text)",
            situation: [.cleartext], iOS: ("16", nil), macOS: ("13", nil), seenOn: [],
            citation: Citation(source: "kkaoseb.blogspot.com, 2023; no release is named", read: "2026-11-21")),
        Row(
            text: "CFNetwork SSLHandshake failed (<stream>)", situation: tls, iOS: ("9", "11"),
            macOS: ("10.11", "10.13"), seenOn: ["macos10.11"],
            citation: Citation(
                source: "nscurl of OS X 10.11: Cocoa Keys, listing 1; gist krunk4ever/936e03b48c030e26a3a6",
                read: "2026-11-21")),
        Row(
            text: "NSURLSession/NSURLConnection HTTP load failed (kCFStreamErrorDomainSSL, <stream>)", situation: tls,
            iOS: ("9", "13"), macOS: ("10.11", "10.15"), seenOn: ["macos10.11", "macos10.13", "macos10.14"],
            citation: Citation(
                source:
                    "nscurl of OS X 10.11 (Cocoa Keys, listing 1), macOS 10.13 (ushahidi/platform#3289) and 10.14 (OWASP MASTG 0x06g)",
                read: "2026-11-21")),
        Row(
            text: "Task <UUID>.<number> finished with error [<code>] Error Domain=NSURLErrorDomain Code=<code>",
            situation: tls, iOS: ("13", nil), macOS: ("10.15", nil), seenOn: [],
            citation: Citation(source: "logs of devices, quoted without their release", read: "2026-11-22")),
        libraryRow("Error [ATS Violation]: \(LogSentence.trust.text) for server: <host>", .trust),
        libraryRow(
            "Error \(LogSentence.rsaKey.text) <bits> bits is less than minimum <bits> bits for server: <host>", .rsaKey),
        libraryRow(
            "Error \(LogSentence.curveKey.text) <bits> bits is less than minimum <bits> bits for server: <host>",
            .curveKey),
        libraryRow(
            "Error \(LogSentence.leafHash.text) (<number>) is not at least SHA-256 for server: <host>", .leafHash),
        libraryRow(
            "Error \(LogSentence.unofferedSignature.text) <algorithm> not advertised in client hello for server: <host>",
            .unofferedSignature),
        libraryRow("Error \(LogSentence.masterSecret.text) (EMS) for server: <host>", .masterSecret),
    ]
}
