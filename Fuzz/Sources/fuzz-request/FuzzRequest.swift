// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import FuzzDriver
import Logging
import TrustService
import TrustStores

#if canImport(Glibc)
    import Glibc
#endif

/// Heads and bodies of requests, with bearer tokens and `X-Forwarded-For` in them, over a socket to a running service. Nothing may crash,
/// whatever is answered is HTTP, and nothing takes longer than two seconds.
@main
enum FuzzRequest {
    static let configuration = #"""
        {"listen": "127.0.0.1:0", "trustedProxies": ["127.0.0.1"], "limits": {"requestsPerSecondPerAddress": 1000000000},
         "receipts": {"refresh": "off"}, "apps": [{"id": "shop", "teamId": "ABCDE12345", "bundleIds": ["com.example.shop"]}]}
        """#

    static func main() {
        let lines = AsyncStream<String>.makeStream()
        let done = DispatchSemaphore(value: 0)
        let port = Port()
        Task.detached {
            do {
                let server = try await TrustServer(
                    configuration: TrustServer.Configuration(json: Array(configuration.utf8)),
                    store: Store.inMemory(),
                    log: Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() },
                    announce: { lines.continuation.yield($0) }
                )
                try await server.run()
            } catch {
                fatalError("the service ended: \(error)")
            }
        }
        Task.detached {
            for await line in lines.stream {
                port.set(line.split(separator: ":").last.flatMap { UInt16($0) } ?? 0)
                break
            }
            done.signal()
        }
        done.wait()
        let number = port.get()
        FuzzDriver.run(corpus: "request") { input in send(input, to: number) }
    }

    /// Sends one input, ends its side, and reads until the service has closed.
    private static func send(_ input: [UInt8], to port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        // Two seconds without a byte, as a `timeval`.
        let patience = (2, 0)
        withUnsafeBytes(of: patience) {
            _ = setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, $0.baseAddress, socklen_t($0.count))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { return }
        // The rest of a long input may wait for a service that has closed: what the system takes at once is enough.
        _ = input.withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        }
        shutdown(descriptor, Int32(SHUT_WR))
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0, errno == EAGAIN { fatalError("the service is silent") }
            guard count > 0 else { break }
            if answer.count < 16 { answer += buffer[..<min(count, 16)] }
        }
        guard answer.isEmpty || answer.starts(with: "HTTP/1.".utf8) else { fatalError("an answer that is no HTTP") }
    }
}

/// A number that one task writes and another reads.
private final class Port: @unchecked Sendable {
    private let lock = NSLock()
    private var value: UInt16 = 0

    func set(_ value: UInt16) { lock.withLock { self.value = value } }
    func get() -> UInt16 { lock.withLock { value } }
}
