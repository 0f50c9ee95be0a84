// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Glibc

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
