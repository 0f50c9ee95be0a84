// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Certificates for a listener on loopback, and for its clients, as files that their owner alone reads.
public struct ListenerFiles: Sendable {
    public let certification: TestCertification
    public let root: TestCertification.Identity
    public let server: TestCertification.Identity

    private static let server = [
        "basicConstraints=CA:FALSE", "extendedKeyUsage=serverAuth",
        "subjectAltName=DNS:localhost,DNS:service.example.test,IP:127.0.0.1",
    ]

    public init(key: TestCertification.Key = .curve("prime256v1")) throws {
        certification = try TestCertification()
        root = try certification.root()
        server = try certification.issue(
            "server", subject: "/CN=localhost", key: key, issuer: root, extensions: ListenerFiles.server)
        try ListenerFiles.protect(server.keyPath)
    }

    /// Another certificate of the same root.
    public func another(_ file: String, days: Int = 90) throws -> TestCertification.Identity {
        let identity = try certification.issue(
            file, subject: "/CN=\(file)", issuer: root, extensions: ListenerFiles.server, days: days)
        try ListenerFiles.protect(identity.keyPath)
        return identity
    }

    /// A client's certificate.
    public func client(_ file: String, issuer: TestCertification.Identity) throws -> TestCertification.Identity {
        try certification.issue(
            file, subject: "/CN=\(file)", issuer: issuer,
            extensions: ["basicConstraints=CA:FALSE", "extendedKeyUsage=clientAuth"])
    }

    public static func protect(_ path: String, mode: Int = 0o600) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    /// Runs curl, which trusts the root alone.
    public func curl(_ arguments: [String]) throws -> ProgramRun {
        try ProgramRun(
            URL(fileURLWithPath: "/usr/bin/env"),
            ["curl", "-sS", "-m", "20", "--noproxy", "", "--cacert", root.certificatePath] + arguments)
    }
}
