// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import ATSDiagnostics
import AppTransportSecurity
import ArgumentParser
import Formats
import FoundationEssentials
import NIOCore
import TLSModel
import TLSProbe
import Vocabulary

struct FetchCommand: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Load a URL under an app's ATS policy, following redirects.",
        discussion: """
            Example:
              sealward ats fetch https://www.example.com/ --os ios17 --include

            Nothing of the request is sent before the server complies. A redirect from a public server never leads to loopback, metadata and \
            other addresses that are not public, unless --allow-private. Exit status: 0 a complete answer arrived, whatever its status \
            (with --fail-status, 400 and above is 1), 1 the load was refused, 2 no answer came, 64 usage.
            """
    )

    @Argument(help: "The URL as the app loads it.")
    var url: String

    @OptionGroup var dictionary: DictionaryOptions

    @OptionGroup var trust: TrustOptions

    @OptionGroup var reach: ReachOptions

    @Option(help: .value("The timeout of the whole load, in seconds.", "S"))
    var timeout: Double = 30

    @Flag(
        help:
            "Act as the app's own delegate: accept a certificate that evaluation refused, if the dictionary permits it."
    )
    var acceptUntrusted = false

    @Flag(help: "Exit with status 1 on HTTP status 400 or above.")
    var failStatus = false

    @Flag(help: "Let redirects lead to private addresses.")
    var allowPrivate = false

    @Flag(name: [.long, .customShort("i")], help: "Print status and header fields before the body.")
    var include = false

    @Option(help: .value("Output format: text (the body) or json (the report).", "FORMAT"))
    var format: TextOrJSON = .text

    @OptionGroup var shared: SharedOptions

    func validate() throws { try ReachOptions.check(seconds: timeout, of: "--timeout") }

    func outcome() async throws -> Outcome {
        _ = try CommandIO.argument { () throws(MalformedInput) in try LoadURL(url) }
        let policy = try dictionary.policy()
        var configuration = ATSClient.Configuration()
        configuration.connectTimeout = reach.connectLimit
        configuration.totalTimeout = .seconds(timeout)
        configuration.idleTimeout = configuration.totalTimeout
        configuration.addressOverrides = try reach.overrides()
        configuration.transparencyLogs = try trust.logs()
        configuration.toleratesUncleanClose = true
        configuration.asksAsTheSystem = true
        configuration.mayRedirectToPrivateAddresses = allowPrivate
        configuration.acceptsUntrusted = acceptUntrusted
        let client = ATSClient(
            policy: policy, trust: try trust.anchors(),
            fetcher: HTTPIntermediateFetcher(group: configuration.eventLoopGroup), configuration: configuration)
        let sink = BodySink(path: shared.output)
        let isText = format == .text
        let report = try await client.load(url) { response, part in
            guard isText else { return }
            if let part {
                try sink.take(part.readableBytesView)
            } else if include {
                try sink.take(FetchReport.head(response).commandSafe.utf8)
            }
        }
        await client.shutDown(grace: .zero)
        switch format {
        case .json:
            try CommandIO.write(
                FetchReport.json(report, under: policy, at: Date()).rendered() + "\n", to: shared.output)
        case .text:
            if report.result == .loaded { try sink.finish() }
            explain(report, under: policy)
        }
        switch report.result {
        case .loaded: return failStatus && (report.status ?? 0) >= 400 ? .findings : .clean
        case .refused: return .findings
        case .noAnswer: return .undetermined
        }
    }

    private func explain(_ report: LoadReport, under policy: ATSPolicy) {
        if report.result == .loaded {
            if !shared.quiet {
                for note in report.because { CommandIO.say("note: \(note.message.terminalSafe)") }
            }
        } else {
            for line in FetchReport.refusal(report, under: policy) { CommandIO.say(line) }
        }
    }
}

/// Where the body of an answer goes. The first megabyte waits for its end, so that a short answer which breaks off prints nothing; a longer one
/// is written as it comes and never held in memory.
private final class BodySink {
    private let path: String?
    private var held: [UInt8] = []
    private var stream: ResultStream?

    init(path: String?) { self.path = path }

    func take(_ bytes: some Sequence<UInt8>) throws {
        held.append(contentsOf: bytes)
        if held.count > 1 << 20 || stream != nil { try flush() }
    }

    /// Writes what still waits; an empty answer makes an empty file.
    func finish() throws {
        try flush()
        try stream?.close()
    }

    private func flush() throws {
        let stream = try stream ?? ResultStream(path: path)
        self.stream = stream
        try stream.write(held)
        held.removeAll(keepingCapacity: true)
    }
}
