// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// Files that are made to hurt, given to the program as people would: each gets one clear sentence, soon, and the most memory that the
/// process ever held is measured and bounded.
@Suite struct HostileFileTests {
    struct Outcome: Decodable {
        let name: String
        let input: String
        let status: Int
        let signal: Int
        let peakMegabytes: Int
        let seconds: Double
        let text: String
    }

    /// Writes the files and runs the program on each, by name and from standard input. Python starts it, because the peak that the
    /// kernel reports of a child is at least what its parent held when it started it, and this process holds much.
    static let python = #"""
        import json, os, plistlib, sys, time, zipfile
        program, folder = sys.argv[1:]
        def file(name, *parts):
            path = os.path.join(folder, name)
            with open(path, "wb") as out:
                for part, times in parts:
                    for _ in range(times): out.write(part)
            return path
        def archive(name, *entries):
            path = os.path.join(folder, name)
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
                for entry, data in entries: out.writestr(entry, data)
            return path
        laughs = "".join('<!ENTITY l%d "%s">' % (i, ("&l%d;" % (i - 1)) * 10) for i in range(1, 10))
        binary = plistlib.dumps({"NSAppTransportSecurity": {"x": list(range(5000))}}, fmt=plistlib.FMT_BINARY)
        plain = plistlib.dumps({"CFBundleIdentifier": "com.example.a", "CFBundleExecutable": "A"})
        def files():
            yield "laughs", file("laughs.plist", (('<?xml version="1.0"?><!DOCTYPE plist [<!ENTITY l0 "lol">%s]><plist>'
                '<string>&l9;</string></plist>' % laughs).encode(), 1))
            yield "tags", file("tags.plist", (b"<dict>" * 174763, 100))
            yield "nested", file("nested.plist", (b"<plist>", 1), (b"<dict><key>a</key>" * 1000, 40))
            yield "cut", file("cut.plist", (binary[:len(binary) * 2 // 3], 1))
            yield "bomb", archive("bomb.ipa", ("Payload/A.app/Info.plist", bytes(64 << 20)))
            yield "executable", archive("executable.ipa", ("Payload/A.app/Info.plist", plain), ("Payload/A.app/A", bytes(128 << 20)))
            yield "names", archive("names.ipa", ("../../etc/passwd", b"x"), ("Payload/A.app/Info.plist", plain))
            yield "bundles", archive("bundles.ipa", *[("Payload/A%d.app/Info.plist" % i, plain) for i in range(1500)])
        outcomes = []
        for name, path in files():
            for source in ("file", "stdin"):
                begun = time.monotonic()
                child = os.fork()
                if child == 0:
                    if source == "stdin": os.dup2(os.open(path, os.O_RDONLY), 0)
                    text = os.open(os.path.join(folder, "text"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                    os.dup2(text, 1); os.dup2(text, 2)
                    os.execv(program, ["sealward", "ats", "lint", "-" if source == "stdin" else path])
                _, status, usage = os.wait4(child, 0)
                with open(os.path.join(folder, "text"), errors="replace") as text:
                    outcomes.append({"name": name, "input": source, "status": status >> 8, "signal": status & 127,
                                     "peakMegabytes": usage.ru_maxrss // 1024, "seconds": time.monotonic() - begun, "text": text.read(4096)})
        print(json.dumps(outcomes))
        """#

    static let outcomes = Result { () throws -> [Outcome] in
        let folder = try TemporaryDirectory()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["COLUMNS=1000", "python3", "-c", python, BuiltProgram.url.path, folder.url.path]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return try JSONDecoder().decode([Outcome].self, from: data)
    }

    /// What is said, and the most megabytes: a list is refused before it is held, from standard input too;
    /// an executable in an archive is unpacked, up to its limit of 128 MB. A debug build that has nothing to do holds 37.
    static let expected: [String: (sentence: String, file: Int, input: Int)] = [
        "laughs": ("declares entities", 80, 80),
        "tags": ("is larger than 8 MiB", 80, 80),
        "nested": ("nested deeper than 128 levels", 100, 100),
        "cut": ("damaged trailer", 80, 80),
        "bomb": ("expands to 67108864 bytes, more than the limit", 80, 80),
        "executable": ("ATS034", 200, 200),
        "names": ("is a name that points outside the archive", 80, 80),
        "bundles": ("has more than 1000 bundles", 80, 80),
    ]

    @Test(.enabled(if: !BuiltProgram.isSanitized, "a sanitizer takes memory of its own"))
    func eachIsRefusedWithinItsMemory() throws {
        let outcomes = try HostileFileTests.outcomes.get()
        #expect(outcomes.count == 2 * HostileFileTests.expected.count)
        for outcome in outcomes {
            let expected = try #require(HostileFileTests.expected[outcome.name])
            let what = "\(outcome.name) by \(outcome.input): \(outcome.peakMegabytes) MB, \(outcome.text)"
            #expect(outcome.signal == 0, "\(what)")
            #expect(outcome.status == (outcome.name == "executable" ? 0 : 2), "\(what)")
            #expect(outcome.text.contains(expected.sentence), "\(what)")
            #expect(outcome.peakMegabytes <= (outcome.input == "file" ? expected.file : expected.input), "\(what)")
            // A process that holds nothing was not measured.
            #expect(outcome.peakMegabytes > 5, "\(what)")
            #expect(Measuring.isOff || outcome.seconds < 20, "\(what)")
        }
    }
}
