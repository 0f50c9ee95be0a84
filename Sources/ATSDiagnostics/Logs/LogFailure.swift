// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Formats
package import Vocabulary

/// A failure of which a log speaks: which host, what happened, why, and what to do.
package struct LogFailure: Sendable {
    /// Who or what refused.
    package enum Kind: String, Sendable {
        /// The policy of App Transport Security, before or after the handshake.
        case ats
        /// The evaluation of the certificate, under ATS or without it.
        case trust
        /// The TLS handshake.
        case tls
        /// Everything before TLS: names, routes, firewalls, proxies.
        case network
        /// The privacy of the local network.
        case localNetwork = "local-network"
        /// The sandbox of a Mac app.
        case sandbox
        /// App Attest, DeviceCheck or App Check.
        case appAttest = "app-attest"
        /// A library that does not load with the system's stack.
        case notApple = "not-apple"
    }

    struct Key: Hashable {
        let host: UTF8Key?
        let kind: Kind
        let codes: [Code]
        let urlError: Int?
        let streamError: Int?
    }

    /// Nil where the log does not say it.
    package let host: String?
    let port: Int?
    /// The command that asks the host; nil without one.
    let check: String?
    package let kind: Kind
    /// Why, the decisive cause first; several only where the log does not decide.
    package let because: [Cause]
    /// The sentence of the log that says most, at most 200 bytes.
    package let quote: String
    /// What to do, without full stops.
    package let fix: [String]
    /// Commands that go on.
    package let next: [String]
    let urlError: Int?
    let streamError: Int?
    /// Whether a rule of a library's own is taken from the dictionary of ATS, as that of Flutter 2.0 (flutter/flutter 77702).
    private let readsDictionary: Bool
    /// Whether an exception may help all the same: a handshake was cut, as a server may do that has nothing in common with what ATS offers, or all that
    /// is known is that nothing loads.
    var exceptionMayHelp = false
    /// Whether sources contradict each other about the failure.
    var isDisputed = false
    /// Whether a socket failed, of which ATS asks nothing.
    private let isSocket: Bool
    /// Lower says more.
    let rank: Int
    let line: Int
    /// The lines about it.
    private(set) var count: Int

    init(
        _ evidence: LogEvidence, _ kind: Kind, _ codes: [Code], _ sentence: String, fix: [String] = []
    ) {
        let place = evidence.place
        (host, port) = (place?.host, place?.port)
        check = place?.check(isHardened: evidence.sentence?.isHardened == true)
        self.kind = kind
        because = codes.enumerated().map { index, code in
            Cause(code, index == 0 ? sentence : LogExplanations.explanation(of: code)?.meaning ?? code.rawValue)
        }
        quote = evidence.quote.text
        // What the first cause asks for, where it is the only one.
        self.fix =
            !fix.isEmpty || codes.count != 1
            ? fix : codes.compactMap { LogExplanations.action(of: $0, at: place?.host) }
        next = LogFailure.next(kind, codes, evidence, check)
        urlError = evidence.urlError
        streamError = evidence.streamError
        readsDictionary = evidence.phrases.map { LogPhrase.all[$0] }.contains {
            $0.speaker == .dart && $0.codes == [.cleartextOwnRule]
        }
        isSocket = evidence.isSocket
        rank = evidence.quote.rank
        line = evidence.quote.line
        count = evidence.lines
    }

    var key: Key {
        Key(
            host: host.map { UTF8Key($0) }, kind: kind, codes: because.map(\.code), urlError: urlError,
            streamError: streamError)
    }

    /// Counts the lines of another one with it.
    mutating func add(_ other: LogFailure) { count += other.count }

    /// Whether another failure, of which the log says less, is probably this one.
    func explains(_ weak: LogFailure) -> Bool {
        // App Check's client writes a sentence that does not name the DCError, and the log has the DCError too.
        if kind == .appAttest, weak.kind == .appAttest {
            // The client pauses after whatever came first, and repeats it behind its own words.
            if weak.quote.contains("Too many attempts"), because.first?.code == .appCheckStopped { return true }
            return because.count == 1 && weak.because.count > 1
                && weak.because.contains { $0.code == because.first?.code }
        }
        guard host != nil, weak.host == nil || weak.host == host, kind != .appAttest, weak.kind != .appAttest else {
            return false
        }
        if let stream = weak.streamError { return stream == streamError && (weak.urlError ?? urlError) == urlError }
        if let number = weak.urlError { return number == urlError }
        return weak.because.first?.code == because.first?.code && kind == weak.kind
    }

    private static func next(
        _ kind: Kind, _ codes: [Code], _ evidence: LogEvidence, _ check: String?
    ) -> [String] {
        switch kind {
        case .localNetwork, .sandbox:
            let first = kind == .sandbox ? ["codesign -d --entitlements - APP.app"] : []
            return first + ["sealward explain \(codes.first?.rawValue ?? "")"]
        case .appAttest:
            return [
                evidence.deviceError.map { "sealward explain \"com.apple.devicecheck.error \($0)\"" }
                    ?? evidence.appCheckStatus.map { "sealward explain \"App Check \($0)\"" }
                    ?? "sealward explain \(codes.first?.rawValue ?? "invalidKey")"
            ]
        case .ats where codes.first == .cleartextBlocked && check == nil: return ["sealward ats lint Info.plist"]
        default:
            let number = (evidence.streamError ?? evidence.urlError).map { "sealward explain \($0)" }
            return [check ?? number ?? codes.first.map { "sealward explain \($0)" }].compactMap(\.self)
        }
    }
}

