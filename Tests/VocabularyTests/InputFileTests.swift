// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Vocabulary

/// Only regular files are opened, and the streams that somebody names.
struct InputFileTests {
    private func refusal(_ path: String, below folder: String? = nil) -> String? {
        do {
            _ = try InputFile.open(path, below: folder)
            return nil
        } catch {
            return error.reason
        }
    }

    /// None of them is opened: a named pipe without a writer would hold the test for ever.
    @Test(.timeLimit(.minutes(1)))
    func refusesByKind() throws {
        let folder = try TemporaryDirectory()
        let root = try #require(SystemFile.resolved(folder.url.path))
        #expect(mkfifo(folder.path("pipe"), 0o600) == 0)
        #expect(refusal(folder.path("pipe")) == "is a named pipe, not a file")
        #expect(symlink(folder.path("pipe"), folder.path("to-pipe")) == 0)
        #expect(refusal(folder.path("to-pipe")) == "is a link to a named pipe, not to a file")
        #expect(refusal("/dev/null") == "is a device, not a file")
        #expect(refusal(root) == "is a folder; name a file")
        #expect(refusal(folder.path("absent")) == "there is no such file")
        #expect(symlink(folder.path("absent"), folder.path("dangling")) == 0)
        #expect(refusal(folder.path("dangling")) == "is a broken link")
        let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array(folder.path("s").utf8)
        try #require(name.count < 100)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        #expect(isBound && refusal(folder.path("s")) == "is a socket, not a file")
    }

    @Test func linksStayBelowTheFolder() throws {
        let folder = try TemporaryDirectory()
        let inside = folder.path("inside")
        try FileManager.default.createDirectory(atPath: inside, withIntermediateDirectories: true)
        try Data("x".utf8).write(to: URL(fileURLWithPath: inside + "/file"))
        try Data("y".utf8).write(to: URL(fileURLWithPath: folder.path("inside-out")))
        #expect(symlink("file", inside + "/near") == 0 && symlink("../inside-out", inside + "/far") == 0)
        let root = try #require(SystemFile.resolved(inside))
        #expect(refusal(inside + "/near", below: root) == nil)
        #expect(refusal(inside + "/far", below: root)?.contains("leads out of the searched folder") == true)
        #expect(refusal(inside + "/far") == nil)
    }

    @Test func readsUpToTheLimit() throws {
        let folder = try TemporaryDirectory()
        let bytes = (0..<20_000).map { UInt8(truncatingIfNeeded: $0) }
        try Data(bytes).write(to: URL(fileURLWithPath: folder.path("a")))
        #expect(try InputFile.open(folder.path("a")).contents(limit: 20_000) == bytes)
        #expect(try InputFile.open(folder.path("a")).contents(limit: 100).count == 101)
        #expect(try InputFile.open(folder.path("a")).contents(limit: 0).count == 1)
        let file = try InputFile.open(folder.path("a"))
        #expect(file.bytes(at: 19_990, count: 10) == Array(bytes[19_990...]))
        #expect(file.bytes(at: 19_991, count: 10) == nil && file.bytes(at: -1, count: 1) == nil)
        #expect(file.bytes(at: .max, count: .max) == nil)
    }

    @Test func readsAStreamThatIsNamed() throws {
        let pipe = Pipe()
        try pipe.fileHandleForWriting.write(contentsOf: Data("hello, stream".utf8))
        try pipe.fileHandleForWriting.close()
        let input = try InputFile.open("/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)")
        #expect(input.isStream && input.bytes(at: 0, count: 1) == nil)
        let head = try input.next(5)
        #expect(head == Array("hello".utf8))
        let copy = try input.spooled(after: head, limit: 100)
        #expect(copy.size == 13 && copy.bytes(at: 7, count: 6) == Array("stream".utf8))
        #expect(refusal("/dev/fd/99999") == "there is no such file")
        #expect(refusal("/dev/fd/1x") == "there is no such file")
    }

    @Test func aStreamPastTheLimitIsNotKept() throws {
        let pipe = Pipe()
        try pipe.fileHandleForWriting.write(contentsOf: Data("hello, stream".utf8))
        try pipe.fileHandleForWriting.close()
        let input = try InputFile.open("/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)")
        #expect(throws: InputFault.self) { try input.spooled(after: [], limit: 12) }
    }

    /// Foundation for Linux ends the process for a folder of one letter.
    @Test(arguments: [
        ("a/Info.plist", "a", "Info.plist"), ("a", "", "a"), ("", "", ""), ("/", "/", ""), ("/a", "/", "a"),
        ("a/b/c.csproj", "a/b", "c.csproj"), ("a//b", "a", "b"), ("//a", "/", "a"),
    ]) func takesPathsApart(_ path: String, _ folder: String, _ name: String) {
        #expect(path.parentFolder == folder)
        #expect(path.lastName == name)
    }

    @Test(arguments: [("a.b/c", ""), ("a/b.csproj", "csproj"), ("b.", ""), ("a.tar.gz", "gz"), ("", "")])
    func suffixOfAName(_ path: String, _ suffix: String) { #expect(path.nameSuffix == suffix) }
}

/// Runs of combining marks, which make `String` slow, are recognised.
struct MarkRunTests {
    @Test(arguments: [
        ("", false), ("plain", false), (String(repeating: "e\u{301}", count: 1000), false),
        ("a" + String(repeating: "\u{301}", count: 30), false), ("a" + String(repeating: "\u{301}", count: 31), true),
        ("a" + String(repeating: "\u{301}\u{316}", count: 16) + "b", true),
        (String(repeating: "\u{4E2D}", count: 500), false), (String(repeating: "\u{1F600}", count: 500), false),
    ]) func isFound(_ text: String, _ expected: Bool) { #expect(text.hasMarkRun == expected) }

    @Test func cutsByBytes() {
        #expect("abc".prefix(bytes: 2) == "ab" && "\u{FC}\u{FC}".prefix(bytes: 3) == "\u{FC}")
        #expect(("a" + String(repeating: "\u{301}", count: 9_000)).prefix(bytes: 101).utf8.count == 101)
    }

    /// Four times the text of the worst runs that are let in costs about four times the work, not sixteen times.
    @Test(Measuring.only) func textBelowTheLimitIsLinear() {
        func cost(_ blocks: Int) -> Double {
            let marks = String(repeating: "a" + String(repeating: "\u{301}\u{316}", count: 15), count: blocks)
            return CPUTime.measure { for index in 0..<4 { _ = (marks + "\(index)").hashValue } }
        }
        #expect(cost(4_000) < cost(1_000) * 12 + 0.05)
    }

    /// The system takes a zero byte for the end of a path: another file would be read than was named.
    @Test func aZeroByteEndsNoPath() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("a")
        try Data("text".utf8).write(to: URL(fileURLWithPath: path))
        let longer = path + "\u{0}b"
        #expect(throws: InputFault.self) { try InputFile.open(longer) }
        #expect(SystemFile.open(longer, O_RDONLY) == -1)
        #expect(SystemFile.status(of: longer, followingLinks: true) == nil)
        #expect(SystemFile.resolved(longer) == nil)
    }
}
