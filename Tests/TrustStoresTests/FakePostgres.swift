// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport

/// Speaks just enough of PostgreSQL's protocol to stop in the middle of it.
final class FakePostgres: Sendable {
    /// What goes wrong, and when.
    enum Fault: String, Sendable, CaseIterable {
        case silentAtOnce, silentAfterStartup, silentAfterLogin
        case closesAtOnce, closesAfterStartup, closesAfterLogin
        case cutMessageInLogin, cutMessageInAnswer
        case garbage, lyingLengthInLogin, lyingLengthInAnswer
        case endlessNoticesInLogin, endlessNoticesInAnswer, oneByteNowAndThen, endlessRows
    }

    let port: Int
    private let listener: Int32
    private let state = Mutex<(descriptors: [Int32], isOver: Bool)>(([], false))

    init(_ fault: Fault) throws {
        (listener, port) = try LoopbackListener.open()
        let (listener, state) = (listener, SendableReference(self))
        Thread.detachNewThread {
            while true {
                let client = accept(listener, nil, nil)
                if client < 0 { return }
                guard let fake = state.value else { return }
                fake.state.withLock { $0.descriptors.append(client) }
                Thread.detachNewThread { [weak fake] in fake?.serve(client, fault) }
            }
        }
    }

    /// How many clients have connected so far.
    var clients: Int { state.withLock { $0.descriptors.count } }

    func stop() {
        state.withLock { state in
            state.isOver = true
            for descriptor in [listener] + state.descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    var url: String { "postgres://u:topsecret@127.0.0.1:\(port)/db?sslmode=disable" }

    private func message(_ type: Character, _ body: [UInt8], length: UInt32? = nil) -> [UInt8] {
        let count = length ?? UInt32(body.count + 4)
        return [type.asciiValue ?? 0] + (0..<4).map { UInt8(truncatingIfNeeded: count >> UInt32(24 - 8 * $0)) } + body
    }

    private func serve(_ client: Int32, _ fault: Fault) {
        let notice = message("N", Array("SNOTICE\0VNOTICE\0C00000\0Mhello\0\0".utf8))
        let login =
            message("R", [0, 0, 0, 0]) + message("S", Array("server_version\0".utf8 + Array("15.0\0".utf8)))
            + message("K", [0, 0, 0, 1, 0, 0, 0, 2]) + message("Z", [UInt8(ascii: "I")])
        if fault == .closesAtOnce { return hangUp(client) }
        if fault == .garbage { send(client, (0..<2000).map { UInt8(truncatingIfNeeded: $0 &* 37) }) }
        guard fault != .silentAtOnce, receive(client) else { return }
        switch fault {
        case .silentAfterStartup: return
        case .closesAfterStartup: return hangUp(client)
        case .cutMessageInLogin:
            send(client, Array(login.prefix(12)))
            return hangUp(client)
        case .lyingLengthInLogin:
            send(client, message("S", [1, 2, 3], length: 0x7FFF_FFFF))
            return
        case .endlessNoticesInLogin: while send(client, notice) {}
        case .oneByteNowAndThen:
            send(client, message("R", [0, 0, 0, 0]))
            for byte in message("S", [UInt8](repeating: 97, count: 20_000)) {
                if !send(client, [byte]) { return }
                usleep(50_000)
            }
        default: break
        }
        send(client, login)
        guard fault != .silentAfterLogin, fault != .closesAfterLogin, receive(client) else {
            return fault == .closesAfterLogin ? hangUp(client) : ()
        }
        switch fault {
        case .cutMessageInAnswer:
            send(client, Array(message("C", Array("SET\0".utf8)).prefix(6)))
            hangUp(client)
        case .lyingLengthInAnswer: send(client, message("D", [0, 1], length: 0x7FFF_FFFF))
        case .endlessNoticesInAnswer: while send(client, notice) {}
        case .endlessRows:
            send(
                client,
                message(
                    "T",
                    [0, 1] + Array("a\0".utf8) + [0, 0, 0, 0, 0, 0, 0, 0, 0, 25, 255, 255, 255, 255, 255, 255, 0, 0]))
            let row = message("D", [0, 1, 0, 0, 4, 0] + [UInt8](repeating: 98, count: 1024))
            while send(client, row) { usleep(1000) }
        default: break
        }
    }

    @discardableResult private func send(_ client: Int32, _ bytes: [UInt8]) -> Bool {
        if state.withLock({ $0.isOver }) { return false }
        return Glibc.send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    private func receive(_ client: Int32) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 8192)
        return recv(client, &buffer, buffer.count, 0) > 0
    }

    private func hangUp(_ client: Int32) { shutdown(client, Int32(SHUT_RDWR)) }
}

/// Keeps a thread from keeping its owner.
private final class SendableReference<Value: AnyObject & Sendable>: Sendable {
    private let box: @Sendable () -> Value?
    init(_ value: Value) { box = { [weak value] in value } }
    var value: Value? { box() }
}

/// A listening socket on a free port of 127.0.0.1.
enum LoopbackListener {
    static func open() throws -> (descriptor: Int32, port: Int) {
        let port = try FreePort.take()
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard LoopbackAddress.with(port: port, { bind(descriptor, $0, $1) }) == 0, listen(descriptor, 64) == 0 else {
            close(descriptor)
            throw POSIXError(.EADDRINUSE)
        }
        return (descriptor, port)
    }

