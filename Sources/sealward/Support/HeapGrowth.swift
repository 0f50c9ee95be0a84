// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// How the C library's heap grows.
enum HeapGrowth {
    /// Lets every thread's part of the heap grow by `bytes` at a time, before threads begin.
    ///
    /// glibc grows the parts of all threads but the first by 4 KiB a system call: 2,892 calls for 300 targets, 66 with 16 MiB. What is not
    /// used is not touched, so the process holds no more memory. Other C libraries have no such call and are left alone.
    static func step(_ bytes: Int32) {
        // Not in the headers that Swift imports.
        // Safe: malloc.h declares this symbol as a function of two ints that gives one.
        guard let symbol = unsafe dlsym(nil, "mallopt") else { return }
        _ = unsafe unsafeBitCast(symbol, to: (@convention(c) (Int32, Int32) -> Int32).self)(topPad, bytes)
    }

    /// M_TOP_PAD of malloc.h.
    private static let topPad: Int32 = -2
}