extension LogFailure {
    /// A member of `failures` in `sealward.ats-log/1`.
    var json: JSONValue {
        [
            "host": .optional(host), "kind": .string(kind.rawValue), "because": .array(because.map(\.json)),
            "quote": .string(quote), "fix": .array(fix.map(JSONValue.string)),
            "next": .array(next.map(JSONValue.string)), "certain": .bool(isCertain), "lines": .integer(count),
            "line": .integer(line), "error": error([]),
        ]
    }

    /// The same as a member of `findings` of a host.
    var finding: JSONValue {
        [
            "count": .integer(count), "line": .integer(line), "error": error([.init("domain", "NSURLErrorDomain")]),
            "words": .string(quote), "codes": .array(because.map { .string($0.code.rawValue) }),
            "certain": .bool(isCertain), "fix": .optional(isCertain ? fix.first : nil),
        ]
    }

    private var isCertain: Bool { because.count == 1 && saysWhy }

    private func error(_ domain: [JSONValue.Member]) -> JSONValue {
        if urlError == nil, streamError == nil { return .null }
        return .object(
            domain + [.init("code", .optional(urlError)), .init("streamCode", .optional(streamError))])
    }

    /// A paragraph for people.
    var text: String {
        let numbers = [urlError.map { "NSURLErrorDomain \($0)" }, streamError.map { "stream code \($0)" }]
            .compactMap(\.self).joined(separator: ", ")
        // App Attest is no load.
        let what = host?.terminalSafe ?? (kind == .appAttest ? nil : "A load whose host the log does not name")
        var lines = [
            (what.map { "\($0): " } ?? "") + title
                + (numbers.isEmpty ? "" : " (\(numbers))") + ", \(count) \(count == 1 ? "line" : "lines")"
        ]
        func add(_ label: String, _ text: String) { lines.append("    " + label.padded(to: 7) + text) }
        add("log", "\"\(quote.terminalSafe)\", line \(line)")
        if let first = because.first {
            add(
                "cause",
                "\(first.message.terminalSafe) [\(first.code)\(because.count == 1 ? "" : ", or one of the next line")]")
            if because.count > 1 {
                add(
                    "or",
                    because.dropFirst().map(\.code.rawValue).joined(separator: ", ") + "; the log does not say which")
            }
        }
        if ![.ats, .trust, .tls].contains(kind) || isSocket, saysWhy, !exceptionMayHelp, !readsDictionary {
            add("not", "App Transport Security: no key of NSAppTransportSecurity changes this.")
        }
        for fix in fix { add("fix", fix.terminalSafe) }
        for command in next { add("run", command.terminalSafe) }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension LogFailure {
    /// Whether the log says why, or only that a load failed.
    var saysWhy: Bool { because.first?.code != .causeNotSaid && !isDisputed }

    /// What happened, behind the host.
    private var title: String {
        switch because.first?.code {
        case _ where isDisputed: "whether the load fails is not known"
        case .some(.causeNotSaid):
            kind == .appAttest
                ? "App Attest failed with a number that nobody documents" : "the load failed, and nothing here says why"
        case .some(.httpWebRule): "the web view refused the load"
        case .some(.httpMedia): "the player refused the answer"
        default: kind.title
        }
    }
}

extension LogFailure.Kind {
    fileprivate var title: String {
        switch self {
        case .ats: "App Transport Security blocked the load"
        case .trust: "the certificate was refused"
        case .tls: "the TLS handshake failed"
        case .network: "the connection failed"
        case .localNetwork: "the local network is denied to the app"
        case .sandbox: "the sandbox forbids the connection"
        case .appAttest: "App Attest or App Check failed"
        case .notApple: "a library of the app refused, not the system"
        }
    }
}
