// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix

/// Runs tasks on an event loop, so that a target and its connections stay on one thread and nothing is handed across.
///
/// What runs here must not block. Judging a target takes less time than waking another thread.
final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // Safe: the executors are those of the process and never go away.
        let executor = unsafe asUnownedTaskExecutor()
        loop.execute { unsafe job.runSynchronously(on: executor) }
    }

    /// One for each event loop of the process.
    static let all = MultiThreadedEventLoopGroup.singleton.makeIterator().map(LoopExecutor.init)
}
