// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import ArgumentParser
import ConnectionAdmission
import Crypto
import Glibc
import Logging
import ServiceLifecycle
import TLSModel
import TrustService
import Vocabulary

struct SimulateAppleCommand: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "apple",
        abstract: "Apple's side of App Attest and DeviceCheck, with virtual phones.",
        discussion: """
            Production calls are at the root of the address, development calls below /development. /device/v1 acts as a phone, \
            /control sets the clock and injects faults and throttling, /roots serves the certificates to trust, /openapi.yaml describes all of it.

            Example: sealward simulate apple --listen 127.0.0.1:8900 --seed 7 --team SIMTEAM001:SIMKEY0001 --key-folder .
            """
    )

    @Option(help: .value("Where to listen; port 0 picks a free port.", "HOST:PORT"))
    var listen = ListenAddress(host: "127.0.0.1", port: 0)

    @OptionGroup var names: HostNames

    @OptionGroup var secure: ListenerOptions

    @Option(
        help: .value(
            "The number that all keys, ids and chosen faults are derived from: anyone who knows it can make trusted devices. (default: a fresh one for each start, which is printed)",
            "N"))
    var seed: UInt64?

    @Option(help: .value("The same number from a file; - is standard input.", "FILE"))
    var seedFile: String?

    @Option(
        help: .value("Register a team's key: the public key in FILE, or one derived from --seed.", "TEAM:KEYID[:FILE]"))
    var team: [SimulatedTeam] = []

    @Option(
        help: .value(
            "Write the seed's private keys there, as AuthKey_KEYID.p8; the folder is made if it is not there.", "FOLDER"
        ))
    var keyFolder: String?

    @Option(help: .value("Write the root of simulated attestations there, as PEM.", "FILE"))
    var attestationRoot: String?

    @Option(help: .value("Write the root of simulated receipts there, as PEM.", "FILE"))
    var receiptRoot: String?

    @Option(help: .value("Seconds after which a refreshed receipt may be refreshed again.", "S"))
    var refreshAfter = 86_400

    @Flag(help: "Refuse the second use of a device token.")
    var singleUseTokens = false

    @OptionGroup var logging: LogOptions

    mutating func validate() throws {
        guard refreshAfter >= 0 else { throw ValidationError("--refresh-after must be 0 or more.") }
        guard seed == nil || seedFile == nil else { throw ValidationError("Give --seed or --seed-file, not both.") }
    }

    func outcome() async throws -> Outcome {
        let identity = try await LiveIdentity(secure)
        let given = try number()
        let seed = given ?? UInt64.random(in: 1...UInt64.max)
        var configuration = AppleSimulatorConfiguration()
        configuration.seed = seed
        configuration.refreshAfter = .seconds(refreshAfter)
        configuration.singleUseDeviceTokens = singleUseTokens
        configuration.teams = try team.map { try $0.registered(seed: seed, keyFolder: keyFolder) }
        let simulator = try AppleSimulator(configuration: configuration)
        if let attestationRoot { try CommandIO.write(simulator.attestationRootPEM, to: attestationRoot) }
        if let receiptRoot { try CommandIO.write(simulator.receiptRootPEM, to: receiptRoot) }
        if given == nil {
            CommandIO.say(
                "seed \(seed), made for this start. For the same roots and keys next time: --seed \(seed), or that number in a file and --seed-file FILE."
            )
        }
        try await serve(simulator, identity)
        return .clean
    }

    /// The seed that was given; nil for none.
    private func number() throws -> UInt64? {
        guard let seedFile else { return seed }
        guard let number = UInt64(try CommandIO.token(seedFile, kind: "seed")) else {
            throw CommandFault("\(CommandIO.name(of: seedFile)): contains no seed: that is a whole number below 2^64.")
        }
        return number
    }

    private func serve(_ simulator: AppleSimulator, _ identity: LiveIdentity?) async throws {
        var logger = Logger(label: "sealward.simulator") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .error
        let host = listen.host
        if !listen.isLoopback {
            CommandIO.say(
                "WARNING: anyone who can reach \(listen) can act as any phone and register teams: the simulator has no authentication."
            )
        }
        let scheme = identity == nil ? "http" : "https"
        var server = AppleSimulatorServer(simulator, host: host, port: listen.port, hosts: names.host, logger: logger) {
            port in
            CommandIO.say("listening on \(scheme)://\(ListenAddress(host: host, port: port))")
        }
        server.identity = identity?.current
        do {
            try await ServiceGroup.run([server] + LiveIdentity.services(identity), log: logger)
        } catch {
            throw CommandFault(
                "\(listen.host):\(listen.port): cannot listen there; choose another address with --listen.")
        }
    }
}

/// A team on the command line: its id, the id of its key, and the file of its public key, if given.
struct SimulatedTeam: ExpressibleByArgument {
    let id: String
    let keyId: String
    let file: String?

    init?(argument: String) {
        let parts = argument.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard parts.count >= 2, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
        let isName = { (text: String) in
            text.utf8.count <= 32 && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        }
        guard isName(parts[0]), isName(parts[1]) else { return nil }
        id = parts[0]
        keyId = parts[1]
        file = parts.count > 2 ? parts[2] : nil
    }

    /// The team with its public key; the private half that the seed gives is written where asked, readable by its owner alone.
    func registered(seed: UInt64, keyFolder: String?) throws -> AppleSimulatorConfiguration.Team {
        if let file {
            let text = String(decoding: try CommandIO.readText(file, limit: 64 << 10), as: UTF8.self)
            guard let key = try? P256.Signing.PublicKey(pemRepresentation: text) else {
                throw CommandFault("\(CommandIO.name(of: file)): contains no P-256 public key in PEM.")
            }
            return .init(id: id, keyId: keyId, key: key)
        }
        let key = AppleSimulatorConfiguration.teamKey(seed: seed, team: id)
        if let keyFolder {
            // What is wrong with the folder, the file says.
            _ = SystemFile.makeFolder(keyFolder)
            let path = "\(keyFolder)/AuthKey_\(keyId).p8"
            try Self.writeKey(Array((key.pemRepresentation + "\n").utf8), path)
        }
        return .init(id: id, keyId: keyId, key: key.publicKey)
    }

    /// Writes a key for its owner alone. What is there stays as it is, because Apple gives the key of a real team only once: the same key of
    /// an earlier start is left, and another key, a link, a pipe or a device is not written to. The beginning of the same key, which a start
    /// left that was killed while it wrote, is no key of anybody and is completed.
    private static func writeKey(_ text: [UInt8], _ path: String) throws(CommandFault) {
        func fault(_ reason: String) -> CommandFault {
            CommandFault(
                "\(path.terminalSafe): cannot be written (\(reason)); choose another folder with --key-folder.")
        }
        let descriptor = SystemFile.open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw fault(SystemFile.message(errno)) }
        defer { close(descriptor) }
        guard SystemFile.isRegular(descriptor) else { throw fault("it is not a regular file") }
        let old = SystemFile.read(descriptor, at: 0, count: text.count + 1)
        guard old.fault == 0 else { throw fault(SystemFile.message(old.fault)) }
        guard text.starts(with: old.bytes) else {
            throw fault("another key is there; the seed that made it was another one")
        }
        guard fchmod(descriptor, 0o600) == 0 else { throw fault(SystemFile.message(errno)) }
        if old.bytes == text { return }
        let number = SystemFile.write(text, to: descriptor)
        guard number == 0 else {
            _ = ftruncate(descriptor, 0)
            throw fault(SystemFile.message(number))
        }
    }
}
