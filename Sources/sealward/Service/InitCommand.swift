// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import ArgumentParser
import Formats
import HTTPService
import TrustService
import Vocabulary

struct InitCommand: ResultCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract:
            "Write a configuration, token files and keys into an empty folder, and print the next three commands.",
        discussion: """
            The service trusts a simulated Apple of its own, whose keys come from the random number in simulator.seed. The three commands start \
            that Apple and the service, and have one simulated device attest a key and send assertions. Nothing is ever overwritten; every file \
            has the mode 0600.

            Example: sealward init trust
            """
    )

    @Argument(help: .value("A folder that is empty, or that does not exist.", "DIR"))
    var folder: String

    @Option(help: .value("The id of the app in the service's paths.", "ID"))
    var app = "shop"

    @Option(
        help: .value("The App ID that devices attest. (default: \(InitCommand.usualApp))", "PREFIX.bundle"),
        transform: PastedArgument.appId)
    var appId: AppIdentity?

    @Option(help: .value("Where the service listens.", "HOST:PORT"))
    var listen = ListenAddress(host: "127.0.0.1", port: 8080)

    @Option(help: .value("Where the simulated Apple listens.", "HOST:PORT"))
    var apple = ListenAddress(host: "127.0.0.1", port: 8900)

    @OptionGroup var form: ResultForm

    private static let usualApp = "SIMTEAM001.com.example.shop"

    func validate() throws {
        // The commands that are printed must name the ports.
        guard listen.port > 0, apple.port > 0 else {
            throw ValidationError("--listen and --apple need a port above 0.")
        }
        guard listen != apple else { throw ValidationError("--listen and --apple must differ.") }
        // The id is part of paths, and many proxies rewrite percent-encoding there.
        guard !app.isEmpty, app != ".", app != "..", app.utf8.allSatisfy(\.isUnreserved) else {
            throw ValidationError(
                "--app: '\(app.terminalSafe)' cannot be part of a path; use letters, digits and - . _ ~, for example shop."
            )
        }
    }

    func result() async throws -> CommandResult {
        let identity = try appId ?? AppIdentity(InitCommand.usualApp)
        guard SimulatedTeam(argument: "\(identity.prefix):\(StarterFiles.keyId)") != nil else {
            throw CommandFault(
                "--app-id: its prefix must be at most 32 letters and digits, for example SIMTEAM001.")
        }
        let random = SystemSources.live.random
        let starter = StarterFiles(
            app: app, identity: identity, listen: listen, apple: apple,
            seed: random(8).reduce(0) { $0 << 8 | UInt64($1) })
        var names: [String] = []
        try FreshFolder.fill(folder) { path in
            let files = try starter.files(in: path, random: random)
            names = files.map(\.name)
            return files
        }
        let commands = commands(for: identity)
        return CommandResult(
            [
                "schema": "sealward.init/1", "folder": .string(folder),
                "files": .array(names.map { .string($0) }), "next": .array(commands.map { .string($0) }),
            ],
            text: "wrote \(names.count) files into \(folder.terminalSafe); the next three commands:\n\n"
                + commands.map { $0 + "\n" }.joined(), fits: false)
    }

    /// They run in one shell as they are, in the folder where this command ran: the first two in the background.
    private func commands(for identity: AppIdentity) -> [String] {
        let program = ShellWord.quoted(CommandLine.arguments.first ?? "sealward")
        // A name that begins with a hyphen would be an option.
        let base = folder.hasPrefix("-") ? "./" + folder : folder
        let path = { (name: String) in ShellWord.quoted(base + (base.hasSuffix("/") ? "" : "/") + name) }
        let team = ShellWord.quoted("\(identity.prefix):\(StarterFiles.keyId)")
        return [
            "\(program) simulate apple --seed-file \(path(StarterFiles.seedFile)) "
                + "--listen \(ShellWord.quoted("\(apple)")) --team \(team) &",
            "\(program) serve --config \(path(StarterFiles.configuration)) &",
            "\(program) simulate fleet --service \(ShellWord.quoted("http://\(listen)")) "
                + "--apple \(ShellWord.quoted("http://\(apple)")) --app \(ShellWord.quoted(app)) "
                + "--app-id \(ShellWord.quoted(identity.applicationId)) --devices 1 --mix honest=1",
        ]
    }
}

/// A word of a command line for the POSIX shell.
enum ShellWord {
    /// The word, in quotes if the shell would read it as something else.
    static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { $0.isASCIIAlphanumeric || "_-./:=,@%+".utf8.contains($0) }
        if isPlain, !word.isEmpty { return word }
        return "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    }
}
