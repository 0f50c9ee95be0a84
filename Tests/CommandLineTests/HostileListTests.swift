// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// Lists and archives that unfold, overlap or repeat: the whole program, under the kernel's count of memory and processor time.
///
/// The peak of everything that `ats lint` reads is below 512 MB; each case has a tighter one. What unfolds without end is refused, what
/// is merely large is linted.
@Suite struct HostileListTests {
    struct Outcome: Decodable {
        let name: String
        let status: Int
        let signal: Int
        let peakMegabytes: Int
        let processorSeconds: Double
        let bytes: Int
        let text: String
    }

    /// Writes the files and runs the program on each. Archives are written by hand: one packed list serves a thousand names.
    private static let python = #"""
        import json, os, plistlib, struct, sys, zlib
        program, folder, part = sys.argv[1], sys.argv[2], int(sys.argv[3])
        os.chdir(folder)
        def file(name, data):
            if os.path.dirname(name): os.makedirs(os.path.dirname(name), exist_ok=True)
            with open(name, "wb") as out: out.write(data)
            return name
        def deflated(data):
            packer = zlib.compressobj(6, zlib.DEFLATED, -15)
            return (8, packer.compress(data) + packer.flush(), len(data))
        def stored(data): return (0, data, len(data))
        def archive(name, entries):
            body, directory, places = bytearray(), bytearray(), []
            for entry, (method, packed, size) in entries:
                raw, place = entry.encode(), len(body)
                if isinstance(packed, int): place, packed = places[packed]
                else: body += struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0, method, 0, 0, 0, len(packed), size, len(raw), 0) + raw + packed
                places.append((place, packed))
                directory += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, method, 0, 0, 0, len(packed), size, len(raw),
                                         0, 0, 0, 0, 0, place) + raw
            end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, len(entries), len(entries), len(directory), len(body), 0)
            return file(name, bytes(body + directory) + end)
        def listed(inner): return b"<plist><dict><key>CFBundleIdentifier</key><string>com.example.a</string>" + inner + b"</dict></plist>"
        def hosts(inner): return listed(b"<key>NSAppTransportSecurity</key><dict><key>NSExceptionDomains</key><dict>%s</dict></dict>" % inner)
        def app(number, name="Info.plist"): return "Payload/A%03d.app/%s" % (number, name)
        plain, size = listed(b""), 8 << 20
        marks = "\u0301\u0316" * 30000
        def references():
            count = size - 200
            list = b"bplist00" + struct.pack(">BBI", 0xAF, 0x12, count) + bytes(count)
            return list + b"\x08" + bytes(6) + b"\x01\x01" + struct.pack(">QQQ", 1, 0, len(list))
        def binary(hole, count=0):
            # The dictionary {"a": [true, true ...]}, and a hole before the table of its objects: read soon, whatever its size.
            objects = [b"\xd1\x01\x02", b"\x51a", struct.pack(">BBI", 0xAF, 0x12, count) + b"\x03" * count, b"\x09"]
            places = [8 + sum(map(len, objects[:n])) for n in range(4)]
            list = b"bplist00" + b"".join(objects) + hole
            return list + struct.pack(">4I", *places) + bytes(6) + b"\x04\x01" + struct.pack(">QQQ", 4, 0, len(list))
        def executable():
            blob = b"bplist00" + struct.pack(">BBH", 0xAF, 0x11, 60000) + b"\1" * 60000 + b"\x09"
            blob += struct.pack(">II", 8, len(blob) - 1) + bytes(6) + b"\x04\x01" + struct.pack(">QQQ", 2, 0, len(blob))
            signature = struct.pack(">III", 0xFADE0CC0, 0, 64) + struct.pack(">II", 5, 12 + 64 * 8) * 64
            signature += struct.pack(">II", 0xFADE7171, 8 + len(blob)) + blob
            slice = struct.pack("<IIIIIIII", 0xFEEDFACF, 0, 0, 2, 1, 16, 0, 0) + struct.pack("<IIII", 0x1D, 16, 4096, len(signature))
            fat = struct.pack(">II", 0xCAFEBABE, 32) + struct.pack(">IIIII", 0, 0, 2048, 1 << 20, 0) * 32
            return fat + bytes(2048 - len(fat)) + slice + bytes(4096 - len(slice)) + signature
        def lying():
            # Load commands of 4 GiB, and one that ends before it begins.
            return struct.pack("<IIIIIIII", 0xFEEDFACF, 0, 0, 2, 0xFFFFFFFF, 0xFFFFFFFF, 0, 0) + struct.pack("<II", 0x1D, 0)
        def linked():
            profile = b"<?xml?><plist><dict><key>x</key><array>" + b"<true/>" * 10000 + b"</array></dict></plist>"
            first = file("linked/A0.app/embedded.mobileprovision", profile + b" " * ((4 << 20) - len(profile)))
            for number in range(999):
                file("linked/A%d.app/Info.plist" % number, plain)
                if number: os.link(first, "linked/A%d.app/embedded.mobileprovision" % number)
            return "linked"
        def huge():
            file("huge/A.app/Info.plist", plain)
            with open(file("huge/A.app/embedded.mobileprovision", b"<?xml"), "r+b") as out: out.truncate(1 << 32)
            return "huge"
        def pipes():
            for name in ("p/Info.plist", "p/A.app/embedded.mobileprovision", "p/a.csproj", "p/b/project.pbxproj", "p/target"):
                os.makedirs(os.path.dirname(name), exist_ok=True)
                os.mkfifo(name)
            file("p/A.app/Info.plist", plain)
            os.symlink("target", "p/Link-Info.plist")
            os.symlink("/etc/passwd", "p/Out-Info.plist")
            return "p"
        exe = listed(b"<key>CFBundleExecutable</key><string>A</string>")
        def each(many, entry, packed): return [(app(n), stored(exe)) for n in range(many)] + [(app(n, entry), packed) for n in range(many)]
        def lint(path, *more): return ["ats", "lint", path, *more]
        def cases():
            yield "references", lint(file("references.plist", references()))
            yield "references-ipa", lint(archive("references.ipa", [(app(0), deflated(references()))]))
            yield "padded", lint(archive("padded.ipa", [(app(n), packed) for packed in [deflated(binary(bytes(size - 200)))] for n in range(1000)]))
            yield "values", lint(archive("values.ipa", [(app(n), packed) for packed in [deflated(binary(b"", 499000))] for n in range(33)]))
            big = deflated(listed(b"<key>a</key><string>" + b"x" * (size - 300) + b"</string>"))
            yield "overlap", lint(archive("overlap.ipa", [(app(0), big)] + [(app(n), (8, 0, big[2])) for n in range(1, 900)]))
            yield "equal", lint(file("equal.plist", listed(b"<key>a</key><true/>" * max(11000, 100000 // part))))
            yield "hosts", lint(file("hosts.plist", hosts(b"".join(b"<key>%x</key><true/>" % n for n in range(330000 // part)))), "--format", "sarif")
            controls = {"NSAppTransportSecurity": {"NSExceptionDomains": {"\x1f" * 900 + str(n): True for n in range(max(1333, 8000 // part))}}}
            yield "controls", lint(file("controls.plist", plistlib.dumps(controls, fmt=plistlib.FMT_BINARY)), "--format", "json")
            yield "lines", lint(file("lines.plist", hosts(b"\n" * (7000000 // part) + b"<key>a</key><true/>")))
            yield "deep", lint(file("deep.plist", listed(b"<key>a</key>" + b"<array>" * 120 + b"<true/>" * 400000 + b"</array>" * 120)))
            yield "mark-key", lint(file("mark-key.plist", hosts(b"<key>" + marks.encode() + b"</key><dict/>")))
            yield "mark-value", lint(file("mark-value.plist", listed(b"<key>a</key><string>" + marks.encode() + b"</string>")))
            yield "mark-binary", lint(file("mark-binary.plist", plistlib.dumps({"a" + marks + str(n): n for n in range(30)}, fmt=plistlib.FMT_BINARY)))
            yield "mark-names", lint(archive("mark-names.ipa", [(app(0), stored(plain))] + [("a" + marks[:20000] + str(n), stored(b"")) for n in range(200)]))
            file("project/Info.plist", plain)
            file("project/a.csproj", b"<Project>" + (marks * 30).encode() + b"\n<TargetFramework>net9.0-ios</TargetFramework></Project>")
            yield "mark-project", lint("project")
            yield "mark-baseline", lint(file("plain.plist", plain), "--baseline", file("baseline.json", json.dumps({
                "schema": "sealward.ats-baseline/1", "findings": [{"path": "a" + marks + str(n), "rule": "b", "keyPath": marks, "count": 1} for n in range(20)]}, ensure_ascii=False).encode()))
            yield "mark-json", ["ats", "explain", "https://example.com/", "--ats-json", file("marks.json", json.dumps(
                {"NSExceptionDomains": {"a" + marks + str(n): {} for n in range(20)}}, ensure_ascii=False).encode())]
            yield "linked", lint(linked())
            yield "huge", lint(huge())
            yield "executables", lint(archive("executables.ipa", each(300 // part, "A", deflated(executable()))))
            yield "lying", lint(archive("lying.ipa", each(3, "A", stored(lying()))))
            yield "pipes", lint(pipes())
            os.mkfifo("pipe")
            for name, arguments in (("lint", lint("pipe")), ("explain", ["ats", "explain", "https://a.example/", "--info-plist", "pipe"]),
                                    ("json", ["ats", "explain", "https://a.example/", "--ats-json", "pipe"]),
                                    ("targets", ["ats", "check", "--targets-from", "pipe"]), ("config", ["serve", "--config", "pipe"]),
                                    ("baseline", lint("plain.plist", "--baseline", "pipe")), ("roots", ["ats", "check", "a.example", "--roots", "pipe"])):
                yield "pipe-" + name, arguments
        outcomes = []
        for name, arguments in cases():
            child = os.fork()
            if child == 0:
                text = os.open("text", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
                os.dup2(os.open("/dev/null", os.O_RDONLY), 0); os.dup2(text, 1); os.dup2(text, 2)
                os.execv(program, ["sealward", *arguments])
            _, status, usage = os.wait4(child, 0)
            with open("text", "rb") as text:
                data = text.read()
                outcomes.append({"name": name, "status": status >> 8, "signal": status & 127, "peakMegabytes": usage.ru_maxrss // 1024,
                                 "processorSeconds": usage.ru_utime + usage.ru_stime, "bytes": len(data),
                                 "text": (data[:2000] + data[-3000:]).decode(errors="replace")})
        print(json.dumps(outcomes))
        """#

    private static let outcomes = Result { () throws -> [Outcome] in
        let folder = try TemporaryDirectory()
        let run = try ProgramRun(
            URL(fileURLWithPath: "/usr/bin/env"),
            // The largest that are read only in `make check-all`.
            ["python3", "-c", python, BuiltProgram.url.path, folder.url.path, LongForm.isAsked ? "1" : "24"])
        if run.status != 0 { Issue.record("\(run.errors)") }
        return try JSONDecoder().decode([Outcome].self, from: run.data)
    }

    private struct Expected {
        let status: Int
        let sentence: String
        let megabytes: Int
        /// Of a debug build, ten to twenty times those of a release build.
        let seconds: Double

        init(_ status: Int, _ sentence: String, megabytes: Int = 120, seconds: Double = 5) {
            self.status = status
            self.sentence = sentence
            self.megabytes = megabytes
            self.seconds = seconds
        }
    }

    private static let expected: [String: Expected] = [
        "references": Expected(2, "has more than 500000 values"),
        "references-ipa": Expected(2, "has more than 500000 values"),
        "padded": Expected(2, "of this run expand to more than 256 MiB"),
        "values": Expected(2, "of this run expand to more than 256 MiB", megabytes: 300, seconds: 30),
        "overlap": Expected(2, "overlaps 'Payload/A000.app/Info.plist'"),
        "equal": Expected(2, "more findings, which are not listed", megabytes: 200, seconds: 20),
        "hosts": Expected(1, "more findings, which are not listed", megabytes: 400, seconds: 60),
        "controls": Expected(1, "more findings, which are not listed", megabytes: 350, seconds: 30),
        "lines": Expected(1, "ATS032", megabytes: 200, seconds: 20),
        "deep": Expected(0, "ATS034", megabytes: 200, seconds: 10),
        "mark-key": Expected(2, "has a key of 120000 bytes"),
        "mark-value": Expected(2, "combining marks in a row"),
        "mark-binary": Expected(2, "bytes; the limit is 1024"),
        "mark-names": Expected(2, "is a name that no file system accepts"),
        "mark-project": Expected(0, "ATS034", seconds: 10),
        "mark-baseline": Expected(0, "20 findings are fixed", seconds: 10),
        "mark-json": Expected(2, "a name is longer than 4096 bytes"),
        "linked": Expected(2, "the profiles of this run have more than 64 MiB", seconds: 30),
        "huge": Expected(2, "is larger than 4 MiB, which no profile is"),
        "executables": Expected(0, "ATS034", seconds: 20),
        "lying": Expected(0, "ATS034"),
        "pipes": Expected(2, "p/Link-Info.plist: could not be read: is a link to a named pipe, not to a file"),
        "pipe-lint": Expected(2, "pipe: could not be read: is a named pipe, not a file"),
        "pipe-explain": Expected(2, "pipe: is a named pipe, not a file"),
        "pipe-json": Expected(2, "pipe: is a named pipe, not a file"),
        "pipe-targets": Expected(2, "pipe: is a named pipe, not a file"),
        "pipe-config": Expected(2, "pipe: is a named pipe, not a file"),
        "pipe-baseline": Expected(2, "pipe: is a named pipe, not a file"),
        "pipe-roots": Expected(2, "pipe: is a named pipe, not a file"),
    ]

    @Test(.enabled(if: !BuiltProgram.isSanitized, "a sanitizer takes memory of its own"), .timeLimit(.minutes(5)))
    func eachEndsWithinItsMemoryAndTime() throws {
        let outcomes = try Self.outcomes.get()
        #expect(Set(outcomes.map(\.name)) == Set(Self.expected.keys))
        for outcome in outcomes {
            let expected = try #require(Self.expected[outcome.name])
            let what =
                "\(outcome.name): status \(outcome.status), \(outcome.peakMegabytes) MB, \(outcome.processorSeconds) s, \(outcome.text.suffix(600))"
            #expect(outcome.signal == 0, "\(what)")
            #expect(outcome.status == expected.status, "\(what)")
            #expect(outcome.text.contains(expected.sentence), "\(what)")
            #expect(outcome.peakMegabytes <= expected.megabytes, "\(what)")
            if LongForm.isAsked { #expect(outcome.processorSeconds <= expected.seconds, "\(what)") }
            // A process that holds nothing was not measured.
            #expect(outcome.peakMegabytes > 5, "\(what)")
        }
    }

    @Test func everyOddFileIsNamed() throws {
        let text = try #require(try Self.outcomes.get().first { $0.name == "pipes" }).text
        for name in ["p/Info.plist", "p/A.app/embedded.mobileprovision", "p/a.csproj", "p/b/project.pbxproj"] {
            #expect(text.contains("\(name): could not be read: is a named pipe, not a file"))
        }
        #expect(text.contains("p/Out-Info.plist: could not be read: is a link that leads out"))
        #expect(!text.contains("root:"))
    }

    /// What a shell writes for `<(...)`, and `/dev/stdin`, are read like `-`; an archive comes through a pipe too.
    @Test func namedStreamsAreRead() throws {
        let folder = try TemporaryDirectory()
        let list = "<plist><dict><key>CFBundleIdentifier</key><string>com.example.a</string></dict></plist>"
        try Data(list.utf8).write(to: URL(fileURLWithPath: folder.path("a.plist")))
        let script = """
            set -e
            "$0" ats lint <(cat a.plist)
            cat a.plist | "$0" ats lint /dev/stdin
            "$0" ats lint - < a.plist
            "$0" ats explain https://a.example/ --info-plist <(cat a.plist)
            python3 -c 'import zipfile
            with zipfile.ZipFile("a.ipa", "w") as out: out.write("a.plist", "Payload/A.app/Info.plist")'
            cat a.ipa | "$0" ats lint -
            "$0" ats lint - < a.ipa
            """
        let run = try ProgramRun(
            URL(fileURLWithPath: "/usr/bin/env"), ["bash", "-c", script, BuiltProgram.url.path], in: folder.url)
        #expect(run.status == 0, "\(run.output) \(run.errors)")
        #expect(run.output.components(separatedBy: "ATS034").count == 6, "\(run.output)")
        // Without end, and yet it ends.
        let endless = try ProgramRun(
            URL(fileURLWithPath: "/usr/bin/env"),
            ["bash", "-c", "\"$0\" ats lint - < /dev/zero", BuiltProgram.url.path], in: folder.url)
        #expect(endless.status == 2 && endless.output.contains("is larger than 8 MiB"))
    }

    /// A folder of one letter ended the process: Foundation's path functions refuse to take it apart.
    @Test func shortFolders() throws {
        let folder = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: folder.path("f"), withIntermediateDirectories: true)
        try Data("<plist><dict/></plist>".utf8).write(to: URL(fileURLWithPath: folder.path("f/Info.plist")))
        for path in ["f/Info.plist", "f", "f/", "./f/Info.plist"] {
            #expect(try ProgramRun(["ats", "lint", path], in: folder.url).status == 0)
        }
    }
}
