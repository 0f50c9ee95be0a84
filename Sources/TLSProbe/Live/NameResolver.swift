// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
import NIOPosix
package import TLSModel
import Vocabulary

/// Turns a host name into all of its addresses, IPv6 and IPv4, in the system's order of preference (RFC 6724).
public struct NameResolver: Sendable {
    /// Either at least one address, or why there is none.
    package enum Resolution: Sendable, Equatable {
        /// What the name resolved to, in the resolver's order.
        case addresses([SocketAddress])
        /// Why there is no address.
        case failed(ConnectionFailure)
    }

    /// Gives the addresses that a host and port may have.
    package typealias Limits = @Sendable (_ host: String, _ port: Int) -> FetchScope

    /// What an override is found by: thousands of targets come with thousands of overrides.
    private struct Place: Hashable {
        let host: UTF8Key
        let port: Int
    }

    private let index: [Place: [SocketAddress]]
    /// Which addresses a place may have, whoever asks for it; nil for any. Overrides are the user's own word.
    private let limits: Limits?
    private let threads: LookUpThreads
    private let lookUp: @Sendable (String, Int) -> Resolution

    /// The system's resolver, apart from the places that these overrides name; of two for one place the later one counts.
    public init(overrides: [AddressOverride] = []) { self.init(overrides: overrides, limits: nil) }

    /// The same within limits.
    package init(overrides: [AddressOverride], limits: Limits?) {
        self.init(overrides: overrides, limits: limits, threads: .shared, lookUp: NameResolver.lookUp)
    }

    /// - Parameter lookUp: asks for a name and port, and may block for as long as it likes.
    init(
        overrides: [AddressOverride] = [], limits: Limits? = nil, threads: LookUpThreads,
        lookUp: @escaping @Sendable (String, Int) -> Resolution
    ) {
        self.limits = limits
        self.threads = threads
        self.lookUp = lookUp
        index = Dictionary(overrides.map { (Place(host: UTF8Key($0.host), port: $0.port), $0.places) }) { _, later in
            later
        }
    }

    /// The addresses of a host and port, from the overrides or from the system, whose look-up goes on by itself after a timeout.
    ///
    /// - Parameters:
    ///   - host: a name, or an address literal with or without brackets.
    ///   - timeout: after it the answer is ``silence``. If it is zero, nothing is looked up; then, and when the task is cancelled, the answer is
    ///     `ConnectionFailure.timeout`.
    package func resolve(host: String, port: Int, timeout: Duration = .seconds(10)) async -> Resolution {
        guard host.utf8.count <= NameResolver.longestName else {
            return .failed(.nameNotFound("it is longer than \(NameResolver.longestName) bytes"))
        }
        let name = AddressOverride.withoutBrackets(host)
        if let replaced = replacement(name, port) {
            return replaced.isEmpty ? .failed(.nameNotFound("the override has no address")) : .addresses(replaced)
        }
        let answer = await found(name, port, timeout)
        guard let limits, case .addresses(let all) = answer else { return answer }
        let allowed = all.filter(limits(name, port).allows)
        return allowed.isEmpty ? .failed(.unreachable(NameResolver.outOfBounds)) : .addresses(allowed)
    }

    /// A resolver that stays silent: the host itself was never asked.
    package static let silence = ConnectionFailure.nameNotFound("the resolver of this machine does not answer in time")
    private static let outOfBounds = "its address is in a private network or on this machine, and was not allowed"

    private func found(_ name: String, _ port: Int, _ timeout: Duration) async -> Resolution {
        if let literal = try? SocketAddress(ipAddress: name, port: port) { return .addresses([literal]) }
        guard timeout > .zero else { return .failed(.timeout) }
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        // The first of look-up, timer and cancellation answers.
        let answer = loop.makePromise(of: Resolution.self)
        let end = NIODeadline.now() + TimeAmount(timeout)
        let timer = loop.scheduleTask(deadline: end) { answer.succeed(.failed(NameResolver.silence)) }
        defer { timer.cancel() }
        return await withTaskCancellationHandler {
            threads.submit(.init(end: end) { answer.succeed(lookUp(name, port)) })
            return (try? await answer.futureResult.get()) ?? .failed(.timeout)
        } onCancel: {
            answer.succeed(.failed(.timeout))
        }
    }

    private func replacement(_ name: String, _ port: Int) -> [SocketAddress]? {
        guard !index.isEmpty else { return nil }
        return index[Place(host: UTF8Key(name.lowercased()), port: port)] ?? index[Place(host: "*", port: port)]
    }

    private static func lookUp(_ name: String, _ port: Int) -> Resolution {
        let found = (try? SystemLookUp.addresses(of: name, limit: maximumAddresses)) ?? []
        let addresses = found.compactMap { try? SocketAddress(ipAddress: $0, port: port) }
        return addresses.isEmpty
            ? .failed(.nameNotFound("the resolver of this machine gives no address for it")) : .addresses(addresses)
    }

    /// A DNS name has at most 253 bytes (RFC 1035 section 2.3.4); a dot and brackets may come with it.
    private static let longestName = 256

    /// No name needs more; the limit keeps a hostile zone from costing hours of connection attempts.
    static let maximumAddresses = 16
}
