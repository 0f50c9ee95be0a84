// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A real nginx on a free loopback port, with a folder of its own; both go when it goes out of use.
package final class NginxServer: Sendable {
    package let port: Int
    private let process: Process
    private let folder: TemporaryDirectory

    /// Whether the program is on this machine.
    package static let isAvailable = program != nil

    private static let program = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/sbin/nginx"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Starts the server and waits until it listens; a port that somebody else took meanwhile is given up for another one.
    ///
    /// - Parameter servers: what stands inside of `http { }`, for a port and the path of a folder with an empty folder `root`.
    /// - Throws: ``Failure`` with nginx's own words where it does not start.
    package init(_ servers: (_ port: Int, _ folder: String) throws -> String) async throws {
        guard let program = NginxServer.program else { throw Failure(description: "nginx is not installed") }
        var said = ""
        for _ in 0..<5 {
            let folder = try TemporaryDirectory()
            try FileManager.default.createDirectory(atPath: folder.path("root"), withIntermediateDirectories: true)
            let port = try FreePort.take()
            let configuration = """
                \(geteuid() == 0 ? "user root;" : "")
                daemon off; worker_processes 1; pid \(folder.path("pid")); error_log \(folder.path("error")) warn;
                events { worker_connections 256; }
                http {
                    access_log off; client_body_temp_path \(folder.path("body")); proxy_temp_path \(folder.path("proxy"));
                    fastcgi_temp_path \(folder.path("fastcgi")); uwsgi_temp_path \(folder.path("uwsgi"));
                    scgi_temp_path \(folder.path("scgi"));
                    \(try servers(port, folder.url.path))
                }
                """
            try Data(configuration.utf8).write(to: URL(fileURLWithPath: folder.path("nginx.conf")))
            let process = Process()
            process.executableURL = URL(fileURLWithPath: program)
            process.arguments = ["-e", folder.path("error"), "-p", folder.url.path, "-c", folder.path("nginx.conf")]
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            try process.run()
            let deadline = ContinuousClock.now + .seconds(30)
            // It writes the file once it listens.
            while !FileManager.default.fileExists(atPath: folder.path("pid")), process.isRunning,
                ContinuousClock.now < deadline
            {
                try await Task.sleep(for: .milliseconds(10))
            }
            if process.isRunning, FreePort.accepts(port) {
                (self.port, self.process, self.folder) = (port, process, folder)
                return
            }
            said = (try? String(contentsOfFile: folder.path("error"), encoding: .utf8)) ?? ""
            NginxServer.stop(process)
        }
        throw Failure(description: "nginx did not start: \(said.suffix(500))")
    }

    deinit { NginxServer.stop(process) }

    /// The master takes its worker with it on SIGTERM; threads of the concurrency runtime block other signals, and nginx unblocks them.
    private static func stop(_ process: Process) {
        kill(process.processIdentifier, SIGTERM)
        process.waitUntilExit()
    }
}
