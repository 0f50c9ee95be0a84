// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceSimulator
import Foundation
import TrustMaterial

/// `sealward serve` as a process of its own, on a free port.
struct ServedProgram {
    private let process: Process
    let base: String

    /// The process that serves.
    var processIdentifier: Int32 { process.processIdentifier }

    /// - Parameter before: what stands before the program and its words: `taskset`, for example.
    init(_ program: String, in folder: URL, store: String, authority: SimulatedAuthority, before: [String] = []) throws
    {
        func file(_ name: String, _ text: String) throws -> String {
            let url = folder.appendingPathComponent(name)
            try Data(text.utf8).write(to: url)
            return url.path
        }
        let configuration = try file(
            "sealward.json",
            """
            {"listen": "127.0.0.1:0", "store": "\(store)",
             "trustSimulator": {"attestationRoot": "\(try file("root.pem", authority.attestationRootPEM))",
                                "receiptRoot": "\(try file("receipts.pem", authority.receiptRootPEM))"},
             "limits": {"requestsPerSecondPerAddress": 1000000}, "challenges": {"ttlSeconds": 86400},
             "apps": [{"id": "\(Material.appId)", "teamId": "\(Material.teamId)", "bundleIds": ["\(Material.bundleId)"]}]}
            """
        )
        let process = Process()
        let words = before + [program, "serve", "--config", configuration]
        process.executableURL = URL(fileURLWithPath: words[0])
        process.arguments = Array(words.dropFirst())
        process.environment = ProcessInfo.processInfo.environment.merging(["SEALWARD_LOG_LEVEL": "error"]) { $1 }
        let pipe = Pipe()
        process.standardError = pipe
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        var text = ""
        var found: Substring?
        while found == nil {
            let data = pipe.fileHandleForReading.availableData
            guard !data.isEmpty else { throw BenchFault("\(program) did not start: \(text)") }
            text += String(decoding: data, as: UTF8.self)
            found = text.split(separator: "\n").first { $0.hasPrefix("listening on ") }?.dropFirst(13)
        }
        // What it says later is read and dropped, so that it never waits for a full pipe.
        pipe.fileHandleForReading.readabilityHandler = { if $0.availableData.isEmpty { $0.readabilityHandler = nil } }
        self.process = process
        base = String(found ?? "")
    }

    func stop() {
        process.terminate()
        process.waitUntilExit()
    }
}

/// wrk with one thread and one file of bodies for each connection.
struct Load {
    let wrk: String
    let folder: URL
    let base: String
    let connections: Int
    let seconds: Int

    func run(_ path: String) throws -> (rate: Double, refused: Int) {
        let script = """
            local number = 0
            function setup(thread) thread:set("id", number); number = number + 1 end
            function init(args)
              requests = {}; sent = 0
              for line in io.lines("\(folder.path)/bodies-" .. id) do
                requests[#requests + 1] = wrk.format("POST", args[1], {["Content-Type"] = "application/json"}, line)
              end
            end
            function request()
              sent = sent + 1
              return requests[(sent - 1) % #requests + 1]
            end
            function done(summary, latency, requests)
              io.write(string.format("rate %.1f\\n", summary.requests / summary.duration * 1e6))
              io.write(string.format("refused %d\\n", summary.errors.status))
              local e = summary.errors
              io.write(string.format("lost %d\\n", e.connect + e.read + e.write + e.timeout))
            end
            """
        let lua = folder.appendingPathComponent("bodies.lua")
        try Data(script.utf8).write(to: lua)
        let run = Process()
        run.executableURL = URL(fileURLWithPath: wrk)
        run.arguments = ["-t\(connections)", "-c\(connections)", "-d\(seconds)s", "-s", lua.path, base, "--", path]
        let pipe = Pipe()
        run.standardOutput = pipe
        try run.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        run.waitUntilExit()
        func number(_ name: String) throws -> Double {
            guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name + " ") }),
                let value = Double(line.dropFirst(name.count + 1))
            else { throw BenchFault("wrk did not measure: \(text)") }
            return value
        }
        guard try number("lost") == 0 else { throw BenchFault("connections were lost: \(text)") }
        return (try number("rate"), Int(try number("refused")))
    }
}
