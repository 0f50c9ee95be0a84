// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// Reads the output of `nscurl --ats-diagnostics`, line by line, with whatever other programs wrote in between.
struct NSCurlReader: Sendable {
    /// The URL of the header.
    private(set) var url: String?
    /// The host of the titles, for a transcript whose header was not copied.
    private var titleHost: String?
    /// In the order of the transcript, at most 256.
    private(set) var rows: [NSCurlTranscript.Row] = []
    private(set) var firstLine = 0
    private var isInside = false
    private var isStarted = false
    private var name: String?
    private var passed: Bool?
    private var code: Int?
    private var streamCode: Int?
    /// Numbers that other programs logged before the row's result; they count if the row itself has none.
    private var logged: (code: Int?, stream: Int?) = (nil, nil)
    private var isHardened = false
    /// Why `ats check` could not determine what it prints as FAIL.
    private var undetermined: Cause?

    /// Takes a line.
    ///
    /// - Returns: whether it belongs to the transcript, so that it is no news of its own.
    mutating func take(_ whole: ArraySlice<UInt8>, line number: Int = 0) -> Bool {
        var line = whole.trimmed { $0 == 0x20 || $0 == 0x0D || $0 == 0x09 }
        // A page makes headings of titles and rules of the lines between rows.
        if line.starts(with: "## ".utf8) { line = line.dropFirst(3).drop { $0 == 0x20 } }
        if line.isEmpty {
            if !isInside { name = nil }
            return false
        }
        if line.starts(with: NSCurlReader.header.utf8) {
            // The next one in the same file; whoever reads several takes the rows before.
            var text = line.dropFirst(NSCurlReader.header.utf8.count)
            if text.last == UInt8(ascii: ".") { text = text.dropLast() }
            if url == nil { url = String(decoding: text.prefix(8192), as: UTF8.self) }
            if !isStarted { (isStarted, firstLine) = (true, number) }
            return true
        }
        if line.starts(with: "Starting ATS Diagnostics".utf8) || line.elementsEqual(NSCurlReader.firstTitle.utf8) {
            if !isStarted { (isStarted, firstLine) = (true, number) }
            return true
        }
        if url == nil, let command = Scan(bytes: line).rest(after: "nscurl --ats-diagnostics ") {
            let word = command.split(separator: 0x20).first { $0.starts(with: "http".utf8) }
            url = word.map { String(decoding: $0.prefix(8192), as: UTF8.self) }
        }
        guard isStarted else { return false }
        if line.elementsEqual("---".utf8) {
            if isInside { endRow() }
            isInside.toggle()
            (name, passed, code, streamCode, isHardened) = (nil, nil, nil, nil, false)
            (logged, undetermined) = ((nil, nil), nil)
        } else if !isInside, let known = NSCurlReader.names.first(where: { line.elementsEqual($0.utf8) }) {
            (name, logged, undetermined) = (known, (nil, nil), nil)
        } else if name != nil, passed == nil, line.starts(with: NSCurlText.undetermined.utf8) {
            undetermined = NSCurlReader.undetermined(line.dropFirst(NSCurlText.undetermined.utf8.count))
        } else if !isInside, name != nil {
            if line.starts(with: "Result :".utf8) {
                passed = NSCurlReader.result(line)
                endRow()
                (name, passed, logged) = (nil, nil, (nil, nil))
            } else {
                let found = LogLine(line)
                logged = (logged.code ?? found.urlError, logged.stream ?? found.streamError)
            }
        } else if !isInside {
            let words: StaticString = " exceptions for "
            if titleHost == nil, line.starts(with: "Configuring ".utf8), let host = Scan(bytes: line).rest(after: words)
            {
                titleHost = String(decoding: host.prefix(255), as: UTF8.self)
                return true
            }
            return line.starts(with: "Configuring ".utf8)
        } else if name == nil {
            name = String(decoding: line.prefix(200), as: UTF8.self)
            isHardened = NSCurlReader.namesPackage(line)
        } else if line.starts(with: "Result :".utf8) {
            passed = NSCurlReader.result(line)
        } else if passed == nil, NSCurlReader.namesPackage(line) {
            isHardened = true
        } else if passed == nil {
            let found = LogLine(line)
            logged = (logged.code ?? found.urlError, logged.stream ?? found.streamError)
        } else if passed == false {
            let found = LogLine(line)
            code = code ?? found.urlError
            streamCode = streamCode ?? found.streamError
        }
        return true
    }

    private mutating func endRow() {
        guard let name, rows.count < 256 else { return }
        rows.append(
            NSCurlTranscript.Row(
                name: name, passed: passed, code: code ?? logged.code, streamCode: streamCode ?? logged.stream,
                isHardened: isHardened, undetermined: undetermined))
    }

    /// The cause behind the words; nil without a code that is known.
    private static func undetermined(_ words: ArraySlice<UInt8>) -> Cause? {
        guard words.count < 4096, words.last == UInt8(ascii: "]"),
            let start = words.lastIndex(of: UInt8(ascii: "["))
        else { return nil }
        let name = words[(start + 1)...].dropLast()
        let codes = CauseTable.current.rows.lazy.map(\.explanation.code)
        guard let code = codes.first(where: { $0.rawValue.utf8.elementsEqual(name) }) else { return nil }
        return Cause(code, String(decoding: words[..<start], as: UTF8.self).trimmed())
    }

    private static func result(_ line: ArraySlice<UInt8>) -> Bool? {
        let word = line.dropFirst("Result :".utf8.count).drop { $0 == 0x20 }
        return word.elementsEqual("PASS".utf8) ? true : word.elementsEqual("FAIL".utf8) ? false : nil
    }

