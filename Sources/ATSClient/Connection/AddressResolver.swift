// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
public import Findings
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import TLSFacts

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An address that a host and port are to have, whatever the DNS says, as curl's `--resolve` gives it.
public struct AddressOverride: Sendable, Hashable {
    /// Lower case, without brackets.
    public let host: String
    /// The port for which it holds.
    public let port: Int
    /// An IPv4 or IPv6 address.
    public let address: String

    /// Reads `HOST:PORT:ADDRESS`; brackets around IPv6 addresses are allowed in both places.
    ///
    /// - Throws: `MalformedInput` with code `malformed.resolve`.
    public init(_ text: String) throws(MalformedInput) {
        guard let only = AddressOverride.list(text), let first = only.first, only.count == 1 else {
            throw MalformedInput(
                code: "malformed.resolve",
                place: text,
                reason: "is not HOST:PORT:ADDRESS, for example api.example.com:443:127.0.0.1"
            )
        }
        self = first
    }

    /// Reads `HOST:PORT:ADDRESS[,ADDRESS]`, with a `+` in front or without, as curl does; nil where it is none.
    package static func list(_ text: String) -> [AddressOverride]? {
        var rest = Substring(text)
        if rest.hasPrefix("+") { rest = rest.dropFirst() }
        let host: Substring
        if rest.hasPrefix("["), let close = rest.firstIndex(of: "]") {
            host = rest[rest.index(after: rest.startIndex)..<close]
            rest = rest[rest.index(after: close)...]
        } else {
            guard let colon = rest.firstIndex(of: ":") else { return nil }
            host = rest[..<colon]
            rest = rest[colon...]
        }
        let fields = rest.dropFirst().split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard rest.hasPrefix(":"), fields.count == 2, !host.isEmpty, let port = fields.first.flatMap({ Int($0) }),
            (1...65535).contains(port)
        else { return nil }
        let addresses = fields[1].split(separator: ",").map { address in
            address.hasPrefix("[") && address.hasSuffix("]") ? address.dropFirst().dropLast() : address
        }
        guard !addresses.isEmpty, addresses.allSatisfy({ IPAddress($0) != nil }) else { return nil }
        return addresses.map { AddressOverride(host: String(host), port: port, address: String($0)) }
    }

    /// Makes one from its parts, which the properties describe.
    public init(host: String, port: Int, address: String) {
        self.host = host.lowercased()
        self.port = port
        self.address = address
    }
}

/// Turns a host into addresses: a literal is itself, an override wins, and the rest is asked of the system.
struct AddressResolver: Sendable {
    let overrides: [AddressOverride]
    var pinned: AddressOverride?
    let timeout: TimeAmount
    let loop: any EventLoop

    /// At most this many addresses of one name are tried.
    static let limit = 16

    /// Every address of the host, in the system's order of preference (RFC 6724).
    ///
    /// - Throws: ``ConnectFailure`` where there is none.
    /// - Parameter timeout: instead of the resolver's own.
    func addresses(of host: String, port: Int, timeout: TimeAmount? = nil) async throws -> [SocketAddress] {
        if let pinned, pinned.port == port, pinned.host == host,
            let address = try? SocketAddress(ipAddress: pinned.address, port: port)
        {
            return [address]
        }
        var chosen = overrides.filter { $0.port == port && $0.host == host }
        if chosen.isEmpty { chosen = overrides.filter { $0.port == port && $0.host == "*" } }
        if !chosen.isEmpty {
            return chosen.compactMap { try? SocketAddress(ipAddress: $0.address, port: port) }
        }
        if let literal = try? SocketAddress(ipAddress: host, port: port) { return [literal] }
        return try await asked(host, port: port, timeout ?? self.timeout)
    }

    /// Asks the system on a thread of its own kind, because the call blocks and cannot be stopped; nobody waits longer than `timeout`.
    private func asked(_ host: String, port: Int, _ timeout: TimeAmount) async throws -> [SocketAddress] {
        let answer = FirstResult<[SocketAddress]>()
        let timer = loop.scheduleTask(in: timeout) { answer.end(.failure(ConnectFailure(.timeout))) }
        defer { timer.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                answer.wait(continuation)
                AddressResolver.threads.submit { state in
                    guard case .active = state else { return answer.end(.failure(CancellationError())) }
                    answer.end(Result { try AddressResolver.ask(host, port: port) })
                }
            }
        } onCancel: {
            answer.end(.failure(CancellationError()))
        }
    }

    private static let threads: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: 8)
        pool.start()
        return pool
    }()

    private static func ask(_ host: String, port: Int) throws -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &first) == 0 else {
            throw ConnectFailure(.nameNotFound(host))
        }
        defer { freeaddrinfo(first) }
        var addresses: [SocketAddress] = []
        var next = first
        while let entry = next, addresses.count < limit {
            next = entry.pointee.ai_next
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            guard let address = entry.pointee.ai_addr,
                getnameinfo(
                    address,
                    entry.pointee.ai_addrlen,
                    &text,
                    socklen_t(text.count),
                    nil,
                    0,
                    NI_NUMERICHOST
                ) == 0
            else { continue }
            let literal = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if let resolved = try? SocketAddress(ipAddress: literal, port: port), !addresses.contains(resolved) {
                addresses.append(resolved)
            }
        }
        guard !addresses.isEmpty else { throw ConnectFailure(.nameNotFound(host)) }
        return addresses
    }
}

/// The first result of several that race, handed to the one who waits.
final class FirstResult<Value: Sendable>: Sendable {
    private struct State {
        var waiter: CheckedContinuation<Value, any Error>?
        var early: Result<Value, any Error>?
        var isOver = false
    }

    private let state = NIOLockedValueBox(State())

    func wait(_ continuation: CheckedContinuation<Value, any Error>) {
        let early = state.withLockedValue { state in
            if state.early == nil { state.waiter = continuation }
            return state.early
        }
        if let early { continuation.resume(with: early) }
    }

    func end(_ result: Result<Value, any Error>) {
        let waiter = state.withLockedValue { state -> CheckedContinuation<Value, any Error>? in
            guard !state.isOver else { return nil }
            state.isOver = true
            if state.waiter == nil { state.early = result }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(with: result)
    }
}
