// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Foundation
import Logging
import TestSupport
import Testing

@testable import HTTPService
@testable import TrustService

/// A log whose reader stops.
@Suite struct LogOutputTests {
    private let registry = PrometheusRegistry()

    private func dropped() -> Int {
        registry.render().firstMatch(of: #/sealward_log_dropped_total (\d+)/#).flatMap { Int($0.output.1) } ?? 0
    }

    /// All that comes until the other end is closed.
    private func rest(of pipe: Pipe) async throws -> [Substring] {
        let data = try await onThread { try pipe.fileHandleForReading.readToEnd() ?? Data() }
        return String(decoding: data, as: UTF8.self).split(separator: "\n")
    }

    @Test func linesThatNobodyReadsAreDroppedAndCounted() async throws {
        let pipe = Pipe()
        let output = LogOutput(descriptor: pipe.fileHandleForWriting.fileDescriptor, label: "test", registry: registry)
        #expect(registry.render().contains("sealward_log_dropped_total 0\n"))
        let log = output.logger
        let count = 3000
        // The pipe takes 64 KiB and the queue 1 MiB: less than half of this.
        for number in 0..<count { log.info("line \(number) \(String(repeating: "x", count: 1000))") }
        #expect((1000..<count).contains(dropped()))
        // As soon as somebody reads, the log goes on.
        async let all = rest(of: pipe)
        let deadline = ContinuousClock.now + .seconds(10)
        while ContinuousClock.now < deadline {
            let before = dropped()
            log.info("read again")
            if dropped() == before { break }
            try await Task.sleep(for: .milliseconds(5))
        }
        try await onThread { output.finish(within: .seconds(10)) }
        let lost = dropped()
        log.info("too late")
        #expect(dropped() == lost + 1)
        try pipe.fileHandleForWriting.close()
        let lines = try await all
        let numbers = lines.compactMap { $0.firstMatch(of: #/line (\d+) x{1000}$/#).flatMap { Int($0.output.1) } }
        #expect(numbers == Array(0..<numbers.count))
        let notes = lines.compactMap {
            $0.firstMatch(of: #/ warning test: count=(\d+) .* were dropped/#).flatMap { Int($0.output.1) }
        }
        #expect(!notes.isEmpty && notes.reduce(0, +) == lost, "\(notes)")
        #expect(numbers.count < count && lines.count { $0.hasSuffix("read again") } == 1)
        #expect(!lines.contains { $0.hasSuffix("too late") })
    }

    @Test func aDescriptorThatCannotBeWrittenLosesLinesAndNothingElse() async throws {
        let output = LogOutput(descriptor: -1, label: "test", registry: registry)
        for _ in 0..<10 { output.logger.info("a line") }
        try await onThread { output.finish(within: .seconds(10)) }
        #expect(dropped() == 10)
    }

    /// Nobody waits at the end for a reader that never comes.
    @Test func theEndHasADeadline() async throws {
        let pipe = Pipe()
        let output = LogOutput(descriptor: pipe.fileHandleForWriting.fileDescriptor, label: "test", registry: registry)
        output.write(String(repeating: "x", count: 1 << 19) + "\n")
        let start = ContinuousClock.now
        try await onThread { output.finish(within: .milliseconds(300)) }
        #expect(Measuring.isOff || (.milliseconds(300)..<(.seconds(5))).contains(ContinuousClock.now - start))
        // The thread that still writes ends here, before its descriptor does.
        let read = try await onThread { try pipe.fileHandleForReading.read(upToCount: (1 << 19) + 1)?.count }
        #expect(read == (1 << 19) + 1)
    }

    /// The real program: its standard error is a full pipe, and it answers as before.
    @Test(.enabled(if: ServeProcess.isBuilt, "needs the built program"), .timeLimit(.minutes(1)))
    func aServiceWhoseLogNobodyReadsAnswers() async throws {
        let process = try await ServeProcess(ServeProcess.write())
        let service = process.service
        let waiting = process.stopReading()
        func refused(_ number: Int) async throws {
            // Refusals of several codes, because only some of each are logged in a second.
            #expect(try await service.get("/nothing").status == 404)
            #expect(try await service.get("/v1/keys").status == 401)
            let challenge = try await service.post("/v1/apps/shop/challenges", ["purpose": .string("\(number)")])
            #expect(challenge.status == 400)
        }
        var number = 0
        while waiting() < 3500 {
            number += 1
            try await refused(number)
        }
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .seconds(2) {
            number += 1
            try await refused(number)
        }
        #expect(waiting() <= 4096)
        let end = await Task.detached { process.stop() }.value
        #expect(end.status == 0 && end.reason == .exit && (Measuring.isOff || end.seconds < 10))
    }
}
