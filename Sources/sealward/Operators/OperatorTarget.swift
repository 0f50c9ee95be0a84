// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import AppleServices
import ArgumentParser
import ConnectionAdmission
import Formats
import FoundationEssentials
import HTTPService
import HTTPTypes
import TrustService
import TrustStores
import Vocabulary

/// Where an operator's verb is carried out: at a running service, or in a store.
struct OperatorTarget: ParsableArguments {
    @Option(help: .value("The service, for example https://trust.example.com; needs --token-file.", "URL"))
    var url: String?

    @Option(help: .value("The operator's token for --url; - is standard input.", "FILE"))
    var tokenFile: String?

    @Option(help: .value("The store instead of a service: sqlite:PATH or a PostgreSQL URL.", "STORE"))
    var store: String?

    @Option(help: .value("Why, for the audit: one line of up to \(AuditReason.limit) bytes.", "TEXT"))
    var reason: String?

    @OptionGroup var connection: ReachOptions

    @OptionGroup var secure: ServiceTLSOptions

    func validate() throws {
        guard (url == nil) != (store == nil) else {
            throw ValidationError("Give --url with --token-file, or --store.")
        }
        if url == nil, tokenFile != nil { throw OperatorTarget.separated }
        guard url != nil || secure.isEmpty else {
            throw ValidationError("--ca-file, --client-certificate and --client-key are for --url.")
        }
        if let reason, !AuditReason.isReason(reason) {
            throw ValidationError(
                "--reason must be one line of 1 to \(AuditReason.limit) bytes without control characters.")
        }
        if let url, AppleEndpoint(url) == nil { throw ValidationError.address(url, of: "--url") }
    }

    private static let separated = ValidationError("--url and --token-file must be given together.")

    /// Every verb needs a token, but for the question whether the service is ready.
    func validateToken() throws {
        if url != nil, tokenFile == nil { throw OperatorTarget.separated }
    }

    /// - Parameter most: the most entries of one page, as the service has it.
    func validate(limit: Int, upTo most: Int) throws {
        try validateToken()
        guard 1...most ~= limit else { throw ValidationError("--limit must be from 1 to \(most).") }
    }

    /// A key is named by its 32 bytes.
    func validate(key: String?) throws {
        try validateToken()
        guard let key else { return }
        guard OperatorTarget.key(key) != nil else {
            throw ValidationError(
                "'\(key.terminalSafe)' is no key: give the base64 of its 32 bytes, as 'keys list' prints it.")
        }
    }

    /// Does an operation over HTTP or on the store.
    ///
    /// - Parameter ask: the same of the operators' service on the store.
    func document(
        _ method: String, _ path: String, query: [(String, String)] = [], body: JSONValue? = nil,
        inStore ask: (OperatorSession) async throws -> JSONValue
    ) async throws -> JSONValue {
        if url == nil { return try await inStore(ask) }
        let bytes = try await overHTTP(method, path, query: query, body: body)
        return try bytes.isEmpty ? .object([]) : OperatorTarget.read(bytes)
    }

    static func read(_ bytes: [UInt8]) throws(CommandFault) -> JSONValue {
        guard let document = try? JSONReader.read(bytes) else { throw CommandFault("The answer is not JSON.") }
        return document
    }

    /// Asks the operators' service on the store, which has the reason for its audit.
    func inStore<Value: Sendable>(_ ask: (OperatorSession) async throws -> Value) async throws -> Value {
        let result = try await withStore { opened -> Result<Value, Problem> in
            let session = try await OperatorSession(opened, reason: reason)
            do { return .success(try await ask(session)) } catch { return .failure(Problem(error)) }
        }
        switch result {
        case .success(let value): return value
        case .failure(let problem): throw refusal(problem.status, problem.title, problem.code.description)
        }
    }

