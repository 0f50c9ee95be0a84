// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import NIOCore
import NIOPosix
public import TLSProbe

extension ATSProxy {
    /// What the proxy does apart from its policy. The defaults are safe: loopback only, everything bounded.
    public struct Configuration: Sendable {
        /// The address to listen on. Anything but loopback needs ``credentials``.
        public var listenAddress = "127.0.0.1"
        /// 0 takes a free port.
        public var port = 8843
        /// Who may use the proxy, as `user:password`; nil asks for nothing, which is allowed on loopback only.
        public var credentials: Set<String>?
        /// Lets everything pass and logs what would have been refused.
        public var isMonitoring = false
        /// Clients that are connected at a time; more are turned away with 503.
        public var connectionLimit = 512
        /// Bytes of all header fields of one request together.
        public var headerLimit = 32 * 1024
        /// The most header fields of a request.
        public var headerCountLimit = 128
        /// How long the verdict about one host, port and address is remembered.
        public var probeLifetime: Duration = .seconds(60)
        /// Verdicts that are remembered at a time.
        public var probeCapacity = 4096
        /// For one connection to a server, the probe's hello included.
        public var connectTimeout: Duration = .seconds(10)
        /// A connection without a byte in either direction for this long is closed.
        public var idleTimeout: Duration = .seconds(300)
        /// Between connecting and the end of a request's header fields.
        public var requestTimeout: Duration = .seconds(30)
        /// Places that are not looked up, as curl's `--resolve`.
        public var addressOverrides: [AddressOverride] = []
        /// Where connections live.
        public var eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton

        /// The defaults, as each property states them.
        public init() {}
    }
}
