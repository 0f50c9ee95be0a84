// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import AppleServices
import ArgumentParser
import DeviceCheckBits
import Formats
import FoundationEssentials
import Vocabulary

struct DeviceCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devicecheck",
        abstract: "Read and write the two bits of a device.",
        discussion: """
            Keys and device tokens come from files; - is standard input.

            Example: sealward devicecheck query --team-id TEAM123456 --key-id KEY7890123 --key-file AuthKey.p8 \
            --device-token-file token.txt
            """,
        subcommands: [DeviceCheckQuery.self, DeviceCheckUpdate.self, DeviceCheckValidate.self]
    )
}

/// The account that asks Apple, and how Apple is reached.
struct AppleAccountOptions: ParsableArguments {
    @Option(help: .value("The team id.", "ID"))
    var teamId: String

    @Option(help: .value("The id of the key with DeviceCheck enabled.", "ID"))
    var keyId: String

    @Option(help: .value("The key: Apple's .p8 file.", "FILE"))
    var keyFile: String

    @Option(help: .value("A base URL other than Apple's, for a simulator.", "URL"))
    var baseURL: String?

    @OptionGroup var connection: ReachOptions

    func authorization() async throws -> AppleAuthorization {
        let pem = String(decoding: try CommandIO.readText(keyFile, limit: 64 << 10), as: UTF8.self)
        SecretFiles.warn(keyFile)
        do {
            return try await AppleAuthorization(teamId: teamId, keyId: keyId, privateKeyPEM: pem)
        } catch {
            throw CommandFault("\(CommandIO.name(of: keyFile)): \(error.reason).")
        }
    }

    /// The address that was given, or Apple's.
    func endpoint(orApples apples: AppleEndpoint) throws -> AppleEndpoint {
        guard let baseURL else { return apples }
        guard let other = AppleEndpoint(baseURL) else { throw ValidationError.address(baseURL, of: "--base-url") }
        return other
    }

    func transport() throws -> LiveAppleTransport {
        LiveAppleTransport(overrides: try connection.overrides(), connectTimeout: connection.connectLimit)
    }
}

/// What the three subcommands have in common.
struct DeviceCheckOptions: ParsableArguments {
    @OptionGroup var account: AppleAccountOptions

    @Option(help: .value("The device token, base64 as the device gave it, or in another form.", "FILE"))
    var deviceTokenFile: String

    @Option(help: .value("production or development.", "ENVIRONMENT"))
    var environment: AttestationEnvironment = .production

    @Option(help: .value("The id of this transaction; by default a new one.", "ID"))
    var transactionId: String?

    @OptionGroup var form: ResultForm

    var transaction: String { transactionId ?? UUID().uuidString.lowercased() }

    func client() async throws -> DeviceCheckClient {
        if account.baseURL != nil, environment == .development {
            CommandIO.say("sealward: --environment has no effect beside --base-url.")
        }
        let apples = environment == .production ? AppleEndpoint.deviceCheck : .deviceCheckDevelopment
        return DeviceCheckClient(
            transport: try account.transport(), authorization: try await account.authorization(),
            endpoint: try account.endpoint(orApples: apples))
    }

    /// A device token in standard base64, as Apple takes it, of a text in any form that people have.
    func token(_ file: String) throws -> String {
        let text = try CommandIO.readText(file, limit: 64 << 10)
        let line = String(decoding: text, as: UTF8.self).trimmed()
        SecretFiles.warn(file)
        // A key that was named by mistake must not be sent.
        if line.isEmpty || line.contains("-----BEGIN") {
            return try CommandIO.token(line, of: file, kind: "device token")
        }
        return try CommandIO.named(file) { () throws(MalformedInput) in
            // Tokens of APNs have 32 bytes, those of DeviceCheck some thousands.
            guard (try? PastedBytes.fixed(text, sizes: [32])) == nil else {
                throw MalformedInput(
                    code: .malformedBase64,
                    reason:
                        "32 bytes are a token of push notifications (APNs), which DeviceCheck does not know: give what DCDevice.current.generateToken returned"
                )
            }
            // No token consists of such digits only.
            if line.utf8.count >= 64, let digits = line.hexadecimalBytes { return Base64.encode(digits) }
            return Base64.encode(try PastedBytes(reading: text, wanted: .anything).bytes)
        }
    }

