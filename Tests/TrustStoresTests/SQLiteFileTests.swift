// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing
import TrustStoreContract
import Vocabulary

@testable import TrustStores

/// Who may read a store, and what happens if the disk does not do what it should.
@Suite struct SQLiteFileTests {
    let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func mode(_ path: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber).intValue
    }

    private func write(_ store: SQLTrustStore) async throws {
        _ = try await store.secret(named: UUID().uuidString, orElse: [UInt8](repeating: 7, count: 400))
    }

    @Test("a new store and its neighbors are for their owner alone")
    func newStore() async throws {
        let path = folder.path("new.sqlite")
        let store = try SQLTrustStore.sqlite(at: path)
        try await write(store)
        for suffix in ["", "-wal", "-shm"] { #expect(try mode(path + suffix) == 0o600, "\(suffix)") }
        await store.close()
    }

    @Test(
        "a store that everybody could read is closed to them; one that its group may read is left, and both are reported"
    )
    func oldStore() async throws {
        let path = folder.path("old.sqlite")
        let first = try SQLTrustStore.sqlite(at: path)
        try await write(first)
        for suffix in ["", "-wal", "-shm"] { chmod(path + suffix, 0o644) }
        let seen = Observed()
        let second = try SQLTrustStore.sqlite(at: path, observe: { seen.add($0) })
        for suffix in ["", "-wal", "-shm"] { #expect(try mode(path + suffix) == 0o600, "\(suffix)") }
        #expect(seen.kinds == [.exposedFile, .exposedFile, .exposedFile])
        try await write(second)
        await second.close()
        // Whoever opened it first still has its locks, and works.
        try await write(first)
        await first.close()
        chmod(path, 0o640)
        let third = try SQLTrustStore.sqlite(at: path, observe: { seen.add($0) })
        #expect(try mode(path) == 0o640 && seen.kinds.count == 4)
        await third.close()
    }

    @Test("a path that is no file, and a folder in which everybody may replace it, are named in one sentence")
    func noFile() async throws {
        let open = folder.path("open")
        try FileManager.default.createDirectory(atPath: open + "/in", withIntermediateDirectories: true)
        chmod(open, 0o777)
        mkfifo(folder.path("pipe"), 0o600)
        symlink(folder.path("nothing"), folder.path("dangling"))
        symlink(open + "/s.sqlite", folder.path("into-open"))
        symlink("/dev/null", folder.path("to-device"))
        mkfifo(folder.path("side.sqlite-wal"), 0o600)
        let cases = [
            (open, "is a folder"), (open + "/s.sqlite", "everybody may replace"),
            (open + "/in/s.sqlite", "everybody may replace"),
            (folder.path("pipe"), "not a regular file"),
            ("/dev/zero", "not a regular file"), (folder.path("dangling"), "broken link"),
            (folder.path("to-device"), "not a regular file"), (folder.path("side.sqlite"), "not a regular file"),
        ]
        for (path, words) in cases {
            let fault = #expect(throws: StoreFault.self) { _ = try SQLTrustStore.sqlite(at: path) }
            #expect(
                fault?.code == "store.configuration" && fault?.reason.contains(words) == true,
                "\(path): \(fault as Any)")
        }
        // A link to a file of one's own is good.
        let real = try SQLTrustStore.sqlite(at: folder.path("real.sqlite"))
        await real.close()
        symlink(folder.path("real.sqlite"), folder.path("link.sqlite"))
        let linked = try SQLTrustStore.sqlite(at: folder.path("link.sqlite"))
        try await write(linked)
        await linked.close()
    }

    @Test("where everybody may add files, as in /tmp, the store opens with a warning")
    func stickyFolder() async throws {
        let sticky = folder.path("sticky")
        try FileManager.default.createDirectory(atPath: sticky, withIntermediateDirectories: true)
        chmod(sticky, 0o1777)
        let seen = Observed()
        let store = try SQLTrustStore.sqlite(at: sticky + "/s.sqlite", observe: { seen.add($0) })
        #expect(seen.kinds == [.exposedFile])
        await store.close()
    }

    @Test("a writer that is stuck: callers are answered in time, later ones at once, and all is well when it goes on")
    func stuckWriter() async throws {
        let seen = Observed()
        let engine = try SQLiteEngine(
            path: folder.path("stuck.sqlite"), migrations: .sqlite, answerTimeout: .milliseconds(400),
            observe: { seen.add($0) })
        let store = SQLTrustStore(engine: engine, schema: [Migration].sqlite.newest, clock: .system)
        let gate = DispatchSemaphore(value: 0)
        defer { gate.signal() }
        let start = ContinuousClock.now
        let first = Task {
            try await engine.transact { session in
                gate.wait()
                try session.run("INSERT INTO secrets (name, value) VALUES ('late', x'01')")
                return .commit(())
            }
        }
        let others = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<50 { group.addTask { (try? await write(store)) == nil } }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(others == 50)
        await #expect(throws: StoreFault.unavailable("")) { try await first.value }
        #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(30) && seen.kinds.contains(.overdue))
        let before = ContinuousClock.now
        await #expect(throws: StoreFault.unavailable("")) { try await write(store) }
        #expect(Measuring.isOff || ContinuousClock.now - before < .seconds(10))
        gate.signal()
        try await eventually("the writer goes on") { (try? await write(store)) != nil }
        await store.close()
    }

    @Test("a writer that is stuck for good does not hold up the end of the program")
    func stuckClose() async throws {
        let store = SQLTrustStore(
            engine: try SQLiteEngine(path: folder.path("end.sqlite"), migrations: .sqlite),
            schema: [Migration].sqlite.newest, clock: .system)
        let gate = DispatchSemaphore(value: 0)
        defer { gate.signal() }
        let entered = AsyncStream<Void>.makeStream()
        let stuck = Task {
            try await store.engine.transact { _ in
                entered.continuation.yield()
                gate.wait()
                return .commit(())
            }
        }
        for await _ in entered.stream { break }
        let start = ContinuousClock.now
        await store.close()
        #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(30))
        await #expect(throws: StoreFault.unavailable("")) { try await stuck.value }
    }

    @Test("an index that lacks a key is damage, and is told")
    func staleIndex() async throws {
        let path = folder.path("s.sqlite")
        func transact(_ body: @escaping @Sendable (any SQLSession) throws -> Void) async throws {
            let store = try SQLTrustStore.sqlite(at: path)
            try await store.engine.transact { session in
                try body(session)
                return .commit(())
            }
            await store.close()
        }
        let store = try SQLTrustStore.sqlite(at: path)
        _ = try await store.insert(Sample.registration(user: "anna"), spending: Sample.challenge(), at: Sample.now)
        #expect(try await store.inspect(at: Sample.now).problems.isEmpty)
        let page = try await store.engine.read { session in
            try session.row("SELECT rootpage FROM sqlite_schema WHERE name = 'keys_by_user'")?.integer(0) ?? 0
        }
        let text = try await store.engine.read { session in
            try session.row("SELECT sql FROM sqlite_schema WHERE name = 'keys_by_user'")?.text(0) ?? ""
        }
        await store.close()
        // The table changes while nobody knows of the index.
        try await transact { session in
            try session.run("PRAGMA writable_schema = ON")
            try session.run("DELETE FROM sqlite_schema WHERE name = 'keys_by_user'")
        }
        try await transact { session in
            try session.run("UPDATE attested_keys SET user_name = 'bert'")
            try session.run("PRAGMA writable_schema = ON")
            try session.run(
                "INSERT INTO sqlite_schema VALUES ('index', 'keys_by_user', 'attested_keys', $1, $2)", .integer(page),
                .text(text))
        }
        let damaged = try SQLTrustStore.sqlite(at: path)
        #expect(
            try await damaged.inspect(at: Sample.now).problems.contains {
                $0.contains("missing from index keys_by_user")
            }
        )
        await damaged.close()
    }

    @Test("a store that was closed is one file, whatever was read from it")
    func closed() async throws {
        let path = folder.path("s.sqlite")
        let store = try SQLTrustStore.sqlite(at: path)
        _ = try await store.secret(named: "kept", orElse: [1])
        // The readers of single rows, and those of questions.
        _ = try await store.key(Sample.keyId())
        _ = try await store.keyCounts()
        await store.close()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() == ["s.sqlite"])
        let copy = try SQLTrustStore.sqlite(at: path)
        #expect(try await copy.secret(named: "kept", orElse: [2]) == [1])
        await copy.close()
    }

    @Test("nothing is answered as committed while the store's file or its log is not where it was")
    func replaced() async throws {
        let path = folder.path("s.sqlite")
        let store = try SQLTrustStore.sqlite(at: path)
        _ = try await store.secret(named: "before", orElse: [1])
        #expect(rename(path, path + ".away") == 0)
        await #expect(throws: StoreFault.unavailable("")) { try await write(store) }
        // A backup that somebody copies there while the service runs.
        try Data().write(to: URL(fileURLWithPath: path))
        await #expect(throws: StoreFault.unavailable("")) { try await write(store) }
        await #expect(throws: StoreFault.unavailable("")) { try await store.check() }
        #expect(rename(path + ".away", path) == 0)
        try await write(store)
        #expect(rename(path + "-wal", path + ".log") == 0)
        await #expect(throws: StoreFault.unavailable("")) { try await write(store) }
        #expect(rename(path + ".log", path + "-wal") == 0)
        try await write(store)
        await store.close()
        let again = try SQLTrustStore.sqlite(at: path)
        #expect(try await again.secret(named: "before", orElse: [2]) == [1])
        await again.close()
    }

    @Test(
        "a full disk: faults in time, and recovery without a new store", .enabled(if: SmallDisk.canBeMade, "needs root")
    )
    func fullDisk() async throws {
        let disk = try #require(SmallDisk())
        let store = try SQLTrustStore.sqlite(at: disk.path("s.sqlite"))
        try await write(store)
        let filler = open(disk.path("filler"), O_CREAT | O_WRONLY, 0o600)
        let block = [UInt8](repeating: 1, count: 4096)
        while Glibc.write(filler, block, block.count) > 0 {}
        close(filler)
        var faults = 0
        for _ in 0..<50 {
            do { try await write(store) } catch let fault as StoreFault {
                #expect(fault.code == "store.unavailable")
                faults += 1
            }
        }
        #expect(faults > 0)
        unlink(disk.path("filler"))
        for _ in 0..<50 { try await write(store) }
        await store.close()
    }

    @Test(
        "a read-only disk is one sentence, and no fault any more once it can be written",
        .enabled(if: SmallDisk.canBeMade, "needs root"))
    func readOnlyDisk() async throws {
        let disk = try #require(SmallDisk())
        let path = disk.path("s.sqlite")
        let store = try SQLTrustStore.sqlite(at: path)
        try await write(store)
        await store.close()
        try #require(disk.remount("ro"))
        let fault = #expect(throws: StoreFault.self) { _ = try SQLTrustStore.sqlite(at: path) }
        #expect(fault?.code == "store.unavailable")
        #expect(throws: StoreFault.unavailable("")) { _ = try SQLTrustStore.sqlite(at: disk.path("new.sqlite")) }
        try #require(disk.remount("rw"))
        let again = try SQLTrustStore.sqlite(at: path)
        try await write(again)
        await again.close()
    }
}

/// A file system of two megabytes in memory, which only root may mount.
private final class SmallDisk: Sendable {
    static let canBeMade = SmallDisk() != nil
    private let folder: TemporaryDirectory

    init?() {
        guard geteuid() == 0, let folder = try? TemporaryDirectory() else { return nil }
        self.folder = folder
        guard run("mount", ["-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs", folder.url.path]) else { return nil }
    }

    func path(_ name: String) -> String { folder.path(name) }

    func remount(_ options: String) -> Bool { run("mount", ["-o", "remount,\(options)", folder.url.path]) }

    private func run(_ program: String, _ arguments: [String]) -> Bool {
        (try? ProgramRun(URL(fileURLWithPath: "/usr/bin/" + program), arguments).status) == 0
    }

    deinit { _ = run("umount", ["-l", folder.url.path]) }
}

/// What a store observed.
private final class Observed: Sendable {
    private let seen = Mutex<[StoreObservation.Kind]>([])
    /// Without the gauge of waiting callers, which depends on when the clock's thread looks.
    var kinds: [StoreObservation.Kind] { seen.withLock { $0 }.filter { $0 != .waiting } }
    func add(_ observation: StoreObservation) { seen.withLock { $0.append(observation.kind) } }
}
