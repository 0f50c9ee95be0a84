// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
public import NIOCore
import NIOPosix
public import TLSFacts

/// Turns a host name into all of its addresses, IPv6 and IPv4, in the order of the system.
public struct NameResolver: Sendable {
    /// An answer that replaces DNS (`--resolve HOST:PORT:ADDRESS`).
    public struct Override: Sendable, Hashable {
        /// The name that is not looked up.
        public let host: String
        /// Nil stands for every port.
        public let port: Int?
        /// An IPv4 or IPv6 literal without brackets.
        public let address: String

        /// Makes one from its parts, which the properties describe.
        public init(host: String, port: Int?, address: String) {
            self.host = host.lowercased()
            self.port = port
            self.address = address
        }
    }

    /// Either at least one address, or why there is none.
    public enum Resolution: Sendable, Equatable {
        /// What the name resolved to, in the resolver's order.
        case addresses([SocketAddress])
        /// Why there is no address.
        case failed(ConnectionFailure)
    }

    /// Names that are not looked up.
    public let overrides: [Override]
    private let index: [Place: [Override]]

    /// What an override is found by.
    private struct Place: Hashable {
        let host: String
        let port: Int?
    }

    /// The system's resolver, apart from these names.
    public init(overrides: [Override] = []) {
        self.overrides = overrides
        index = Dictionary(grouping: overrides) { Place(host: $0.host, port: $0.port) }
    }

    /// The overrides for a host and port, in their order: for this port, for every port, and last for every host.
    private func replacements(_ name: String, _ port: Int) -> [Override] {
        guard !index.isEmpty else { return [] }
        let host = name.lowercased()
        let exact = (index[Place(host: host, port: port)] ?? []) + (index[Place(host: host, port: nil)] ?? [])
        return exact.isEmpty ? index[Place(host: "*", port: port)] ?? [] : exact
    }

    /// - Parameters:
    ///   - host: a name, or an address literal with or without brackets.
    ///   - timeout: after it the answer is `ConnectionFailure.timeout`; the system's own look-up ends later by itself.
    public func resolve(host: String, port: Int, timeout: Duration = .seconds(10)) async -> Resolution {
        let name = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        let replaced = replacements(name, port).compactMap { try? SocketAddress(ipAddress: $0.address, port: port) }
        if !replaced.isEmpty { return .addresses(replaced) }
        if let literal = try? SocketAddress(ipAddress: name, port: port) { return .addresses([literal]) }
        return await withCheckedContinuation { continuation in
            let once = OnceContinuation(continuation)
            let timer = MultiThreadedEventLoopGroup.singleton.next()
                .scheduleTask(in: TimeAmount(timeout)) { once.resume(.failed(.timeout)) }
            // Look-ups block; they have threads of their own, so that a slow name delays no event loop.
            NameResolver.threads.submit { state in
                guard case .active = state else {
                    return once.resume(.failed(.nameNotFound("no thread for the look-up")))
                }
                let result = NameResolver.lookUp(name, port)
                timer.cancel()
                once.resume(result)
            }
        }
    }

    private static func lookUp(_ name: String, _ port: Int) -> Resolution {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_protocol = Int32(IPPROTO_TCP)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(name, nil, &hints, &list)
        guard status == 0 else { return .failed(.nameNotFound(String(cString: gai_strerror(status)))) }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = list
        while let entry = next?.pointee, addresses.count < maximumAddresses {
            next = entry.ai_next
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            guard
                getnameinfo(entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
            else { continue }
            let literal = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard let address = try? SocketAddress(ipAddress: literal, port: port), !addresses.contains(address) else {
                continue
            }
            addresses.append(address)
        }
        return addresses.isEmpty ? .failed(.nameNotFound("the name has no address")) : .addresses(addresses)
    }

    /// No name needs more; the limit keeps a hostile zone from costing hours of connection attempts.
    static let maximumAddresses = 16

    private static let threads: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: 32)
        pool.start()
        return pool
    }()
}

/// Resumes a continuation with the first of several answers.
private final class OnceContinuation: @unchecked Sendable {
    private let lock = NSLock()
    private var continuation: CheckedContinuation<NameResolver.Resolution, Never>?

    init(_ continuation: CheckedContinuation<NameResolver.Resolution, Never>) { self.continuation = continuation }

    func resume(_ value: NameResolver.Resolution) {
        let taken = lock.withLock {
            defer { continuation = nil }
            return continuation
        }
        taken?.resume(returning: value)
    }
}
