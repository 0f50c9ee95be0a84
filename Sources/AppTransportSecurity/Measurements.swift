// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// What others measured or captured on Apple systems, and which property of a profile it bears on.
///
/// The loads are those of the tests (`MeasuredCellTests`), by their ids there; the hellos are captures of Safari.
enum Measurement {
    private static let mastg = "OWASP MASTG-TECH-0149"
    private static let blochberger = "blochberger/ats, tests/test_ats.py"
    private static let intune = "BouCloud/audit-intune-ios"
    /// What a hello shows.
    private static let seen: Set<SystemProperty> = [.stackMinimum, .newestVersion, .unrestrictedSuites, .hello]
    private static let safari = "Safari's ClientHello; that URLSession sends the same is inferred"

    /// Each with its releases, by id: what was measured there, not what follows for others.
    static let all: [(id: String, systems: [String], properties: Set<SystemProperty>, basis: Basis, source: String)] = [
        ("owasp-26-tls10-default", ["macos26"], [.stackMinimum], .measured, mastg),
        ("owasp-26-tls10-allowall", ["macos26"], [.stackMinimum], .measured, mastg),
        ("owasp-26-tls10-min10", ["macos26"], [.stackMinimum], .measured, mastg),
        ("owasp-26-tls10-min10-nopfs", ["macos26"], [.stackMinimum], .measured, mastg),
        ("owasp-17-tls10-min10", ["ios17"], [.stackMinimum], .measured, mastg),
        ("owasp-rsa-default", ["macos26"], [.forwardSecretSuites], .measured, mastg),
        ("owasp-rsa-nopfs", ["macos26"], [.rsaSuites], .measured, mastg),
        (
            "bloch-11-default-12", ["macos11"], [.forwardSecretSuites, .transportSecurityRules], .measured, blochberger
        ),
        ("bloch-11-default-13", ["macos11"], [.newestVersion, .transportSecurityRules], .measured, blochberger),
        ("bloch-11-min13-13", ["macos11"], [.tls13Minimum], .measured, blochberger),
        ("bloch-11-min13-12", ["macos11"], [.tls13Minimum], .measured, blochberger),
        ("bloch-11-nofs-12", ["macos11"], [.rsaSuites], .measured, blochberger),
        ("bloch-11-nofs-rsa", ["macos11"], [.rsaSuites], .measured, blochberger),
        ("bloch-11-default-10", ["macos11"], [.forwardSecretSuites], .measured, blochberger),
        ("bloch-11-default-11", ["macos11"], [.forwardSecretSuites], .measured, blochberger),
        ("bloch-11-default-rsa", ["macos11"], [.forwardSecretSuites], .measured, blochberger),
        ("bloch-11-ct", ["macos11"], [.transparencyKey], .measured, blochberger),
        (
            "bloch-gist-10.14-min13", ["macos10.14", "macos10.15", "ios12.2", "ios13"], [.tls13Minimum], .measured,
            "rdar 50887327, gist blochberger/8e98f768502283dccb245f7ca81a79f8; the server's version is inferred"
        ),
        ("apple-26-default-min", ["ios26", "macos26"], [.stackMinimum], .appleText, "release notes 135996267"),
        ("boucloud-27-noems", ["ios27"], [.ownProcesses], .measured, intune),
        ("boucloud-27-ems", ["ios27"], [.ownProcesses], .measured, intune),
        ("hello 26.4", ["ios26.4", "macos26.4"], seen, .captured, safari),
        ("hello 18.4", ["ios18", "macos15"], seen, .captured, safari),
        ("hello macOS 12.3.1", ["macos12"], seen, .captured, safari),
        ("hello iOS 12.2", ["ios12.2"], seen, .captured, safari),
        ("hello macOS 10.14.6", ["macos10.14"], seen, .captured, safari),
        ("hello macOS 10.13.6", ["macos10.13"], seen, .captured, safari),
        ("hello iOS 10, macOS 10.12", ["ios10", "macos10.12"], seen, .captured, safari),
        ("hello iOS 9, OS X 10.11", ["ios9", "macos10.11"], seen, .captured, safari),
    ]
}
