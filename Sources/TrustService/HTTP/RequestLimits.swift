// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// Token buckets by name: each holds two seconds' worth of its rate.
///
/// Memory is bounded: when the table is full, the buckets that have filled up again are forgotten, which changes nothing for
/// their owners; where none has, the newcomer shares one bucket with all other newcomers.
package final class RequestLimits: Sendable {
    private struct Bucket {
        var tokens: Double
        var at: Double
    }

    private let rate: Double
    private let capacity: Double
    private let tableLimit: Int
    private let buckets = NIOLockedValueBox<[String: Bucket]>([:])

    package init(perSecond: Double, burst: Double? = nil, tableLimit: Int = 65536) {
        rate = perSecond
        capacity = max(burst ?? perSecond * 2, 1)
        self.tableLimit = tableLimit
    }

    /// Takes one token.
    ///
    /// - Parameter at: seconds of a clock that never goes back.
    /// - Returns: nil where the request may pass, otherwise after how many seconds the next token is there.
    package func take(_ name: String, at: Double) -> Double? {
        buckets.withLockedValue { buckets in
            var name = name
            if buckets[name] == nil, buckets.count >= tableLimit {
                buckets = buckets.filter { $0.value.tokens + (at - $0.value.at) * rate < capacity }
                if buckets.count >= tableLimit { name = "" }
            }
            var bucket = buckets[name] ?? Bucket(tokens: capacity, at: at)
            bucket.tokens = min(capacity, bucket.tokens + max(0, at - bucket.at) * rate)
            bucket.at = max(at, bucket.at)
            defer { buckets[name] = bucket }
            guard bucket.tokens >= 1 else { return (1 - bucket.tokens) / rate }
            bucket.tokens -= 1
            return nil
        }
    }
}

/// Which address a request counts for.
package enum CallerAddress {
    /// The peer's address, or where the peer is a trusted proxy the last address in `X-Forwarded-For` that is not one.
    package static func resolve(peer: String, forwarded: String?, trusted: [AddressRange]) -> String {
        guard !trusted.isEmpty, let forwarded, trusted.contains(where: { $0.contains(peer) }) else { return peer }
        var address = peer
        for hop in forwarded.split(separator: ",").reversed() {
            let text = hop.trimmingPrefix { $0 == " " }.prefix { $0 != " " }
            guard AddressRange.bytes(of: String(text)) != nil else { break }
            address = String(text)
            if !trusted.contains(where: { $0.contains(address) }) { break }
        }
        return address
    }

    /// The name of the bucket: an IPv6 network of 64 bits is one caller.
    package static func bucket(of address: String) -> String {
        guard let bytes = AddressRange.bytes(of: address), bytes.count == 16 else { return address }
        return bytes.prefix(8).map { String($0, radix: 16) }.joined(separator: ":")
    }
}
