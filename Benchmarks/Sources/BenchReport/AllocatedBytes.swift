// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What the process has allocated and not freed, as glibc's `malloc_info` counts it over all arenas. Freed pieces that the allocator keeps
/// for later, which resident memory also shows, are not in it; a leak is.
public enum AllocatedBytes {
    private typealias Report = @convention(c) (Int32, UnsafeMutablePointer<FILE>?) -> Int32

    /// Bytes; nil where the C library has no `malloc_info`.
    public static func now() -> Int? {
        #if os(Linux)
            // Not in the headers that Swift imports.
            guard let symbol = dlsym(nil, "malloc_info") else { return nil }
            var text: UnsafeMutablePointer<CChar>?
            var size = 0
            guard let stream = open_memstream(&text, &size) else { return nil }
            _ = unsafeBitCast(symbol, to: Report.self)(0, stream)
            fclose(stream)
            defer { free(text) }
            guard let text else { return nil }
            return bytes(in: String(cString: text))
        #else
            return nil
        #endif
    }

    /// The totals stand last: what came from the system, less what lies free, with what was mapped for itself.
    private static func bytes(in report: String) -> Int? {
        func size(_ element: String) -> Int? {
            guard let start = report.range(of: "<" + element, options: .backwards)?.upperBound,
                let digits = report.range(of: "size=\"", range: start..<report.endIndex)?.upperBound
            else { return nil }
            return Int(report[digits...].prefix(while: \.isNumber))
        }
        guard let system = size("system type=\"current\""), let fast = size("total type=\"fast\""),
            let rest = size("total type=\"rest\""), let mapped = size("total type=\"mmap\"")
        else { return nil }
        return system - fast - rest + mapped
    }
}
