// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
public import Foundation

/// The `openssl` program, as a maker of certificates and as an oracle.
public enum OpenSSLProgram {
    public struct Failure: Error, CustomStringConvertible {
        public let description: String

        public init(description: String) { self.description = description }
    }

    /// Runs the program to its end.
    ///
    /// - Parameter input: goes to standard input.
    /// - Returns: standard output followed by standard error, whatever the exit status unless `checked`.
    @discardableResult
    public static func run(_ arguments: [String], input: String = "", checked: Bool = true) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        let stdin = Pipe()
        let output = Pipe()
        process.standardInput = stdin
        process.standardOutput = output
        process.standardError = output
        try process.run()
        stdin.fileHandleForWriting.write(Data(input.utf8))
        try? stdin.fileHandleForWriting.close()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        if checked, process.terminationStatus != 0 {
            throw Failure(description: "openssl \(arguments.joined(separator: " ")): \(text)")
        }
        return text
    }
}

/// A directory of its own for one test, removed with it.
public final class TemporaryDirectory: Sendable {
    /// One that goes when the tests end.
    public static let shared: TemporaryDirectory = {
        atexit { try? FileManager.default.removeItem(at: TemporaryDirectory.shared.url) }
        // A failure here fails each test that uses it.
        // swift-format-ignore: NeverUseForceTry
        return try! TemporaryDirectory()
    }()

    public let url: URL

    public init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("sealward-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    public func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}

/// A private certification for tests: keys and certificates of any strength, made by `openssl`.
public struct TestCertification: Sendable {
    public enum Key: Sendable, Hashable {
        case rsa(Int)
        case curve(String)
        case ed25519
    }

    /// A certificate with its key, as files and as bytes.
    public struct Identity: Sendable {
        public let certificatePath: String
        public let keyPath: String
        public let der: [UInt8]
    }

    public let directory: TemporaryDirectory

    public init() throws { directory = try TemporaryDirectory() }

    /// Issues a certificate; self-signed where `issuer` is nil.
    ///
    /// - Parameters:
    ///   - file: the name of the files, unique in this certification.
    ///   - subject: as `openssl -subj` takes it.
    ///   - extensions: lines as an openssl extension file has them.
    ///   - digest: for example `sha256`.
    ///   - keyFrom: an identity whose key is taken over.
    ///   - serial: the serial number.
    public func issue(
        _ file: String, subject: String, key: Key = .curve("prime256v1"), issuer: Identity? = nil,
        extensions: [String] = [], digest: String = "sha256", days: Int = 90, signing: [String] = [],
        keyFrom: Identity? = nil, serial: Int = Int.random(in: 1...Int(Int32.max))
    ) throws -> Identity {
        let certificate = directory.path(file + ".pem")
        let keyPath = keyFrom?.keyPath ?? directory.path(file + ".key")
        if keyFrom == nil { try generate(key, at: keyPath) }
        let extensionFile = directory.path(file + ".ext")
        try extensions.joined(separator: "\n").write(toFile: extensionFile, atomically: true, encoding: .utf8)
        var arguments = [
            "x509", "-new", "-subj", subject, "-force_pubkey", publicKey(of: keyPath), "-out", certificate,
        ]
        arguments += ["-days", "\(days)", "-\(digest)", "-extfile", extensionFile, "-set_serial", "\(serial)"]
        if let issuer {
            arguments += ["-CA", issuer.certificatePath, "-CAkey", issuer.keyPath]
        } else {
            arguments += ["-signkey", keyPath]
        }
        try OpenSSLProgram.run(arguments + signing)
        return Identity(certificatePath: certificate, keyPath: keyPath, der: try der(ofPEMFile: certificate))
    }

    /// A root that may sign certificates.
    public func root(
        _ file: String = "root", subject: String = "/CN=Test Root", key: Key = .curve("prime256v1")
    ) throws
        -> Identity
    {
        try issue(file, subject: subject, key: key, extensions: TestCertification.authority)
    }

    public static let authority = [
        "basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign", "subjectKeyIdentifier=hash",
    ]
    public static let server = [
        "basicConstraints=CA:FALSE", "subjectAltName=DNS:localhost,IP:127.0.0.1", "extendedKeyUsage=serverAuth",
    ]

    /// The file of the public key, which is beside that of the key.
    private func publicKey(of keyPath: String) -> String { keyPath + ".public" }

    private func generate(_ key: Key, at path: String) throws {
        switch key {
        case .curve("prime256v1"):
            // Nearly all keys of tests are of this curve, and hundreds of processes take longer than the tests.
            let made = P256.Signing.PrivateKey()
            let text = Data(made.pemRepresentation.utf8)
            guard FileManager.default.createFile(atPath: path, contents: text, attributes: [.posixPermissions: 0o600])
            else { throw OpenSSLProgram.Failure(description: "\(path) cannot be written") }
            try made.publicKey.pemRepresentation.write(toFile: publicKey(of: path), atomically: true, encoding: .utf8)
            return
        case .rsa(let bits): try OpenSSLProgram.run(["genrsa", "-traditional", "-out", path, "\(bits)"])
        case .curve(let name):
            try OpenSSLProgram.run(["ecparam", "-name", name, "-genkey", "-noout", "-out", path])
        case .ed25519: try OpenSSLProgram.run(["genpkey", "-algorithm", "ed25519", "-out", path])
        }
        try OpenSSLProgram.run(["pkey", "-in", path, "-pubout", "-out", publicKey(of: path)])
    }

    public func der(ofPEMFile path: String) throws -> [UInt8] {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let lines = text.split(separator: "\n").drop { !$0.hasPrefix("-----BEGIN CERTIFICATE") }.dropFirst()
        let body = lines.prefix { !$0.hasPrefix("-----END") }.joined()
        guard let data = Data(base64Encoded: body) else {
            throw OpenSSLProgram.Failure(description: "no PEM in \(path)")
        }
        return Array(data)
    }
}
