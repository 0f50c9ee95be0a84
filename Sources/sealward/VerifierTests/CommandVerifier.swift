// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Vocabulary

/// A program that judges: it gets questions as lines and answers each with a line. One that ends, does not answer, or says anything else is
/// started again for the next question, so that no case pays for another.
final class CommandVerifier {
    private let command: String
    private let timeout: Duration
    private var program: ChildProgram?
    private var hasAnswered = false
    private var endings = 0

    /// The most bytes of an answer.
    private static let answerLimit = 64 << 10

    init(_ command: String, timeout: Duration) {
        self.command = command
        self.timeout = timeout
        // A program that ends while we write to it has crashed; this process must go on.
        signal(SIGPIPE, SIG_IGN)
    }

    deinit { stop() }

    /// - Throws: ``CommandFault`` where the program cannot be started.
    func judge(_ question: [UInt8]) throws -> VerifierAnswer {
        // What it says unasked would be taken for the answer.
        if let program, CommandVerifier.events(of: program.reading, POLLIN, within: 0) & POLLIN != 0 { finish() }
        let isNew = program == nil
        let program = try running()
        // A program may take a minute to start; that is not the time of its answer.
        let end = ContinuousClock.now + timeout + (isNew ? .seconds(60) : .zero)
        switch exchange(question, program.writing, program.reading, until: end) {
        case .line(let line):
            hasAnswered = true
            let answer = VerifierAnswer(reading: line)
            if !answer.isItsOwn { finish() }
            return answer
        case .late:
            finish()
            return VerifierAnswer(.tooSlow, "no answer within \(timeout.components.seconds) seconds")
        case .tooLong:
            finish()
            return VerifierAnswer(.crashed, "the answer has more than \(CommandVerifier.answerLimit) bytes")
        case .ended:
            let how = finish(after: .seconds(2)) ? program.end : nil
            // One that is not there, or lacks what it needs, ends at every question.
            endings += 1
            if !hasAnswered, endings == 3 {
                let how = how ?? "its input or output was closed"
                throw CommandFault("--command: the program ended three times (\(how)) and answered nothing.")
            }
            let what = how.map { "ended \($0)" } ?? "closed its input or output"
            return VerifierAnswer(.crashed, "the program \(what) without an answer")
        }
    }

    /// Ends the program, and what it started. It has two seconds to do so by itself.
    func stop() { finish(after: .seconds(2)) }

    /// - Parameter patience: how long the program may take to end by itself.
    /// - Returns: whether it did.
    @discardableResult private func finish(after patience: Duration = .zero) -> Bool {
        defer { program = nil }
        return program?.stop(after: patience) ?? true
    }

    private func running() throws -> ChildProgram {
        if let program { return program }
        guard let program = ChildProgram(command) else { throw CommandFault("--command: the shell cannot be started.") }
        self.program = program
        return program
    }

    private enum Exchange {
        case line([UInt8])
        case late, ended, tooLong
    }

    private func exchange(
        _ question: [UInt8], _ writing: Int32, _ reading: Int32, until end: ContinuousClock.Instant
    ) -> Exchange {
        var rest = question[...]
        while !rest.isEmpty {
            guard CommandVerifier.wait(writing, POLLOUT, until: end) else { return .late }
            // Safe: the system reads no more than the buffer has, while it is lent.
            let count = unsafe rest.withUnsafeBytes { unsafe write(writing, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count > 0 else { return .ended }
            rest = rest.dropFirst(count)
        }
        var line: [UInt8] = []
        var scratch = [UInt8](repeating: 0, count: 4096)
        while true {
            guard CommandVerifier.wait(reading, POLLIN, until: end) else { return .late }
            // Safe: the system writes no more than the buffer has, while it is lent.
            let count = unsafe scratch.withUnsafeMutableBytes { unsafe read(reading, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count > 0 else { return .ended }
            line += scratch.prefix(count)
            if line.last == 0x0A { return .line(line.dropLast()) }
            if line.count > CommandVerifier.answerLimit { return .tooLong }
        }
    }

    /// What happened to a descriptor within a time; 0 if nothing did.
    private static func events(of descriptor: Int32, _ events: Int32, within milliseconds: Int64) -> Int32 {
        var one = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        // Safe: one entry is lent, and one is announced.
        let ready = unsafe poll(&one, 1, Int32(clamping: milliseconds))
        return ready < 0 && errno != EINTR ? POLLERR : ready > 0 ? Int32(one.revents) : 0
    }

    /// Waits until a descriptor is ready or broken; false where the time is over.
    private static func wait(_ descriptor: Int32, _ awaited: Int32, until end: ContinuousClock.Instant) -> Bool {
        while case let left = end - .now, left > .zero {
            if events(of: descriptor, awaited, within: left.components.seconds * 1000 + 1000) != 0 { return true }
        }
        return false
    }
}