    /// A connection to a port of 127.0.0.1; nil if nothing listens there.
    static func connect(to port: Int) -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if LoopbackAddress.with(port: port, { Foundation.connect(descriptor, $0, $1) }) == 0 { return descriptor }
        close(descriptor)
        return nil
    }
}

/// Stands between a store and a real PostgreSQL, and can stop to pass on what it gets.
final class PostgresRelay: Sendable {
    enum Mode: Sendable {
        case open
        /// Logins pass; statements go nowhere.
        case holdsStatements
        /// The next COMMIT reaches the server, and its answer nobody; afterwards all is well.
        case losesOneCommit
        /// The next connection is closed at once; afterwards all is well.
        case refusesOneConnection
    }

    let port: Int
    private let listener: Int32
    private let server: Int
    private let state = Mutex<(mode: Mode, descriptors: [Int32])>((.open, []))

    init(to server: Int) throws {
        (listener, port) = try LoopbackListener.open()
        self.server = server
        Thread.detachNewThread { [listener, self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                let isRefused = state.withLock { state in
                    guard state.mode == .refusesOneConnection else { return false }
                    state.mode = .open
                    return true
                }
                guard !isRefused, let upstream = LoopbackListener.connect(to: server) else {
                    shutdown(client, Int32(SHUT_RDWR))
                    continue
                }
                state.withLock { $0.descriptors += [client, upstream] }
                Thread.detachNewThread { self.pass(from: client, to: upstream, isClient: true) }
                Thread.detachNewThread { self.pass(from: upstream, to: client, isClient: false) }
            }
        }
    }

    /// One before the shared server, with the connection string of an empty store through it, and that without it.
    static func beforeEmptyStore() async throws -> (relay: PostgresRelay, url: String, direct: String) {
        let (server, direct) = try await PostgresServer.sharedWithEmptyStore()
        let relay = try PostgresRelay(to: server.port)
        return (relay, direct.replacingOccurrences(of: ":\(server.port)/", with: ":\(relay.port)/"), direct)
    }

    func set(_ mode: Mode) { state.withLock { $0.mode = mode } }

    /// Ends all connections that are open now: nobody sends again what was swallowed.
    func stopConnections() {
        state.withLock { state in
            for descriptor in state.descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
            state.descriptors = []
        }
    }

    func stop() {
        state.withLock { state in
            for descriptor in [listener] + state.descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    private func pass(from source: Int32, to target: Int32, isClient: Bool) {
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = recv(source, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            let mode = state.withLock { $0.mode }
            // Whatever begins a login begins with the length of the packet.
            if mode == .holdsStatements, isClient, buffer[0] != 0 { continue }
            if mode == .losesOneCommit, isClient,
                String(decoding: buffer.prefix(count), as: UTF8.self).contains("COMMIT")
            {
                state.withLock { $0.mode = .open }
                shutdown(source, Int32(SHUT_RDWR))
                send(target, buffer, count, Int32(MSG_NOSIGNAL))
                usleep(50_000)
                break
            }
            guard send(target, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
        }
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(target, Int32(SHUT_RDWR))
    }
}
