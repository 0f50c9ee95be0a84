// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppTransportSecurity
package import FoundationEssentials
public import NIOCore
import NIOPosix
package import TLSModel
public import TLSProbe
public import Vocabulary

extension ATSClient {
    /// What a client does apart from its policy. Every default is safe; times are durations, sizes are bytes.
    public struct Configuration: Sendable {
        /// For one connection: TCP and TLS together.
        public var connectTimeout: Duration = .seconds(10)
        /// For a whole load, redirects and body included; nil for no limit.
        public var totalTimeout: Duration? = .seconds(60)
        /// Between two pieces of an answer.
        public var idleTimeout: Duration? = .seconds(30)
        /// How long an unused connection is kept.
        package var keepAlive: Duration = .seconds(60)
        /// Connections to one host and port; each carries one request at a time.
        public var connectionsPerHost = 8
        /// Nil: redirects are not followed and are answers like any other.
        public var redirectLimit: Int? = 20
        /// All header fields of an answer together.
        package var headerLimit = 64 * 1024
        package var headerCountLimit = 128
        /// The body of an answer; nil for no limit.
        public var bodyLimit: Int?
        /// Offers HTTP/2.
        public var offersHTTP2 = true
        /// Places that are not looked up, as curl's `--resolve`.
        public var addressOverrides: [AddressOverride] = []
        /// Loads what the policy refuses and reports it in ``ATSResponse/wouldRefuse``.
        public var isMonitoring = false
        /// A body that only the end of the connection ends is complete even if TLS was not closed properly, as URLSession has it.
        package var toleratesUncleanClose = false
        /// Whether a redirect may lead to any network; otherwise to public addresses and those of the server's own kind. Metadata services and
        /// link-local addresses are never led to.
        package var mayRedirectToPrivateAddresses = false
        /// Whether the app's own code accepts certificates which trust evaluation refused, where the dictionary permits insecure loads for the
        /// host.
        package var acceptsUntrusted = false
        /// The clock that certificates are judged by.
        package var now: @Sendable () -> Date = SystemClock.now
        /// Where connections live.
        public var eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
        /// Before all other overrides: where one host and port is known to be.
        package var pinnedAddress: AddressOverride?
        /// What kind of address a server has.
        package var kind: @Sendable (SocketAddress) -> AddressKind = { AddressKind($0) }
        /// Connections of all hosts together that are kept for the request of another load; a proxy's loads are those of different people.
        package var restingConnections = 256
        /// Addresses of one host that are tried at the same time.
        package var parallelAttempts = 16
        /// Why an address must not be connected to at all; nil if it may.
        package var forbids: @Sendable (SocketAddress) -> String? = { _ in nil }
        /// For Certificate Transparency; nil leaves that rule a note.
        public var transparencyLogs: CTLogList?
        /// Whether each new connection is preceded by the hello of the system, which shows what the library that loads does not ask for: a stapled
        /// response, timestamps, an address as the name of the server.
        package var asksAsTheSystem = false
        /// Whether Certificate Transparency is judged at all; not where somebody else judges it who sees all timestamps.
        package var judgesTransparency = true

        /// Judges Certificate Transparency against no list of logs: set ``transparencyLogs`` for that.
        public init() {}
    }
}

extension CTLogList {
    /// Reads a log list as browsers publish it; the signatures of timestamps are checked with its keys.
    ///
    /// - Throws: `MalformedInput` with code `malformed.ct-log-list` if there are no operators with logs in it.
    public init(json bytes: [UInt8]) throws(MalformedInput) {
        try self.init(json: bytes, verifier: TimestampVerifier())
    }
}