    /// Asks one route of the service.
    ///
    /// - Parameter access: that of a command that asks often; nil if its files are read for this call.
    func overHTTP(
        _ method: String, _ path: String, query: [(String, String)] = [], body: JSONValue? = nil, access: Access? = nil
    ) async throws -> [UInt8] {
        guard let url else { throw CommandFault("--url: is missing.") }
        guard let endpoint = AppleEndpoint(url) else { throw ValidationError.address(url, of: "--url") }
        let access = try access ?? self.access()
        let query = query.map { "\($0.0)=\(OperatorTarget.encoded($0.1))" }.joined(separator: "&")
        let body = body?.encoded(pretty: false) ?? []
        var fields: HTTPFields = [.accept: "application/json"]
        fields[.authorization] = access.token.map { "Bearer \($0)" }
        if !body.isEmpty { fields[.contentType] = "application/json" }
        if let name = HTTPField.Name("X-Audit-Reason") { fields[name] = reason }
        guard let method = HTTPRequest.Method(method) else { throw CommandFault("\(method): is no method.") }
        let reply: HTTPTransport.Reply
        do {
            reply = try await connection.transport(to: [url], identity: access.identity).closing { transport in
                try await transport.send(
                    method, endpoint.url(path + (query.isEmpty ? "" : "?" + query)), fields, body: body)
            }
        } catch {
            throw CommandFault("\(url.terminalSafe): no answer (\("\(error)".terminalSafe(limit: 200))).")
        }
        if (200...299).contains(reply.status) { return reply.body }
        let document = try? JSONReader.read(reply.body)
        throw refusal(
            reply.status, document?.member("title")?.text ?? "The service refused.",
            document?.member("code")?.text ?? "status \(reply.status)")
    }

    /// How a command ends whose operation was refused, which is said here; as wrong usage if the service cannot read what an option says.
    private func refusal(_ status: Int, _ title: String, _ code: String) -> any Error {
        let sentence = "\(title.terminalSafe) (\(code.terminalSafe))"
        guard status < 500 else { return CommandFault(sentence) }
        CommandIO.say("sealward: \(sentence)")
        return status == 400 ? .validationFailure : ExitCode(Outcome.findings.rawValue)
    }

    /// What the service at --url asks for: the operator's token, and the TLS of its connections.
    typealias Access = (token: String?, identity: ClientIdentity)

    /// Reads the files for --url. Standard input can be read once, and a file may be gone later.
    func access() throws -> Access {
        (try tokenFile.map { try CommandIO.token($0, kind: "operator's token") }, try secure.identity())
    }

    /// Opens the store, which must be there already, and closes it.
    func withStore<Result: Sendable>(_ body: (any TrustStore) async throws -> Result) async throws -> Result {
        guard let store else { throw CommandFault("--store: is missing.") }
        guard let location = StoreLocation(store) else {
            throw CommandFault("--store: must be sqlite:PATH or postgres://USER@HOST/DATABASE.")
        }
        if case .sqlite(let path) = location, !FileManager.default.fileExists(atPath: path) {
            throw CommandFault("\(path.terminalSafe): there is no such store.")
        }
        let opened: any TrustStore
        do {
            opened = try await StoreOpening.openAtOnce(location)
        } catch let fault as StoreFault {
            throw CommandFault("the store: \(fault.reason).")
        }
        let result: Swift.Result<Result, any Error>
        do { result = .success(try await body(opened)) } catch { result = .failure(error) }
        await opened.close()
        do {
            return try result.get()
        } catch let fault as StoreFault {
            throw CommandFault("the store: \(fault.reason).")
        }
    }

    /// Text as a value of a query or a segment of a path: all but RFC 3986's unreserved characters are encoded.
    static func encoded(_ text: String) -> String { text.utf8.percentEncoded() }

    /// The id of a key: standard base64 or base64url, with padding or without.
    static func key(_ text: String) -> KeyIdentifier? {
        (Base64.decode(text) ?? Base64.decodeURL(text)).flatMap(KeyIdentifier.init(bytes:))
    }
}

extension ValidationError {
    /// An option whose address is none that credentials are sent to.
    static func address(_ text: String, of option: String) -> ValidationError {
        ValidationError("\(option): '\(text.terminalSafe)' must be https, or http on this machine's loopback address.")
    }
}
