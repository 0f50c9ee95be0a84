// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `sealward ats proxy` with 256 descriptors and one address that takes all it gets.
struct ProxyFloodTests {
    @Test(
        "With one hostile address an honest client of another address is answered within a second, and no processor spins"
    )
    func oneHostileAddress() throws {
        let files = try TemporaryDirectory()
        let log = files.path("log")
        try Data().write(to: URL(fileURLWithPath: log))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = [
            "-c", "ulimit -n 256; exec \"$0\" ats proxy --listen 127.0.0.1:0", BuiltProgram.url.path,
        ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
        try process.run()
        defer { kill(process.processIdentifier, SIGKILL) }
        func logged() -> String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }
        func waitUntil(_ condition: () -> Bool) {
            let deadline = ContinuousClock.now + .seconds(10)
            while !condition(), ContinuousClock.now < deadline { usleep(10_000) }
        }
        waitUntil { logged().hasSuffix("\n") }
        let port = try #require(Int(logged().split(separator: ":").last?.split(separator: "\n").first ?? ""))
        let silent = try HeldPort(isListening: true)

        var held: [LoopbackClient] = []
        for index in 0..<400 {
            guard let client = try? LoopbackClient(from: 2, port: port, limit: 1) else { continue }
            switch index % 3 {
            case 0: break
            case 1: client.send("GET http://x/ HTTP/1.1\r\nHost:")
            default: client.send("CONNECT 127.0.0.1:\(silent.port) HTTP/1.1\r\n\r\n")
            }
            held.append(client)
        }
        waitUntil { logged().contains("turned away: ") }
        #expect(logged().contains("too many from one address"), "\(logged())")

        var times: [Duration] = []
        for _ in 0..<20 {
            let start = ContinuousClock.now
            let honest = try LoopbackClient(from: 1, port: port, limit: 5)
            honest.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            let answer = honest.readAll()
            #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
            times.append(ContinuousClock.now - start)
        }
        // A busy machine may hold one answer up.
        #expect(Measuring.isOff || times.sorted()[17] < .seconds(1), "\(times)")
        if !Measuring.isOff {
            let before = ticks(process.processIdentifier)
            usleep(1_000_000)
            #expect(ticks(process.processIdentifier) - before < 50, "it works while nobody asks")
        }
        #expect(logged().split(separator: "\n").count { $0.hasPrefix("turned away") } <= 15, "\(logged())")
        withExtendedLifetime(held) {}
    }

    /// Hundredths of a second that a process has worked.
    private func ticks(_ process: Int32) -> Int {
        let text = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        let words = text.split(separator: ")").last?.split(separator: " ") ?? []
        guard words.count > 12 else { return 0 }
        return (Int(words[11]) ?? 0) + (Int(words[12]) ?? 0)
    }
}
