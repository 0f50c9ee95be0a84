// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Logging
import Vocabulary

/// Turns a JSON document and the environment into a ``Configuration``, or into everything that is wrong with them.
package enum ConfigurationReader {
    package enum Outcome {
        case configuration(Configuration)
        case issues([ConfigurationIssue])
    }

    /// What every document must be.
    static let shape = "must be one JSON object, for example {\"listen\": \"127.0.0.1:8080\"}"

    /// The variable of what is logged.
    package static let logLevel = "SEALWARD_LOG_LEVEL"

    /// Reads a configuration.
    ///
    /// - Parameters:
    ///   - file: the bytes of the configuration file, or nil if none was named.
    ///   - environment: the variables of the process.
    ///   - readFile: reads a file that the configuration names.
    package static func read(
        file: [UInt8]?, environment: [String: String], readFile: @escaping (String) throws(UnreadableFile) -> [UInt8]
    ) -> Outcome {
        var document = JSONValue.object([])
        if let file {
            do throws(MalformedInput) {
                document = try JSONReader.read(file)
            } catch {
                return .issues([ConfigurationIssue(path: "", reason: "\(error.description); a configuration \(shape)")])
            }
        }
        let reading = ConfigurationReading(environment: environment, readFile: readFile)
        for name in ConfigurationOverrides.unknown(in: environment) {
            ConfigurationPlace(path: name, reading: reading)
                .wrong(
                    "is not a known variable; a setting's variable is SEALWARD_ and its path, for example SEALWARD_LISTEN"
                )
        }
        if let level = environment[logLevel], !level.isEmpty, Logger.Level(rawValue: level) == nil {
            let names = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
            ConfigurationPlace(path: logLevel, reading: reading).wrong("must be one of \(names)")
        }
        let root = ConfigurationPlace(path: "", reading: reading)
        var configuration = Configuration()
        let isComplete = ConfigurationKeys.read(ConfigurationOverrides.apply(environment, to: document), at: root) {
            configuration.visit($0)
        }
        if reading.issues.isEmpty, isComplete { return .configuration(configuration) }
        return .issues(
            reading.issues.map { issue in
                var issue = issue
                issue.variable = ConfigurationOverrides.variable(setting: issue.path, in: environment)
                return issue
            }
        )
    }
}

extension TrustServer.Configuration {
    /// Everything that is wrong with it.
    var issues: [ConfigurationIssue] {
        let reading = ConfigurationReading(environment: [:]) { path throws(UnreadableFile) in
            throw UnreadableFile(reason: "\(path): is not read")
        }
        var copy = self
        ConfigurationKeys.judge(at: ConfigurationPlace(path: "", reading: reading)) { copy.visit($0) }
        return reading.issues
    }

    /// Reads the document that `sealward serve --config` takes.
    ///
    /// - Parameters:
    ///   - json: the document, as `docs/configuration.md` describes it. Its `store` is not opened.
    ///   - environment: variables such as `SEALWARD_LISTEN` that override the document.
    ///   - readFile: reads a file that the document names (tokens, keys, roots); nil if it cannot be read.
    /// - Throws: ``TrustServer/InvalidConfiguration`` with everything that is wrong with the document.
    public init(
        json: [UInt8], environment: [String: String] = [:], readFile: @escaping (String) -> [UInt8]? = { _ in nil }
    ) throws(TrustServer.InvalidConfiguration) {
        let outcome = ConfigurationReader.read(file: json, environment: environment) { path throws(UnreadableFile) in
            guard let bytes = readFile(path) else { throw UnreadableFile(reason: "\(path): cannot be read") }
            return bytes
        }
        switch outcome {
        case .issues(let issues): throw TrustServer.InvalidConfiguration(issues: issues.map(\.description))
        case .configuration(let configuration): self = configuration
        }
    }
}

extension Configuration {
    /// What is allowed and yet most likely not meant, one sentence each, for the log at the start.
    package var warnings: [String] {
        var warnings: [String] = []
        if !listen.isLoopback, trustedProxies.isEmpty, tls == nil {
            warnings.append(
                """
                The service listens beyond loopback without a trusted proxy: tokens travel in cleartext, and behind a proxy all callers would count \
                as one address. Set tls, or put a TLS proxy in front and name it in trustedProxies.
                """
            )
        }
        if let appCheck, !appCheck.debugTokens.isEmpty {
            warnings.append(
                "App Check debug tokens are accepted (\(appCheck.debugTokens.count)): anyone who knows one gets tokens without a device."
            )
        }
        return warnings
    }
}
