// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// A thread of the system, for work that waits in calls of the system and so has no place among tasks.
package enum SystemThread {
    /// Starts a thread that ends with `body`. Where the system gives none, `body` runs on one of Dispatch.
    ///
    /// - Parameter stackSize: in bytes; nil for the system's own.
    package static func start(stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void) {
        var attributes = pthread_attr_t()
        var thread = pthread_t()
        // Safe: the attributes live for the calls.
        unsafe pthread_attr_init(&attributes)
        defer { unsafe pthread_attr_destroy(&attributes) }
        unsafe pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        if let stackSize { unsafe pthread_attr_setstacksize(&attributes, stackSize) }
        // Safe: the thread takes over the one reference to its work.
        let work = unsafe Unmanaged.passRetained(Work(body))
        let result = unsafe pthread_create(
            &thread, &attributes,
            { pointer in
                if let pointer = unsafe pointer {
                    unsafe Unmanaged<Work>.fromOpaque(pointer).takeRetainedValue().body()
                }
                return nil
            }, work.toOpaque())
        guard result != 0 else { return }
        // Safe: no thread was made, so the reference is still here.
        unsafe work.release()
        DispatchQueue.global().async(execute: body)
    }

    package static func sleep(_ duration: Duration) {
        let (seconds, attoseconds) = max(duration, .zero).components
        let time = timespec(tv_sec: Int(clamping: seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        // Safe: the values live for the call. A signal ends it early.
        _ = unsafe withUnsafePointer(to: time) { unsafe nanosleep($0, nil) }
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
