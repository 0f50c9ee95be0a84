// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Synchronization
package import TLSModel

/// Token buckets by name: each holds two seconds' worth of its rate.
///
/// Memory is bounded: when the table is full, the buckets that have filled up again are forgotten, which changes nothing for
/// their owners; if none has, the newcomer shares one bucket with all other newcomers.
package final class RequestLimits: Sendable {
    private struct Bucket {
        var tokens: Double
        var at: Double
    }

    private let rate: Double
    private let capacity: Double
    private let tableLimit: Int
    private let buckets = Mutex<[String: Bucket]>([:])

    package init(perSecond: Double, burst: Double? = nil, tableLimit: Int = 65536) {
        rate = perSecond
        capacity = max(burst ?? perSecond * 2, 1)
        self.tableLimit = tableLimit
    }

    /// Takes one token.
    ///
    /// - Parameter at: seconds of a clock that never goes back.
    /// - Returns: nil if the request may pass, otherwise after how many whole seconds the next token is there: 1 to 3,600.
    package func take(_ name: String, at: Double) -> Int? { count(1, name, at: at) }

    /// After how many whole seconds a token is there; nil if one is. Takes none.
    package func wait(_ name: String, at: Double) -> Int? { count(0, name, at: at) }

    private func count(_ tokens: Double, _ name: String, at: Double) -> Int? {
        buckets.withLock { buckets in
            var name = name
            if buckets[name] == nil, buckets.count >= tableLimit {
                buckets = buckets.filter { $0.value.tokens + (at - $0.value.at) * rate < capacity }
                if buckets.count >= tableLimit { name = "" }
            }
            var bucket = buckets[name] ?? Bucket(tokens: capacity, at: at)
            bucket.tokens = min(capacity, bucket.tokens + max(0, at - bucket.at) * rate)
            bucket.at = max(at, bucket.at)
            defer { buckets[name] = bucket }
            guard bucket.tokens >= 1 else { return Int(min(max(1, ((1 - bucket.tokens) / rate).rounded(.up)), 3600)) }
            bucket.tokens -= tokens
            return nil
        }
    }
}

/// Which address a request counts for.
package enum CallerAddress {
    /// The most hops that are read, from the end: nobody has more proxies of his own.
    private static let hopLimit = 32

    /// The peer's address, or if the peer is a trusted proxy the last address in `X-Forwarded-For` that is not one.
    ///
    /// Read by bytes from the end; a hop is an address and nothing else (a port and brackets are allowed). The first hop that is not one
    /// ends the walk: everything before it was written by somebody whom no trusted proxy vouches for.
    package static func resolve(peer: String, forwarded: String?, trusted: [AddressRange]) -> String {
        func isTrusted(_ address: IPAddress) -> Bool { trusted.contains { $0.contains(address) } }
        guard let forwarded, CallerAddress.isTrusted(peer, by: trusted), var address = IPAddress(peer)?.unmapped else {
            return peer
        }
        for hop in forwarded.utf8.split(separator: 0x2C, omittingEmptySubsequences: false).suffix(hopLimit).reversed() {
            guard let next = self.address(ofHop: hop) else { break }
            address = next
            if !isTrusted(address) { break }
        }
        return address.description
    }

    package static func isTrusted(_ peer: String, by trusted: [AddressRange]) -> Bool {
        guard !trusted.isEmpty, let address = IPAddress(peer)?.unmapped else { return false }
        return trusted.contains { $0.contains(address) }
    }

    /// `1.2.3.4`, `1.2.3.4:5678`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:5678`, with spaces and tabs around it.
    private static func address(ofHop hop: Substring.UTF8View) -> IPAddress? {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        var text = hop.drop(while: isBlank)
        while let last = text.last, isBlank(last) { text.removeLast() }
        guard text.count <= 64 else { return nil }
        // More than one colon without brackets are an IPv6 address and no port.
        if text.first != 0x5B, text.count(where: { $0 == 0x3A }) > 1 { return IPAddress(Substring(text))?.unmapped }
        guard let place = try? HostPort(authority: Substring(text)),
            place.portText.map({ HostPort.port($0, least: 0) != nil }) ?? true,
            !place.isBracketed || place.host.utf8.contains(0x3A)
        else { return nil }
        return IPAddress(place.host)?.unmapped
    }

    /// The network of an address, /48 of IPv6 or /24 of IPv4, by which what strangers report is weighed: a smaller one costs nothing.
    package static func network(of address: String) -> String {
        guard let read = IPAddress(scoped: address)?.unmapped else { return address }
        return AddressRange(around: read, prefixLength: read.isIPv4 ? 24 : 48)?.base.description ?? address
    }

    /// The network of the provider of an IPv6 address, /32: a customer may have hundreds of /48 in it, but no other gets as many /24 of IPv4. Nil
    /// for IPv4.
    package static func provider(of address: String) -> String? {
        guard let read = IPAddress(scoped: address)?.unmapped, !read.isIPv4 else { return nil }
        return AddressRange(around: read, prefixLength: 32)?.base.description
    }

    /// The name of the bucket: an IPv6 network of 64 bits is one caller, and an IPv4-mapped address is the IPv4 address.
    package static func bucket(of address: String) -> String {
        guard let read = IPAddress(scoped: address)?.unmapped else { return address }
        if read.isIPv4 { return read.description }
        return read.bytes.prefix(8).map { String($0, radix: 16) }.joined(separator: ":")
    }
}

/// Counts the requests of each operation that are being answered; more than the limit are refused.
///
/// Without a limit a node that gets more than it can handle answers each request later than the one before. Operations are apart, so that one
/// whose part of the store hangs takes nothing from the others.
package final class RequestsInFlight: Sendable {
    /// The most of one operation.
    package let limit: Int
    private let counts: Mutex<[String: Int]>

    /// - Parameters:
    ///   - limit: nil for 64 for each core, of a container those that it may use.
    ///   - operations: those that are listed before their first request.
    package init(limit: Int?, operations: [String]) {
        self.limit = limit ?? 64 * System.coreCount
        counts = Mutex(Dictionary(operations.map { ($0, 0) }, uniquingKeysWith: { first, _ in first }))
    }

    /// How many there are of each operation.
    package var all: [String: Int] { counts.withLock { $0 } }

    /// Takes a place; false if there is none.
    package func take(_ operation: String) -> Bool {
        counts.withLock { counts in
            let count = counts[operation, default: 0]
            if count < limit { counts[operation] = count + 1 }
            return count < limit
        }
    }

    /// Gives a place back.
    package func leave(_ operation: String) { counts.withLock { $0[operation, default: 1] -= 1 } }
}
