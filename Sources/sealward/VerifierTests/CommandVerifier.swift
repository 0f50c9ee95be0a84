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

/// A shell command in its own process group; its input and output are non-blocking pipes.
final class ChildProgram {
    private let id: pid_t
    /// Where its input is written to, and its output is read from.
    let writing: Int32
    let reading: Int32
    /// How it ended, for example "with status 1" or "by signal 11".
    private(set) var end: String?

    /// Starts it; nil where the system does not.
    init?(_ command: String) {
        var input: [Int32] = [-1, -1]
        var output: [Int32] = [-1, -1]
        // Safe: the system writes two numbers into each.
        let arePipes = unsafe pipe(&input) == 0 && pipe(&output) == 0
        defer { for descriptor in [input[0], output[1]] where descriptor >= 0 { close(descriptor) } }
        (writing, reading) = (input[1], output[0])
        for descriptor in input + output where descriptor >= 0 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        guard arePipes, let id = ChildProgram.spawn(command, input: input[0], output: output[1]) else {
            for descriptor in [input[1], output[0]] where descriptor >= 0 { close(descriptor) }
            return nil
        }
        self.id = id
        for descriptor in [writing, reading] { _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) }
    }

    deinit { if end == nil { stop() } }

    /// Ends it, and what it started.
    ///
    /// - Parameter patience: how long it may take to end by itself, once its input has ended.
    /// - Returns: whether it ended by itself.
    @discardableResult func stop(after patience: Duration = .zero) -> Bool {
        guard end == nil else { return true }
        close(writing)
        let limit = ContinuousClock.now + patience
        while !hasEnded(), ContinuousClock.now < limit { usleep(5000) }
        let endedByItself = end != nil
        if !endedByItself { kill(-id, SIGKILL) }
        while !hasEnded() { usleep(1000) }
        close(reading)
        return endedByItself
    }

    private func hasEnded() -> Bool {
        guard end == nil else { return true }
        var status: Int32 = 0
        // Safe: the system writes one number.
        let found = unsafe waitpid(id, &status, WNOHANG)
        if found == id {
            end = status & 0x7F == 0 ? "with status \(status >> 8 & 0xFF)" : "by signal \(status & 0x7F)"
        }
        // Only this process waits for it; if it is gone all the same, its status is lost.
        if found < 0, errno != EINTR { end = "with status 0" }
        return end != nil
    }

    private static func spawn(_ command: String, input: Int32, output: Int32) -> pid_t? {
        // Safe: everything lives until the calls return, the list of words ends with a nil, and the copies of the words are freed.
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawnattr_init(&attributes)
        defer {
            unsafe posix_spawn_file_actions_destroy(&actions)
            unsafe posix_spawnattr_destroy(&attributes)
        }
        unsafe posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        // A signal that this process ignores is not ignored there.
        var usual = sigset_t()
        unsafe sigemptyset(&usual)
        unsafe sigaddset(&usual, SIGPIPE)
        unsafe posix_spawnattr_setsigdefault(&attributes, &usual)
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
        let words = unsafe [strdup("/bin/sh"), strdup("-c"), strdup(command), nil]
        defer { unsafe words.forEach { unsafe free($0) } }
        var id: pid_t = 0
        return unsafe posix_spawn(&id, "/bin/sh", &actions, &attributes, words, environ) == 0 ? id : nil
    }
}