    /// Runs one operation: its result, or what Apple held against it, which standard error says too.
    func report(
        _ operation: String, _ body: (DeviceCheckClient) async throws -> (words: String, members: [JSONValue.Member])
    ) async throws -> Outcome {
        let client = try await client()
        let head: [JSONValue.Member] = [
            .init("schema", "sealward.devicecheck/1"), .init("operation", .string(operation)),
        ]
        do {
            let (words, members) = try await body(client)
            try form.format.write(
                .object(head + [.init("result", "done"), .init("error", nil)] + members), text: words + "\n",
                fits: false,
                to: form.shared)
            return .clean
        } catch let fault as DeviceCheckFault {
            if form.format == .json {
                let error: JSONValue = [
                    "code": .string(fault.code.rawValue), "message": .string(fault.reason),
                    "status": .optional(fault.status),
                ]
                try form.format.write(
                    .object(head + [.init("result", "failed"), .init("error", error)]), text: "", to: form.shared)
            }
            CommandIO.say("sealward: \(fault.reason) (\(fault.code)).")
            if let row = CodeCatalog.explanation(of: fault.code.rawValue) { CommandIO.say("sealward: \(row.action).") }
            return fault.code == DeviceCheckFault.tokenInvalid.code ? .findings : .undetermined
        }
    }
}

struct DeviceCheckQuery: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "query",
        abstract: "Read the two bits.",
        discussion: """
            Example, against `sealward simulate apple --listen 127.0.0.1:8900 --team SIMTEAM001:SIMKEY0001 --key-folder .`:
            sealward devicecheck query --team-id SIMTEAM001 --key-id SIMKEY0001 --key-file AuthKey_SIMKEY0001.p8 \
            --device-token-file token.txt --base-url http://127.0.0.1:8900
            """
    )

    @OptionGroup var options: DeviceCheckOptions

    func outcome() async throws -> Outcome {
        try await options.report("query") { client in
            let state = try await client.query(
                deviceToken: try options.token(options.deviceTokenFile), transactionId: options.transaction, at: Date())
            return (state.words, state.members)
        }
    }
}

struct DeviceCheckUpdate: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "update",
        abstract: "Write the two bits.",
        discussion: """
            If only one bit is given, the other is read first and keeps its value.

            Example: sealward devicecheck update --team-id SIMTEAM001 --key-id SIMKEY0001 \
            --key-file AuthKey_SIMKEY0001.p8 --device-token-file token.txt --base-url http://127.0.0.1:8900 --bit0 true --bit1 false
            """
    )

    @OptionGroup var options: DeviceCheckOptions

    @Option(help: .value("true or false.", "BOOL"))
    var bit0: Bool?

    @Option(help: .value("true or false.", "BOOL"))
    var bit1: Bool?

    @Option(
        help: .value(
            "A second token, for the read of the other bit: Apple asks for a fresh token for each request, but has accepted the same one twice.",
            "FILE"))
    var readTokenFile: String?

    mutating func validate() throws {
        guard bit0 != nil || bit1 != nil else { throw ValidationError("Give --bit0, --bit1 or both.") }
    }

    func outcome() async throws -> Outcome {
        let (bit0, bit1) = (bit0, bit1)
        return try await options.report("update") { client in
            let token = try options.token(options.deviceTokenFile)
            let transaction = options.transaction
            if let bit0, let bit1 {
                let bits = BitPair(bit0: bit0, bit1: bit1)
                try await client.update(bits, deviceToken: token, transactionId: transaction, at: Date())
                return (bits.words, [.init("bits", bits.json)])
            }
            let readToken = try readTokenFile.map(options.token) ?? token
            let result = try await client.readModifyWrite(
                readToken: readToken, writeToken: token, transactionId: transaction, at: Date()
            ) { state throws(DeviceCheckFault) in
                BitPair(bit0: bit0 ?? state.bits.bit0, bit1: bit1 ?? state.bits.bit1)
            }
            let bits = result.written ?? result.before.bits
            return (bits.words, [.init("bits", bits.json)])
        }
    }
}

struct DeviceCheckValidate: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Ask whether a device token is genuine.",
        discussion: """
            Example: sealward devicecheck validate --team-id SIMTEAM001 --key-id SIMKEY0001 \
            --key-file AuthKey_SIMKEY0001.p8 --device-token-file token.txt --base-url http://127.0.0.1:8900
            """
    )

    @OptionGroup var options: DeviceCheckOptions

    func outcome() async throws -> Outcome {
        try await options.report("validate") { client in
            try await client.validate(
                deviceToken: try options.token(options.deviceTokenFile), transactionId: options.transaction, at: Date())
            return ("the device token is genuine", [])
        }
    }
}

extension BitPair {
    fileprivate var words: String { "bit0 \(bit0)\nbit1 \(bit1)" }
    fileprivate var json: JSONValue { .object([.init("bit0", .bool(bit0)), .init("bit1", .bool(bit1))]) }
}

extension DeviceBitState {
    fileprivate var words: String {
        switch self {
        case .neverSet: "never set"
        case .set(let bits, lastUpdate: let month): "\(bits.words)\nlast update \(month)"
        }
    }

    fileprivate var members: [JSONValue.Member] {
        [
            .init("set", .bool(isSet)), .init("bits", bits.json),
            .init("lastUpdate", .optional(lastUpdate?.description)),
        ]
    }
}
