// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// An `openssl s_server` with a certificate of its own making, for walkthroughs that need something to look at.
final class FlawedServer {
    let port: Int
    let certificate: String
    private let process = Process()
    private let folder: URL

    /// - Parameters:
    ///   - options: further arguments of `openssl s_server`.
    ///   - key: arguments of `openssl req` for the key.
    init(_ options: [String] = [], key kind: [String] = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("walkthrough-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        certificate = folder.appendingPathComponent("cert.pem").path
        let key = folder.appendingPathComponent("key.pem").path
        let maker = Process()
        maker.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        maker.arguments =
            [
                "openssl", "req", "-x509", "-nodes", "-days", "30", "-subj", "/CN=localhost", "-addext",
                "subjectAltName=DNS:localhost", "-addext",
                "extendedKeyUsage=serverAuth",
                "-keyout", key, "-out", certificate,
            ] + ["-newkey"] + kind
        maker.standardError = FileHandle.nullDevice
        try maker.run()
        maker.waitUntilExit()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            ["openssl", "s_server", "-accept", "127.0.0.1:0", "-www", "-cert", certificate, "-key", key] + options
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        // "ACCEPT 127.0.0.1:PORT" says that it listens.
        var text = ""
        var found: Int?
        while found == nil {
            let data = output.fileHandleForReading.availableData
            if data.isEmpty { throw CocoaError(.fileReadUnknown) }
            text += String(decoding: data, as: UTF8.self)
            found = text.firstMatch(of: #/ACCEPT [^\n]*:(\d+)\n/#).flatMap { Int($0.1) }
        }
        port = found ?? 0
        output.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }
}
