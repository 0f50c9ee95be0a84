// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import ArgumentParser
import Findings
import Foundation
import TLSFacts
import TLSProbe

struct FetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Loads a URL under an app's policy, redirects too.",
        discussion: """
            Example:
              sealward ats fetch https://www.example.com/ --os ios17 --include

            Nothing of the request leaves before the server complied. Exit status: 0 a complete answer arrived, whatever its status
            (with --fail-status, 400 and more is 1), 1 the load was refused, 2 no answer came, 64 usage.
            """
    )

    enum Format: String, ExpressibleByArgument, CaseIterable { case text, json }

    @Argument(help: "The URL as the app loads it.")
    var url: String

    @OptionGroup var dictionary: DictionaryOptions

    @OptionGroup var network: FetchNetworkOptions

    @Flag(
        help:
            "Play the app's own delegate: accept a certificate that evaluation refused, where the dictionary permits it."
    )
    var acceptUntrusted = false

    @Flag(help: "A status of 400 or more ends with 1.")
    var failStatus = false

    @Flag(name: [.long, .customShort("i")], help: "Print status and header fields before the body.")
    var include = false

    @Option(help: "The form of the result: text (the body) or json (the report).")
    var format: Format = .text

    @OptionGroup var shared: SharedOptions

    func run() async throws {
        try await CommandIO.run {
            do {
                _ = try LoadURL(url)
            } catch let malformed as MalformedInput {
                throw ValidationError("\(malformed.description).")
            }
            let policy = ATSPolicy(dictionary: try dictionary.load(), profile: dictionary.os)
            var configuration = try network.configuration()
            if acceptUntrusted { configuration.acceptsUntrusted = { _ in true } }
            let client = ATSClient(
                policy: policy,
                trust: try network.trust(),
                fetcher: HTTPIntermediateFetcher(group: configuration.eventLoopGroup),
                configuration: configuration
            )
            let report = await client.load(url)
            await client.shutDown(grace: .zero)
            switch format {
            case .json: try CommandIO.write(FetchReport.json(report).rendered() + "\n", to: shared.output)
            case .text: try printText(report)
            }
            switch report.result {
            case .loaded: return failStatus && (report.status ?? 0) >= 400 ? .findings : .clean
            case .refused: return .findings
            case .noAnswer: return .undetermined
            }
        }
    }

    private func printText(_ report: LoadReport) throws {
        if report.result == .loaded {
            var bytes: [UInt8] = []
            if include { bytes += Array(FetchReport.head(report).utf8) }
            bytes += report.body
            try CommandIO.write(bytes, to: shared.output)
            if !shared.quiet {
                for note in report.because { CommandIO.say("note: \(FetchReport.clean(note.message))") }
            }
        } else {
            for line in FetchReport.refusal(report) { CommandIO.say(line) }
        }
    }
}

/// Name resolution, roots and times of a command that loads.
struct FetchNetworkOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Add roots as if a user had installed them; may be repeated.", valueName: "PEM"))
    var caFile: [String] = []

    @Option(
        help: ArgumentHelp(
            "Use this address for a host and port, as in curl; may be repeated.",
            valueName: "HOST:PORT:ADDRESS"
        )
    )
    var resolve: [String] = []

    @Option(help: ArgumentHelp("Seconds for one connection, TLS included.", valueName: "S"))
    var connectTimeout: Double = 10

    @Option(help: ArgumentHelp("Seconds for the whole load.", valueName: "S"))
    var timeout: Double = 30

    func validate() throws {
        for (name, value) in [("--connect-timeout", connectTimeout), ("--timeout", timeout)]
        where !(value > 0 && value <= 86_400) {
            throw ValidationError("\(name) takes seconds, more than 0 and at most 86400.")
        }
        for text in resolve {
            do {
                _ = try AddressOverride(text)
            } catch {
                throw ValidationError("--resolve \(error.description).")
            }
        }
    }

    func configuration() throws -> ATSClient.Configuration {
        var configuration = ATSClient.Configuration()
        configuration.connectTimeout = .milliseconds(Int(connectTimeout * 1000))
        configuration.totalTimeout = .milliseconds(Int(timeout * 1000))
        configuration.idleTimeout = configuration.totalTimeout
        configuration.addressOverrides = try resolve.map { try AddressOverride($0) }
        configuration.toleratesUncleanClose = true
        return configuration
    }

    /// The system's roots and those of the options. Without a system store the options' roots are all there is.
    func trust() throws -> TrustStore { try FetchNetworkOptions.trust(caFile) }

    static func trust(_ caFile: [String]) throws -> TrustStore {
        var store: TrustStore
        do {
            store = try TrustStore.system()
        } catch {
            if caFile.isEmpty { CommandIO.say("sealward: no system roots were found; every certificate is untrusted.") }
            store = TrustStore()
        }
        for path in caFile {
            do {
                try store.add(file: path, kind: .installed)
            } catch {
                throw CommandFault("\(path): \(error.reason); name a PEM file with --ca-file.")
            }
        }
        return store
    }
}
