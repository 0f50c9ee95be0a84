// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import ConnectionAdmission

/// TLS to a service of a private authority, or to one that asks its clients for certificates.
struct ServiceTLSOptions: ParsableArguments {
    @Option(
        help: .value("With --url: trust these roots beside the system's; - is standard input. May be repeated.", "PEM"))
    var caFile: [String] = []

    @Option(
        help: .value(
            "With --url: show this certificate, and those between it and its root, in PEM; needs --client-key.", "FILE")
    )
    var clientCertificate: String?

    @Option(help: .value("The private key of --client-certificate in PEM, without a password.", "FILE"))
    var clientKey: String?

    /// Whether nothing is given.
    var isEmpty: Bool { caFile.isEmpty && clientCertificate == nil && clientKey == nil }

    func validate() throws {
        guard (clientCertificate == nil) == (clientKey == nil) else {
            throw ValidationError("Give --client-certificate and --client-key together.")
        }
    }

    func identity() throws(CommandFault) -> ClientIdentity {
        var roots: [String] = []
        for path in caFile {
            let text = try ServiceTLSOptions.text(path)
            _ = try ServiceTLSOptions.identity([text], nil) { _ in path }
            roots.append(text)
        }
        guard let clientCertificate, let clientKey else {
            return try ServiceTLSOptions.identity(roots, nil) { _ in "--ca-file" }
        }
        let pair = (
            try ServiceTLSOptions.text(clientCertificate), try ServiceTLSOptions.text(clientKey, isSecret: true)
        )
        return try ServiceTLSOptions.identity(roots, pair) { $0 == .key ? clientKey : clientCertificate }
    }

    private static func identity(
        _ roots: [String], _ pair: (String, String)?, _ path: (ListenerIdentity.Fault.File) -> String
    ) throws(CommandFault) -> ClientIdentity {
        do throws(ListenerIdentity.Fault) {
            return try ClientIdentity(roots: roots, pair: pair)
        } catch {
            throw CommandFault("\(CommandIO.name(of: path(error.file))): \(error.reason).")
        }
    }

    private static func text(_ path: String, isSecret: Bool = false) throws(CommandFault) -> String {
        let text = String(decoding: try CommandIO.readText(path, limit: 1 << 20), as: UTF8.self)
        SecretFiles.warn(path, isSecret: isSecret)
        return text
    }
}
