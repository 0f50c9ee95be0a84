// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import ConnectionAdmission
import HTTPService
import Vocabulary

/// TLS of a command that listens.
struct ListenerOptions: ParsableArguments {
    @Option(
        help: .value(
            "Serve TLS with this certificate, and those between it and its root, in PEM; needs --tls-key.", "FILE"))
    var tlsCertificate: String?

    @Option(
        help: .value(
            "The private key of --tls-certificate in PEM, without a password; a file that others may read is refused.",
            "FILE"))
    var tlsKey: String?

    @Option(
        help: .value(
            "With --tls-certificate: refuse clients without a certificate of one of these roots (PEM).", "FILE"))
    var tlsClientRoots: String?

    func validate() throws {
        guard (tlsCertificate == nil) == (tlsKey == nil) else {
            throw ValidationError("Give --tls-certificate and --tls-key together.")
        }
        guard tlsClientRoots == nil || tlsCertificate != nil else {
            throw ValidationError("--tls-client-roots needs --tls-certificate and --tls-key.")
        }
    }

    /// What the files make; nil without them.
    func identity() throws(CommandFault) -> ListenerIdentity? {
        guard let tlsCertificate, let tlsKey else { return nil }
        let certificate = try ListenerOptions.text(tlsCertificate)
        let key = try ListenerOptions.text(tlsKey)
        if FileRights.othersMayRead(tlsKey) {
            throw CommandFault("\(CommandIO.name(of: tlsKey)): others may read it; give it the mode 0600.")
        }
        let roots = try tlsClientRoots.map(ListenerOptions.text)
        do throws(ListenerIdentity.Fault) {
            return try ListenerIdentity(certificate: certificate, key: key, clientRoots: roots)
        } catch {
            let file =
                switch error.file {
                case .certificate: tlsCertificate
                case .key: tlsKey
                case .clientRoots: tlsClientRoots ?? ""
                }
            throw CommandFault("\(CommandIO.name(of: file)): \(error.reason).")
        }
    }

    private static func text(_ path: String) throws(CommandFault) -> String {
        let text = String(decoding: try CommandIO.readText(path, limit: 1 << 20), as: UTF8.self)
        if let writers = FileRights.writers(of: path) {
            throw CommandFault("\(CommandIO.name(of: path)): \(writers).")
        }
        return text
    }
}

/// The names that a server of a command answers to.
struct HostNames: ParsableArguments {
    @Option(
        help: .value(
            "A name under which it is reached, besides localhost, addresses and the name in --listen; another Host gets 421. May be repeated.",
            "NAME"))
    var host: [String] = []

    func validate() throws {
        for name in host where BrowserGate.name(name) == nil {
            throw ValidationError("--host: \(name.terminalSafe) is not a host name without a port.")
        }
    }
}
