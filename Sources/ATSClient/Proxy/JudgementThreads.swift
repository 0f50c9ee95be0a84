// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOPosix

/// Threads for the judgement of servers, apart from those that move bytes and run everything else.
///
/// Certificates are the work of whoever made them. Where they cost much, the judgements of other servers still have threads, and the operating
/// system shares the processors between them; tunnels and answers go on at once.
final class JudgementThreads: TaskExecutor {
    static let shared = JudgementThreads(count: 32)

    private let pool: NIOThreadPool

    init(count: Int) {
        pool = NIOThreadPool(numberOfThreads: count)
        pool.start()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // Safe: the shared executor, like every one that runs jobs, lives until they are done.
        pool.submit { _ in unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
