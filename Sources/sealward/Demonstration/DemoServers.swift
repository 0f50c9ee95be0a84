// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
package import FoundationEssentials
import PropertyLists
import TLSProbe
import Vocabulary

/// The first half of the demonstration: an app checks its servers.
package struct DemoServers {
    /// What the check said about one server.
    package struct Row {
        package let host: String
        package let flaw: String
        package let result: String
        package let code: String
        /// The keys of the smallest exception, if one is needed and helps.
        package let exception: String?

        package var cells: [String] { [host, flaw, result, code] }

        /// The good server passes, every flawed one fails for a reason.
        package var isAsExpected: Bool { flaw == "none" ? result == "PASS" : result == "FAIL" && !code.isEmpty }
    }

    /// Which servers an exception helps: the keys are too long for a column.
    package static func exceptions(_ rows: [Row]) -> String {
        let helped = rows.compactMap { row in row.exception.map { "\(row.host) loads with \($0)" } }
        return (helped + ["no exception helps the others"]).joined(separator: "; ")
    }

    /// Starts the servers, checks them, stops them.
    package static func check(in folder: String, now: Date) async throws -> [Row] {
        let authority = try DemoAuthority(name: "Demonstration Root", now: now)
        let stranger = try DemoAuthority(name: "Somebody Else's Root", now: now)
        let roots = folder + "/demo-root.pem"
        try Data(authority.rootPEM.utf8).write(to: URL(fileURLWithPath: roots))
        var servers: [FlawedServer] = []
        for recipe in try FlawedServer.catalog(authority, stranger) {
            servers.append(try await FlawedServer.start(recipe))
        }
        defer { for server in servers { Task { await server.stop() } } }

        var configuration = CheckSession.Configuration()
        configuration.installedRoots = [roots]
        configuration.overrides = servers.map {
            AddressOverride(host: $0.recipe.host, port: $0.port, address: "127.0.0.1")
        }
        let session = try CheckSession(configuration)
        let targets = try servers.map { try CheckTarget("https://\($0.recipe.host):\($0.port)/") }
        var reports: [Int: TargetReport] = [:]
        try await session.run(targets, concurrency: targets.count) { reports[$0] = $1 }
        return servers.enumerated().compactMap { index, server in
            guard let report = reports[index], let first = report.results.first else { return nil }
            return Row(
                host: server.recipe.host, flaw: server.recipe.flaw, result: first.result.rawValue,
                code: first.because.first?.code.rawValue ?? "",
                exception: DemoServers.words(report.smallestException, host: server.recipe.host))
        }
    }

    /// The smallest exception in a few words: the keys below the host.
    private static func words(_ exception: SmallestException, host: String) -> String? {
        switch exception {
        case .none, .noneHelps: return nil
        case .dictionary(let value):
            let entry = value.exceptions[host]?.propertyListValue.members ?? [:]
            return entry.sorted { $0.key < $1.key }.map { key, value in
                switch value {
                case .boolean(let flag): "\(key) = \(flag)"
                case .string(let text): "\(key) = \(text)"
                default: key
                }
            }.joined(separator: ", ")
        }
    }
}
