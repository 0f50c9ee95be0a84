// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppTransportSecurity
import PropertyLists
import TLSModel
import Vocabulary

/// The form for people: one line a target, then the cause and the fix.
package struct CheckText: Sendable {
    /// Whether ANSI colors are written.
    package let colored: Bool
    /// Whether every configuration gets a line.
    package let verbose: Bool
    /// The columns that targets are padded to.
    package let width: Int
    /// Whether each target tells its address: if the addresses of a name are targets of their own.
    package let showsAddresses: Bool

    package init(colored: Bool, verbose: Bool, width: Int = 0, showsAddresses: Bool = false) {
        self.showsAddresses = showsAddresses
        self.colored = colored
        self.verbose = verbose
        self.width = width
    }

    package func render(_ report: TargetReport) -> String {
        guard let decisive = report.decisive else { return "" }
        let name = CheckText.shortName(report)
        let passing = report.results.count { $0.result == .pass }
        var columns = [decisive.result.painted(colored, width: CheckText.verdictWidth), name.padded(to: width)]
        columns.append("\(passing)/\(report.results.count)".aligned(to: 5))
        columns.append("\(report.elapsed.milliseconds) ms".aligned(to: 7))
        // The widest comes last: where a line is broken, it alone goes below.
        if let handshake = report.facts?.handshake {
            columns += [handshake.version.description, handshake.suite.description]
        }
        var lines = [columns.joined(separator: "  ")]
        if showsAddresses, let address = report.address { lines.append(detail("address", address)) }
        for cause in decisive.because {
            lines.append(detail("cause", "\(cause.code): \(cause.message)"))
        }
        lines += errors(decisive)
        if report.systems.isEmpty { lines += report.advice.flatMap { advice($0, report) } }
        if let secure = report.secure {
            let scheme = (try? LoadURL(report.target))?.secureScheme ?? "https"
            lines.append(detail(scheme, CheckText.words(secure, over: scheme)))
        }
        for warning in report.warnings { lines.append(detail("note", warning.message)) }
        if verbose {
            for note in report.notes where !report.warnings.contains(note) {
                lines.append(detail("note", note.message))
            }
            if let facts = report.facts {
                lines.append(detail("hello", CheckText.words(report.hello, facts.handshake)))
            }
            for result in report.results { lines += row(result) }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// What an app gets and what its console shows.
    private func errors(_ result: ConfigurationResult) -> [String] {
        guard let error = result.error else { return [] }
        return [detail("error", error.summary)] + result.console.map { detail("log", $0.text) }
    }

    /// A configuration with its dictionary and error.
    private func row(_ result: ConfigurationResult) -> [String] {
        let cause = result.because.first.map { "  \($0.code)" } ?? ""
        let keys = CheckText.keys(of: result.configuration.dictionary)
        var lines = [
            "  \(result.result.painted(colored, width: CheckText.verdictWidth))  \(result.configuration.name)\(cause)",
            detail("keys", keys.isEmpty ? "{}" : keys),
        ]
        if let error = result.error { lines.append(detail("error", error.summary)) }
        return lines
    }

    /// The head of the matrix of systems.
    package func head(_ systems: [OSProfile]) -> String {
        (["".padded(to: width)] + systems.map { $0.id.padded(to: CheckText.column($0)) }).joined(separator: "  ")
            .trimmed + "\n"
    }

    /// A line of the matrix: the verdict on each system, and why and what helps on those where the target does not load.
    package func matrix(_ report: TargetReport) -> String {
        var columns = [CheckText.shortName(report).padded(to: width)]
        for system in report.systems {
            let result = system.decisive?.result ?? .undetermined
            columns.append(result.painted(colored).padded(to: CheckText.column(system.profile)))
        }
        var lines = [columns.joined(separator: "  ").trimmed]
        if showsAddresses, let address = report.address {
            lines.append(detail("address", address))
        }
        for advice in report.advice {
            lines.append("    \(advice.systems.map(\.id).joined(separator: ", "))")
            lines += advice.because.map { detail("cause", $0.description) } + self.advice(advice, report)
        }
        for note in report.warnings where note.code != .noteSDKInferred { lines.append(detail("note", note.message)) }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func column(_ system: OSProfile) -> Int {
        max(system.id.utf8.count, ConfigurationResult.Result.undetermined.rawValue.utf8.count)
    }

    /// How long the hello was that got the answer, and what the key was agreed on with.
    private static func words(_ hello: AnsweredHello, _ handshake: HandshakeObservation) -> String {
        let length = hello.length.map { "\($0) bytes, " } ?? ""
        let group = handshake.group.map { "key exchange with \($0)" } ?? "key exchange with RSA"
        return length + group + (hello.smallerGotFurther == true ? "; a smaller ClientHello got further" : "")
    }

    /// How a cleartext target would fare over TLS.
    private static func words(_ secure: ConfigurationResult, over scheme: String) -> String {
        let cause = secure.because.first.map { " (\($0.code): \($0.message))" } ?? ""
        switch secure.result {
        case .pass: return "the same host loads over \(scheme)"
        case .fail: return "over \(scheme) the load fails as well\(cause)"
        case .undetermined: return "whether the host loads over \(scheme) could not be determined\(cause)"
        }
    }

    /// What is to be done about a target that does not load.
    private func advice(_ advice: TargetAdvice, _ report: TargetReport) -> [String] {
        advice.fixes.enumerated().map { detail($0.offset == 0 ? "fix" : "then", $0.element) }
            + report.serverLines.map { detail($0.software.title, $0.line) }
            + (advice.alternative.map { [detail("or", $0)] } ?? [])
    }

    /// `host`, or `host:port` if the port is not 443; a cleartext target keeps its scheme.
    package static func shortName(_ report: TargetReport) -> String {
        (try? LoadURL(report.target)).map(shortName) ?? report.host
    }

    package static func shortName(_ url: LoadURL) -> String {
        let isUsual = url.effectivePort == (url.isSecure ? 443 : 80)
        return (url.isSecure ? "" : url.scheme + "://")
            + HostPort.text(host: url.host, port: isUsual ? nil : url.effectivePort)
    }

    private func detail(_ label: String, _ text: String) -> String {
        let dim = colored ? "\u{1B}[2m\(label.padded(to: 5))\u{1B}[0m" : label.padded(to: 5)
        return "\(String(repeating: " ", count: CheckText.verdictWidth + 2))\(dim)  \(text.terminalSafe)"
    }

    /// The keys of a dictionary in one line: `NSExceptionDomains.host.NSExceptionMinimumTLSVersion = TLSv1.0`.
    private static func keys(of dictionary: ATSDictionary) -> String {
        func lines(_ value: PropertyListValue, _ path: [String]) -> [String] {
            if let members = value.members {
                if members.isEmpty, !path.isEmpty { return ["\(path.joined(separator: ".")) = {}"] }
                return members.keys.sorted().flatMap { key in members[key].map { lines($0, path + [key]) } ?? [] }
            }
            let text =
                switch value {
                case .boolean(let flag): flag ? "YES" : "NO"
                case .string(let text): text
                default: value.oldStyleDescription
                }
            return ["\(path.joined(separator: ".")) = \(text)"]
        }
        return lines(dictionary.propertyListValue, []).joined(separator: ", ")
    }

    private static let verdictWidth = 12
}

extension ConfigurationResult.Result {
    /// The word in so many columns, in its color where colors are shown.
    package func painted(_ colored: Bool, width: Int = 0) -> String {
        let word = rawValue.padded(to: width)
        guard colored else { return word }
        let color =
            switch self {
            case .pass: 32
            case .fail: 31
            case .undetermined: 33
            }
        return "\u{1B}[\(color)m\(word)\u{1B}[0m"
    }
}

extension String {
    /// Without spaces at the end.
    fileprivate var trimmed: String {
        String(decoding: utf8.reversed().drop { $0 == 0x20 }.reversed(), as: UTF8.self)
    }
}

extension Duration {
    package var milliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(clamping: seconds) &* 1000 &+ Int(clamping: attoseconds / 1_000_000_000_000_000)
    }
}
