// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import AppleServices
import Crypto
import DeviceCheckBits
import Findings
import Foundation
import TLSFacts

/// Turns a JSON document and the environment into a ``Configuration``, or into everything that is wrong with them.
package struct ConfigurationReader {
    let issues = ConfigurationIssues()
    private let environment: [String: String]
    private let readFile: (String) throws(UnreadableFile) -> [UInt8]

    package enum Outcome {
        case configuration(Configuration)
        case issues([ConfigurationIssue])
    }

    /// Reads a configuration.
    ///
    /// - Parameters:
    ///   - file: the bytes of the configuration file, or nil where none was named.
    ///   - environment: the variables of the process.
    ///   - readFile: reads a file that the configuration names.
    package static func read(
        file: [UInt8]?,
        environment: [String: String],
        readFile: @escaping (String) throws(UnreadableFile) -> [UInt8]
    ) -> Outcome {
        let reader = ConfigurationReader(environment: environment, readFile: readFile)
        var document = JSONValue.object([])
        if let file {
            do throws(MalformedInput) {
                document = try JSONReader.read(file)
            } catch {
                let reason = "\(error.description); a configuration \(ConfigurationCursor.shape)"
                return .issues([ConfigurationIssue(path: "", reason: reason)])
            }
        }
        for name in ConfigurationOverrides.unknown(in: environment) {
            reader.issues.add(
                name,
                "is not a known variable; a setting's is SEALWARD_ and its path, as SEALWARD_LISTEN"
            )
        }
        let configuration = reader.configuration(ConfigurationOverrides.apply(environment, to: document))
        if reader.issues.all.isEmpty { return .configuration(configuration) }
        return .issues(
            reader.issues.all.map { issue in
                var issue = issue
                issue.variable = ConfigurationOverrides.variable(setting: issue.path, in: environment)
                return issue
            }
        )
    }

    private init(
        environment: [String: String],
        readFile: @escaping (String) throws(UnreadableFile) -> [UInt8]
    ) {
        self.environment = environment
        self.readFile = readFile
    }

    private func configuration(_ document: JSONValue) -> Configuration {
        let root = ConfigurationCursor(document, path: "", issues: issues)
        root.finish(known: [
            "listen", "internalListen", "trustedProxies", "store", "serverTokenFile", "adminTokenFile",
            "tokensFile", "trustSimulator",
            "apps", "challenges", "tokens", "limits", "apple", "receipts", "deviceCheck",
        ])
        var result = Configuration()
        if let listen = address(root, "listen") { result.listen = listen }
        result.internalListen = address(root, "internalListen")
        result.trustedProxies = (root.strings("trustedProxies") ?? []).enumerated().compactMap { index, text in
            let range = IPAddress(text).map { AddressRange($0.unmapped) } ?? AddressRange(text)
            if range == nil { issues.add("trustedProxies[\(index)]", "must be an address or a CIDR block") }
            return range
        }
        if let store = root.string("store") { result.store = self.store(store) ?? result.store }
        result.serverTokens = tokens(root, "serverTokenFile", variable: ConfigurationOverrides.serverToken)
        result.adminTokens = tokens(root, "adminTokenFile", variable: ConfigurationOverrides.adminToken)
        result.namedCredentials = namedCredentials(root)
        result.trustSimulator = root.object("trustSimulator").flatMap(simulator)
        result.apps = (root.objects("apps") ?? []).compactMap(app)
        for (index, app) in result.apps.enumerated() where result.apps[..<index].contains(where: { $0.id == app.id }) {
            issues.add("apps[\(index)].id", "is used by another app")
        }
        challengesAndLimits(root, into: &result)
        if let object = root.object("tokens") { result.tokens = tokenSettings(object) }
        if let object = root.object("apple") { appleSettings(object, into: &result) }
        if let object = root.object("receipts") { result.receipts = receiptSettings(object) }
        if let object = root.object("deviceCheck") {
            object.finish(known: ["bits"])
            result.bits = bits(object.objects("bits") ?? [])
        }
        return result
    }

    private func challengesAndLimits(_ root: ConfigurationCursor, into result: inout Configuration) {
        if let object = root.object("challenges") {
            object.finish(known: ["ttlSeconds"])
            if let seconds = object.integer("ttlSeconds", 1...86400) { result.challenges.ttl = .seconds(seconds) }
        }
        if let object = root.object("limits") {
            object.finish(known: [
                "requestsPerSecondPerAddress", "requestsPerSecondPerApp", "bodyBytes", "connections",
                "connectionsPerAddress",
            ])
            let rates = 1...1_000_000_000
            if let rate = object.integer("requestsPerSecondPerAddress", rates) {
                result.limits.requestsPerSecondPerAddress = rate
            }
            result.limits.requestsPerSecondPerApp = object.integer("requestsPerSecondPerApp", rates)
            if let bytes = object.integer("bodyBytes", 256...65536) { result.limits.bodyBytes = bytes }
            result.limits.connections = object.integer("connections", 8...1_000_000)
            result.limits.connectionsPerAddress = object.integer("connectionsPerAddress", 1...1_000_000)
        }
    }

    private func address(_ cursor: ConfigurationCursor, _ name: String) -> ListenAddress? {
        guard let text = cursor.string(name) else { return nil }
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]), 0...65535 ~= port
        else {
            issues.add(cursor.child(name), "must be HOST:PORT, for example 127.0.0.1:8080")
            return nil
        }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        if host.isEmpty || host == "*" { host = "0.0.0.0" }
        return ListenAddress(host: host, port: port)
    }

    private func store(_ text: String) -> StoreLocation? {
        if let location = StoreLocation(text) { return location }
        issues.add("store", "must be sqlite:PATH or postgres://USER@HOST/DATABASE")
        return nil
    }

    func file(_ cursor: ConfigurationCursor, _ name: String, required: Bool = false) -> (
        path: String, text: String
    )? {
        guard let path = required ? cursor.required(name) : cursor.string(name) else { return nil }
        return read(path, at: cursor.child(name)).map { (path, $0) }
    }

    private func read(_ path: String, at key: String) -> String? {
        do throws(UnreadableFile) {
            if let text = String(validating: try readFile(path), as: UTF8.self) { return text }
            issues.add(key, "\(path): is no text in UTF-8")
        } catch {
            issues.add(key, error.reason)
        }
        return nil
    }

    private func tokens(_ cursor: ConfigurationCursor, _ name: String, variable: String) -> CredentialSource? {
        if let token = environment[variable], !token.isEmpty {
            guard token.utf8.count >= CredentialSource.minimumLength else {
                issues.add(
                    variable,
                    "is shorter than \(CredentialSource.minimumLength) characters; \(CredentialSource.advice)"
                )
                return nil
            }
            return CredentialSource(tokens: [token])
        }
        guard let (path, text) = file(cursor, name) else { return nil }
        let tokens = text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
        if tokens.isEmpty { issues.add(cursor.child(name), "\(path): holds no token; write one on each line") }
        // A header carries nothing else; and lines of a key or a certificate, which others know, must never become tokens.
        if let wrong = tokens.firstIndex(where: { !$0.utf8.allSatisfy { 0x21...0x7E ~= $0 } || $0.hasPrefix("-----") })
        {
            let reason = "\(path): its token \(wrong + 1) has spaces or other characters that no bearer token has"
            issues.add(cursor.child(name), reason)
            return nil
        }
        if let short = tokens.firstIndex(where: { $0.utf8.count < CredentialSource.minimumLength }) {
            let reason = "\(path): its token \(short + 1) is shorter than \(CredentialSource.minimumLength) characters"
            issues.add(cursor.child(name), "\(reason); \(CredentialSource.advice)")
            return nil
        }
        return tokens.isEmpty ? nil : CredentialSource(tokens: tokens)
    }

    private func simulator(_ cursor: ConfigurationCursor) -> SimulatorTrust? {
        cursor.finish(known: ["attestationRoot", "receiptRoot"])
        let roots = ["attestationRoot", "receiptRoot"].map { name -> String? in
            guard let (path, text) = file(cursor, name, required: true) else { return nil }
            let isRoot =
                name == "attestationRoot"
                ? (try? AttestationRoots(pem: text)) != nil : (try? ReceiptRoots(pem: text)) != nil
            guard isRoot else {
                issues.add(
                    cursor.child(name),
                    "\(path): holds no root certificate in PEM; simulated Apple gives one at /roots"
                )
                return nil
            }
            return text
        }
        guard let attestation = roots.first ?? nil, let receipt = roots.last ?? nil else { return nil }
        return SimulatorTrust(attestationRootPEM: attestation, receiptRootPEM: receipt)
    }

    private func app(_ cursor: ConfigurationCursor) -> Configuration.App? {
        cursor.finish(known: [
            "id", "teamId", "appIdPrefix", "bundleIds", "environments", "binding", "counterMode", "mode",
            "allowedValidationCategories", "allowedBundleVersions", "requireExtensions", "ramp",
        ])
        let id = cursor.required("id")
        let team = cursor.required("teamId")
        if cursor.value("bundleIds") == nil { issues.add(cursor.child("bundleIds"), "is missing") }
        let bundles = cursor.strings("bundleIds") ?? []
        if bundles.isEmpty, cursor.value("bundleIds") != nil {
            issues.add(cursor.child("bundleIds"), "must name at least one bundle identifier")
        }
        let environments = cursor.strings("environments")?.enumerated().compactMap { index, text in
            let known = Configuration.Environment(rawValue: text)
            if known == nil {
                issues.add("\(cursor.child("environments"))[\(index)]", "must be production or development")
            }
            return known
        }
        if environments?.isEmpty == true { issues.add(cursor.child("environments"), "must not be empty") }
        guard let id, let team else { return nil }
        let prefix = cursor.string("appIdPrefix") ?? team
        for (index, bundle) in bundles.enumerated() where (try? AppIdentity(prefix: prefix, bundleId: bundle)) == nil {
            issues.add("\(cursor.child("bundleIds"))[\(index)]", "makes no app id together with the prefix")
        }
        var app = Configuration.App(id: id, teamId: team, appIdPrefix: prefix, bundleIds: bundles)
        if let environments { app.environments = environments }
        if let binding = cursor.choice("binding", Configuration.Binding.self) { app.binding = binding }
        if let mode = cursor.choice("counterMode", Configuration.CounterMode.self) { app.counterMode = mode }
        if let mode = cursor.choice("mode", Configuration.Mode.self) { app.mode = mode }
        app.allowedValidationCategories = cursor.integers("allowedValidationCategories", 0...Int(UInt32.max))
        app.allowedBundleVersions = cursor.strings("allowedBundleVersions")
        if let flag = cursor.flag("requireExtensions") { app.requireExtensions = flag }
        app.ramp = cursor.object("ramp").map(ramp)
        return app
    }

    private func ramp(_ cursor: ConfigurationCursor) -> Configuration.Ramp {
        cursor.finish(known: ["dailyActiveUsers", "start", "maxPerSecond", "percent", "paused"])
        var ramp = Configuration.Ramp()
        ramp.dailyActiveUsers = cursor.integer("dailyActiveUsers", 1...100_000_000_000)
        ramp.maxPerSecond = cursor.number("maxPerSecond", 0.001...1000)
        ramp.percent = cursor.number("percent", 0...100)
        ramp.paused = cursor.flag("paused") ?? false
        if let text = cursor.string("start") {
            ramp.start = Timestamps.date(text)
            if ramp.start == nil { issues.add(cursor.child("start"), "must be an RFC 3339 instant or a date") }
        }
        if cursor.value("percent") != nil, cursor.value("dailyActiveUsers") != nil {
            issues.add(cursor.child("percent"), "cannot stand beside dailyActiveUsers")
        }
        return ramp
    }

    private func tokenSettings(_ cursor: ConfigurationCursor) -> Configuration.Tokens {
        cursor.finish(known: ["issuer", "audience", "keyFiles", "signWith", "ttlSeconds"])
        var tokens = Configuration.Tokens()
        if let issuer = cursor.string("issuer") { tokens.issuer = issuer }
        if let audience = cursor.string("audience") { tokens.audience = audience }
        if let seconds = cursor.integer("ttlSeconds", 1...86400) { tokens.ttl = .seconds(seconds) }
        let signer = cursor.string("signWith")
        var found = signer == nil
        for (index, path) in (cursor.strings("keyFiles") ?? []).enumerated() {
            let key = "\(cursor.child("keyFiles"))[\(index)]"
            let pem = read(path, at: key).flatMap { privateKey($0, of: path, at: key) }
            let signs = signer.map { $0 == path || $0 == pem.flatMap(TokenKeySet.identifier(ofPEM:)) } ?? false
            if signs { found = true }
            if let pem { tokens.keyPEMs.insert(pem, at: signs ? 0 : tokens.keyPEMs.count) }
        }
        if !found { issues.add(cursor.child("signWith"), "must be one of keyFiles, by its path or its kid") }
        return tokens
    }

    /// The PEM block of the P-256 private key in a file, which may hold other blocks (`EC PARAMETERS`) as well.
    private func privateKey(_ text: String, of path: String, at key: String) -> String? {
        for label in ["PRIVATE KEY", "EC PRIVATE KEY"] {
            let begin = "-----BEGIN \(label)-----"
            let end = "-----END \(label)-----"
            guard let first = text.range(of: begin),
                let last = text.range(of: end, range: first.upperBound..<text.endIndex)
            else { continue }
            let pem = String(text[first.lowerBound..<last.upperBound])
            if (try? P256.Signing.PrivateKey(pemRepresentation: pem)) != nil { return pem }
        }
        issues.add(key, "\(path): holds no P-256 private key in PEM")
        return nil
    }

    private func appleSettings(_ cursor: ConfigurationCursor, into result: inout Configuration) {
        cursor.finish(known: [
            "teamId", "keyId", "keyFile", "dataBaseURL", "dataDevelopmentBaseURL", "deviceCheckBaseURL",
            "deviceCheckDevelopmentBaseURL",
        ])
        func url(_ name: String, _ keyPath: WritableKeyPath<Configuration.AppleHosts, String>) {
            guard let text = cursor.string(name) else { return }
            guard let endpoint = AppleEndpoint(text) else {
                return issues.add(cursor.child(name), "must be an https URL, or an http URL of this machine")
            }
            result.appleHosts[keyPath: keyPath] = endpoint.baseURL
        }
        url("dataBaseURL", \.data)
        url("dataDevelopmentBaseURL", \.dataDevelopment)
        url("deviceCheckBaseURL", \.deviceCheck)
        url("deviceCheckDevelopmentBaseURL", \.deviceCheckDevelopment)
        guard ["teamId", "keyId", "keyFile"].contains(where: { cursor.value($0) != nil }) else { return }
        let team = cursor.required("teamId")
        let keyId = cursor.required("keyId")
        let file = file(cursor, "keyFile", required: true)
        let key = file.flatMap { privateKey($0.text, of: $0.path, at: cursor.child("keyFile")) }
        if let team, let keyId, let key {
            result.apple = Configuration.AppleAccount(teamId: team, keyId: keyId, keyPEM: key)
        }
    }

    private enum Switch: String, CaseIterable { case on, off }

    private func receiptSettings(_ cursor: ConfigurationCursor) -> Configuration.Receipts {
        cursor.finish(known: ["refresh", "refreshAfterSeconds", "pollSeconds"])
        var receipts = Configuration.Receipts()
        receipts.refresh = cursor.choice("refresh", Switch.self) != .off
        if let seconds = cursor.integer("refreshAfterSeconds", 1...31_536_000) {
            receipts.refreshAfter = .seconds(seconds)
        }
        if let seconds = cursor.integer("pollSeconds", 1...86400) { receipts.poll = .seconds(seconds) }
        return receipts
    }

    private func bits(_ cursors: [ConfigurationCursor]) -> [Configuration.Bit] {
        var bits: [Configuration.Bit] = []
        for cursor in cursors {
            cursor.finish(known: ["bit", "name", "resetAfterMonths"])
            if cursor.value("bit") == nil { issues.add(cursor.child("bit"), "is missing") }
            let number = cursor.integer("bit", 0...1)
            let name = cursor.required("name")
            let months = cursor.integer("resetAfterMonths", 1...1200)
            guard let number, let name else { continue }
            if bits.contains(where: { $0.bit == number }) { issues.add(cursor.child("bit"), "is defined twice") }
            if bits.contains(where: { $0.name == name }) { issues.add(cursor.child("name"), "is used twice") }
            let meaning = BitMeaning(bit: number == 0 ? .zero : .one, name: name)
            do throws(BitRegistryFault) {
                _ = try BitRegistry([meaning])
            } catch {
                issues.add(cursor.child(error.member), error.reason)
            }
            bits.append(Configuration.Bit(bit: number, name: name, resetAfterMonths: months))
        }
        return bits
    }
}