    private static let names = DiagnosticConfiguration.all(host: "", supportsTLS13: true).map(\.name)

    /// Whether a line begins another transcript.
    static func begins(_ line: ArraySlice<UInt8>) -> Bool {
        line.starts(with: "Starting ATS Diagnostics".utf8)
    }

    var place: LogPlace? {
        url.flatMap { LogPlace(url: Array($0.utf8)[...]) } ?? titleHost.flatMap { LogPlace(host: Array($0.utf8)[...]) }
    }

    private static let header = "Configuring ATS Info.plist keys and displaying the result of HTTPS loads to "
    private static let firstTitle = "Default ATS Secure Connection"

    /// Whether a line names a key or a version of the NIAP packages.
    private static func namesPackage(_ line: ArraySlice<UInt8>) -> Bool {
        let line = line.prefix(1000)
        return [ATSKey.packageWord, HardeningLevel.fcpV21.rawValue].contains { line.contains($0.utf8) }
    }
}

extension NSCurlReader {
    /// Whether the default rules let the load through.
    var passes: Bool { row(DiagnosticConfiguration.defaultName)?.passed == true }

    private func row(_ name: String) -> NSCurlTranscript.Row? { rows.first { $0.name.hasSameBytes(as: name) } }

    /// What the rows prove about the server; nil where the default rules let the load through, or no row says anything.
    var failure: LogFailure? {
        guard !passes, rows.contains(where: { $0.passed == false }) else { return nil }
        let passed = rows.filter { $0.passed == true }.map(\.name)
        let failed = row(DiagnosticConfiguration.defaultName) ?? rows.first { $0.passed == false }
        let words =
            "nscurl: "
            + (passed.isEmpty ? "no configuration passes" : "PASS only for " + passed.prefix(8).joined(separator: ", "))
        var evidence = LogEvidence(
            place: place, urlError: failed?.code, streamError: failed?.streamCode, quote: words, line: firstLine,
            lines: rows.count)
        let host = place?.host ?? "the server"
        let versions = ["TLSv1.3", "TLSv1.2", "TLSv1.1", "TLSv1.0"]
        func first(_ suffix: String) -> String? {
            versions.first { version in passed.contains { $0.hasSameBytes(as: version + suffix) } }
        }
        if let cause = failed?.undetermined, let stage = CauseTable.current[cause.code]?.stage {
            let kind: LogFailure.Kind =
                switch stage {
                case .network, .http, .proxy: .network
                case .handshake: .tls
                case .trust: .trust
                case .policy: .ats
                }
            var failure = LogFailure(evidence, kind, [cause.code], cause.message)
            // What is not about the way to the server is not known because sources contradict each other.
            failure.isDisputed = kind != .network
            return failure
        }
        // What a row tried is an exception that helps, on the system that it was tried on.
        func fixes(_ code: Code, _ key: String) -> [String] {
            [LogExplanations.action(of: code, at: place?.host)].compactMap(\.self)
                + [
                    "where the server cannot: \(ATSKey.exceptionDomains) > \(place?.host ?? "HOST") > \(key), with which nscurl loads it"
                ]
        }
        let withoutSecrecy = passed.contains { $0.hasSameBytes(as: "Disabling Perfect Forward Secrecy") }
        if let version = first(""), version != "TLSv1.3" {
            return LogFailure(
                evidence, .tls, [.tlsVersionTooLow],
                "\(host) speaks \(spoken(version)) only: that row passes, and those of newer versions and of the default rules fail.",
                fix: fixes(.tlsVersionTooLow, "\(ATSKey.minimumTLSVersion) = \(version)"))
        }
        if withoutSecrecy {
            return LogFailure(
                evidence, .tls, [.tlsNoForwardSecrecy],
                "\(host) has no cipher suite with forward secrecy: the row that asks for none passes, the default rules fail.",
                fix: fixes(.tlsNoForwardSecrecy, "\(ATSKey.forwardSecrecy) = NO"))
        }
        if let version = first(" with PFS disabled") {
            return LogFailure(
                evidence, .tls, [.tlsVersionTooLow, .tlsNoForwardSecrecy],
                "\(host) speaks \(spoken(version)) only, and has no cipher suite with forward secrecy: only a row without both requirements passes.",
                fix: ["enable TLS 1.2 or 1.3 and ECDHE suites on the server"])
        }
        if !passed.isEmpty {
            // What passes only where ATS is off, or where insecure loads are allowed, fails for its certificate.
            if evidence.urlError == nil, evidence.streamError == nil { evidence.streamError = -9802 }
            if evidence.streamError.map({ RefusalNumbers.causes(stream: $0) })?.contains(.tlsVersionTooLow) != true {
                return LogJudge.failure(evidence)
            }
        }
        if let failure = LogJudge.failure(evidence) { return failure }
        var failure = LogFailure(
            evidence, .network,
            [.netTimeout, .netRefused, .netDNS, .tlsClientCertificateRequired]
                + (ErrorNumber.url(-1200)?.codes ?? []),
            "Nothing passes for \(host), with ATS switched off neither: it cannot be reached, its certificate is refused, or its TLS is too old for the system. Without --verbose nscurl does not say which.",
            fix: ["record it again with nscurl --ats-diagnostics --verbose URL"])
        failure.exceptionMayHelp = true
        return failure
    }

    private func spoken(_ version: String) -> String { version.replacing("TLSv", with: "TLS ") }
}
