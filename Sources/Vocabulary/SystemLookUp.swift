// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Why the system's resolver found no address.
package struct LookUpFault: Error {
    /// What the system calls it, for example "Name or service not known".
    package let reason: String
}

/// The system's resolver, which blocks the thread.
package enum SystemLookUp {
    /// The addresses of a host for TCP in the resolver's order, each once.
    ///
    /// - Parameter limit: how many are enough; a zone may have any number.
    package static func addresses(of name: String, limit: Int) throws(LookUpFault) -> [String] {
        // Safe: the system owns the list until it is freed at the end of the function; each entry is read before that, and `text` has the
        // length that it is said to have.
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        unsafe hints.ai_protocol = Int32(IPPROTO_TCP)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = unsafe getaddrinfo(name, nil, &hints, &list)
        guard status == 0 else { throw LookUpFault(reason: unsafe String(cString: gai_strerror(status))) }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [String] = []
        var next = unsafe list
        while let entry = unsafe next?.pointee, addresses.count < limit {
            unsafe next = entry.ai_next
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let length = socklen_t(text.count)
            guard unsafe getnameinfo(entry.ai_addr, entry.ai_addrlen, &text, length, nil, 0, NI_NUMERICHOST) == 0
            else { continue }
            let address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if !addresses.contains(address) { addresses.append(address) }
        }
        return addresses
    }
}
