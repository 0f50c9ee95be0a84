// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppTransportSecurity

/// One of the configurations that `nscurl --ats-diagnostics` tries: a title, a name and an NSAppTransportSecurity dictionary.
public struct DiagnosticConfiguration: Sendable, Equatable {
    /// The title of the section, in nscurl's words.
    package let section: String
    /// The name of the test, in nscurl's words.
    public let name: String
    /// The dictionary that is tried.
    public let dictionary: ATSDictionary
    /// Whether this is the app's own dictionary, which nscurl does not have.
    package let isAppDictionary: Bool

    /// The name of the first configuration, which the exit status follows.
    package static let defaultName = "ATS Default Connection"
    /// The name of the configuration that opens everything.
    package static let allowAllName = "Allow All Loads"
}

extension DiagnosticConfiguration {
    /// The configurations for a host in nscurl's order: 16, or 13 for systems without TLS 1.3.
    ///
    /// - Parameter host: without a port, as nscurl writes it into titles and dictionaries.
    package static func all(host: String, supportsTLS13: Bool) -> [DiagnosticConfiguration] {
        let versions: [TLSVersionName] = (supportsTLS13 ? [.tls13] : []) + [.tls12, .tls11, .tls10]
        let noSecrecy = ExceptionEntry(requiresForwardSecrecy: false)
        let insecure = ExceptionEntry(allowsInsecureHTTPLoads: true, requiresForwardSecrecy: false)
        func exception(_ entry: ExceptionEntry, version: TLSVersionName? = nil) -> ATSDictionary {
            var entry = entry
            entry.minimumTLSVersion = version
            return ExceptionLadder.dictionary([host: entry])
        }
        func row(_ section: String, _ name: String, _ dictionary: ATSDictionary) -> DiagnosticConfiguration {
            DiagnosticConfiguration(
                section: section, name: name, dictionary: dictionary, isAppDictionary: false)
        }

        func rows(_ section: String, _ entry: ExceptionEntry, suffix: String = "") -> [DiagnosticConfiguration] {
            versions.map { row("\(section) for \(host)", $0.rawValue + suffix, exception(entry, version: $0)) }
        }
        let withoutSecrecy = "Disabling Perfect Forward Secrecy"
        return [
            row("Default ATS Secure Connection", defaultName, ATSDictionary()),
            row("Allowing Arbitrary Loads", allowAllName, .allowingEverything),
        ] + rows("Configuring TLS exceptions", ExceptionEntry()) + [
            row("Configuring PFS exceptions for \(host)", withoutSecrecy, exception(noSecrecy)),
            row(
                "Configuring PFS exceptions and allowing insecure HTTP for \(host)",
                withoutSecrecy + " and Allowing Insecure HTTP", exception(insecure)),
        ] + rows("Configuring TLS exceptions with PFS disabled", noSecrecy, suffix: " with PFS disabled")
            + rows(
                "Configuring TLS exceptions with PFS disabled and insecure HTTP allowed", insecure,
                suffix: " with PFS disabled and insecure HTTP allowed")
    }

    /// What the system's own processes of OS 27 ask of servers, judged after nscurl's. No key of an app changes it; SCEP and content caching are
    /// exempt (support.apple.com/126655).
    package static let managed: DiagnosticConfiguration = {
        var dictionary = ATSDictionary()
        dictionary.hardening = .fcpV21
        return DiagnosticConfiguration(
            section: "As processes of the system load (MDM, enrollment, app installation, software update)",
            name: "ATS and FCP_v2.1", dictionary: dictionary, isAppDictionary: true)
    }()

    /// The app's own dictionary, judged after nscurl's.
    package static func app(_ dictionary: ATSDictionary) -> DiagnosticConfiguration {
        DiagnosticConfiguration(
            section: "Using the dictionary of the app", name: "App Dictionary", dictionary: dictionary,
            isAppDictionary: true)
    }
}
