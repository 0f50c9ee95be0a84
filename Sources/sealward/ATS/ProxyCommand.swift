// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import ATSDiagnostics
import AppTransportSecurity
import ArgumentParser
import Formats
import Glibc
import Logging
import NIOCore
import ServiceLifecycle
import TLSModel
import TLSProbe
import Vocabulary

struct ProxyCommand: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "proxy",
        abstract: "A forward proxy that applies an app's policy to any program.",
        discussion: """
            Example:
              sealward ats proxy --info-plist App/Info.plist
              https_proxy=http://127.0.0.1:8843 curl https://www.example.com/

            CONNECT is decided by the policy and by a probe of the same address that the tunnel leads to; its verdict is cached for \
            60 seconds. Nothing is decrypted. Plain HTTP passes only if the dictionary allows it, each request on a connection of \
            its own, so NTLM does not work through it. A request that is refused gets a 403 that says why.

            With --allow-remote clients reach public servers only: private addresses with --allow-private, this machine never.

            Connections are limited by the descriptors (ulimit -n, minus a reserve); one address gets half of them. A connection over \
            the limit is closed at once, and a line once a second says how many. A request has 30 seconds for its header fields and \
            between two pieces of its body, a CONNECT 30 seconds to be decided, a client 60 seconds to read some of a response; a \
            tunnel may idle for 300 seconds and last for a day.

            On Ctrl-C or SIGTERM the proxy stops and prints the hosts it saw and the smallest dictionary that would have let all of \
            them through. Exit status: 0 when it ended in order, 2 when it could not listen, 64 usage.
            """
    )

    @Option(help: .value("The address and port to listen on; port 0 picks a free port.", "HOST:PORT"))
    var listen = "127.0.0.1:8843"

    @OptionGroup var dictionary: DictionaryOptions

    @Flag(help: "Log what would be refused instead of refusing it.")
    var monitor = false

    @OptionGroup var trust: TrustOptions

    @OptionGroup var reach: ReachOptions

    @Flag(help: "Listen on an address that other machines can reach; needs --password-file.")
    var allowRemote = false

    @Flag(
        help:
            "With --allow-remote: let clients reach private addresses too. What listens on loopback here stays closed to them."
    )
    var allowPrivate = false

    @Option(help: .value("A file of proxy users, one user:password per line.", "FILE"))
    var passwordFile: String?

    @OptionGroup var secure: ListenerOptions

    @Option(help: .value("Output format of the summary: text or json.", "FORMAT"))
    var format: TextOrJSON = .text

    @OptionGroup var shared: SharedOptions

    func validate() throws {
        let place = try listenPlace()
        if !place.isLoopback, !allowRemote || passwordFile == nil {
            throw ValidationError(
                "\(place.address) can be reached from other machines: give --allow-remote and --password-file FILE.")
        }
    }

    func outcome() async throws -> Outcome {
        let policy = try dictionary.policy()
        let place = try listenPlace()
        var configuration = ATSProxy.Configuration()
        configuration.listenAddress = place.address
        configuration.port = place.port
        configuration.isMonitoring = monitor
        configuration.allowsPrivate = allowPrivate
        configuration.connectTimeout = reach.connectLimit
        configuration.addressOverrides = try reach.overrides()
        let identity = try await LiveIdentity(secure)
        configuration.identity = identity?.current
        let scheme = identity == nil ? "http" : "https"
        configuration.transparencyLogs = try trust.logs()
        if let passwordFile { configuration.credentials = try ProxyCommand.credentials(passwordFile) }
        let isQuiet = shared.quiet
        let proxy: ATSProxy
        do {
            proxy = try ATSProxy(
                policy: policy,
                trust: try trust.anchors(),
                fetcher: HTTPIntermediateFetcher(group: configuration.eventLoopGroup),
                configuration: configuration,
                onListening: { address, port in
                    CommandIO.say("listening on \(scheme)://\(HostPort.text(host: address, port: port))")
                },
                onTurnedAway: { turnedAway in
                    CommandIO.say(ProxyReport.line(turnedAway))
                },
                onWrongPasswords: { count, address in
                    CommandIO.say("\(count) wrong password\(count == 1 ? "" : "s"), the last from \(address)")
                },
                onEvent: { event in
                    if !isQuiet { CommandIO.say(ProxyReport.line(event)) }
                }
            )
        } catch let misconfiguration as ATSProxy.Misconfiguration {
            throw CommandFault("\(misconfiguration.description).")
        }
        var logger = Logger(label: "sealward.proxy") { _ in SwiftLogNoOpLogHandler() }
        logger.logLevel = .error
        do {
            try await ServiceGroup.run([proxy] + LiveIdentity.services(identity), log: logger)
        } catch {
            let reason = (error as? IOError).map { SystemFile.message($0.errnoCode) } ?? "\(error)"
            throw CommandFault("\(listen): cannot listen there (\(reason)); choose another address with --listen.")
        }
        let summary = await proxy.summary(within: .seconds(20))
        try format.write(ProxyReport.json(summary, policy), text: ProxyReport.text(summary), to: shared)
        return .clean
    }

    private func listenPlace() throws -> (address: String, port: Int, isLoopback: Bool) {
        let wrong = ValidationError("--listen takes an address and a port, for example 127.0.0.1:8843 or [::1]:8843.")
        guard let (host, port) = HostPort.listener(listen) else { throw wrong }
        let address = host == "localhost" ? "127.0.0.1" : String(host)
        guard let parsed = IPAddress(address) else { throw wrong }
        return (address, port, AddressKind(parsed) == .loopback)
    }

    /// One `user:password` a line; empty lines and those that begin with # are skipped.
    private static func credentials(_ path: String) throws -> Set<String> {
        var found: Set<String> = []
        try EntryFile.lines(of: path, limit: 1 << 20) { line, fault in
            if line.isEmpty || line.utf8.first == 0x23 { return }
            let parts = line.utf8.split(separator: 0x3A, maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else { throw fault("is not user:password") }
            found.insert(line)
        }
        if found.isEmpty { throw CommandFault("\(CommandIO.name(of: path)): contains no user:password.") }
        SecretFiles.warn(path, isSecret: true)
        return found
    }
}
