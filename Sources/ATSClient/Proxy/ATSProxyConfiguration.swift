// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppTransportSecurity
package import ConnectionAdmission
package import NIOCore
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
        /// The certificate and key that the next client of the proxy sees; nil for plain HTTP.
        package var identity: (@Sendable () -> ListenerIdentity)?
        /// Whether clients on other machines may reach the private network of this one; they never reach what listens on its loopback.
        public var allowsPrivate = false
        /// Lets everything pass and logs what would have been refused.
        public var isMonitoring = false
        /// Connections at a time, those with clients and those with servers together: a tunnel counts twice, and so does a request that is
        /// being decided or forwarded. A client over it is closed at once. The default follows from the limit of descriptors of the process
        /// (`ulimit -n`) with a reserve, and a higher value is cut to it.
        public var connectionLimit: Int
        /// The same for one client: an IPv4 address, or an IPv6 network of 64 bits. By default half of ``connectionLimit``.
        public var connectionsPerAddress: Int
        /// Bytes of all header fields of one request together.
        package var headerLimit = 32 * 1024
        package var headerCountLimit = 128
        /// How long the verdict about one host, port and address is remembered.
        package var probeLifetime: Duration = .seconds(60)
        /// Verdicts that are remembered at a time.
        package var probeCapacity = 4096
        /// For one connection to a server, the probe's hello included.
        package var connectTimeout: Duration = .seconds(10)
        /// A tunnel without a byte in either direction for this long is closed, and a server that sends nothing of its answer is given up.
        package var idleTimeout: Duration = .seconds(300)
        /// For the header fields of a request, from its first byte, and between two pieces of its body.
        package var requestTimeout: Duration = .seconds(30)
        /// Between two requests of one connection.
        package var keepAlive: Duration = .seconds(75)
        /// For the decision about a CONNECT: name, probe, judgement and connection together. A client that waited longer gets 504.
        package var decisionTimeout: Duration = .seconds(30)
        /// A client that takes nothing of an answer for this long is cut off.
        package var answerTimeout: Duration = .seconds(60)
        /// For one plain HTTP request, from its head to the end of its answer.
        package var exchangeTimeout: Duration = .seconds(3600)
        /// For one connection of a client, tunnels included.
        package var connectionLifetime: Duration = .seconds(86_400)
        /// Places that are not looked up, as curl's `--resolve`.
        public var addressOverrides: [AddressOverride] = []
        /// For Certificate Transparency; nil leaves that rule a note.
        public var transparencyLogs: CTLogList?
        package var eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton

        /// Takes its limits on connections from the descriptors that this process may open.
        public init() {
            let limits = DescriptorLimit.current().limits()
            connectionLimit = limits.total
            connectionsPerAddress = limits.perAddress
        }

        /// The caps, cut to what the descriptors of the process allow.
        var admission: Admission.Limits {
            let total = min(connectionLimit, DescriptorLimit.current().limits().total)
            return Admission.Limits(total: total, perAddress: min(connectionsPerAddress, total))
        }
    }
}
