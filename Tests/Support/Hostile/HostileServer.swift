// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// A TLS server on a free loopback port that plays the row whose number its client asks for: the server name is `r12.hostile.example`.
///
/// Plain blocking sockets, a thread for each connection; nothing of the prober. It stops when it goes out of use.
package final class HostileServer: Sendable {
    package let port: Int
    private let listener: HeldPort

    /// The host of a row.
    package static func host(_ index: Int) -> String { "r\(index).\(HostileIdentity.domain)" }

    package init(_ rows: [TLSMisbehaviour] = TLSMisbehaviour.all) throws {
        listener = try HeldPort(isListening: true, backlog: 512)
        port = listener.port
        let socket = listener.descriptor
        Thread.detachNewThread { [weak self] in
            while true {
                let descriptor = accept(socket, nil, nil)
                guard descriptor >= 0 else { return }
                guard self != nil else {
                    close(descriptor)
                    return
                }
                let thread = Thread { HostileConnection(descriptor, rows).run() }
                thread.stackSize = 512 * 1024
                thread.start()
            }
        }
    }
}

/// One connection of a hostile server.
private final class HostileConnection {
    private let descriptor: Int32
    private let rows: [TLSMisbehaviour]
    /// No connection lives longer, whatever the client does.
    private let end = Date().addingTimeInterval(60)
    private var received: [UInt8] = []

    init(_ descriptor: Int32, _ rows: [TLSMisbehaviour]) {
        self.descriptor = descriptor
        self.rows = rows
        var patience = timeval(tv_sec: 20, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    func run() {
        defer { close(descriptor) }
        guard let hello = nextHello(), let name = hello.serverName, let row = HostileConnection.row(name, rows) else {
            return
        }
        var session = HostileSession(hello)
        while true {
            guard !row.isModern || session.hello.share != nil || session.round > 0 else {
                _ = send(Bytes.alert(2, 70))
                return
            }
            guard let last = play(row.play(&session)), let next = nextHello() else { return }
            let first = session
            session = HostileSession(next)
            session.goOn(after: first, retry: last)
        }
    }

    private static func row(_ name: String, _ rows: [TLSMisbehaviour]) -> TLSMisbehaviour? {
        let index = name.dropFirst().split(separator: ".").first.flatMap { Int($0) }
        return index.flatMap { rows.indices.contains($0) ? rows[$0] : nil }
    }

    /// The message that was sent last, if the script waits for another hello; nil when it is over.
    private func play(_ acts: [TLSMisbehaviour.Act]) -> [UInt8]? {
        var last: [UInt8] = []
        for act in acts {
            switch act {
            case .send(let bytes):
                last = bytes
                guard send(bytes) else { return nil }
            case .flood(let bytes, let limit):
                let chunk = [[UInt8]](repeating: bytes, count: max(1, 4096 / max(1, bytes.count))).flatMap(\.self)
                var sent = 0
                while sent < limit {
                    guard send(chunk) else { return nil }
                    sent += chunk.count
                }
            case .awaitHello: return TLSMisbehaviour.messages(inRecords: last)
            case .close:
                finish()
                return nil
            case .reset:
                var now = linger(l_onoff: 1, l_linger: 0)
                setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
                return nil
            case .stall:
                while receive() {}
                return nil
            }
        }
        while receive() {}
        return nil
    }

    /// Ends in good order: the other side reads everything before it sees the end.
    private func finish() {
        shutdown(descriptor, Int32(SHUT_WR))
        while receive() {}
    }

    private func nextHello() -> SeenHello? {
        received = []
        while Date() < end {
            guard receive() else { return nil }
            // What stands before a hello in the second flight is a ChangeCipherSpec.
            if let hello = SeenHello(records: received) { return hello }
        }
        return nil
    }

    private func receive() -> Bool {
        guard Date() < end else { return false }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return false }
        if received.count < 1 << 20 { received += buffer.prefix(count) }
        return true
    }

    private func send(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty, Date() < end {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return rest.isEmpty
    }
}

extension TLSMisbehaviour {
    /// The handshake messages in records that are in the clear.
    package static func messages(inRecords records: [UInt8]) -> [UInt8] {
        var messages: [UInt8] = []
        var at = 0
        while at + 5 <= records.count {
            let length = Int(records[at + 3]) << 8 | Int(records[at + 4])
            guard at + 5 + length <= records.count else { break }
            messages += records[(at + 5)..<(at + 5 + length)]
            at += 5 + length
        }
        return messages
    }
}
