// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import BenchReport
import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// The processor time that bodies of 64 KiB cost `sealward serve`: the worst that we know against an ordinary one, and a bearer token of
/// 14 kB of combining marks against one of letters.
///
///     body-bench [--program SEALWARD] [--requests N]
///
/// Ends with status 1 if any costs more than twice as much. The kinds are those of `HostileTextTests`.
@main
struct BodyBench {
    static let required = 2.0
    static let rounds = 5

    static func main() throws {
        let arguments = BenchArguments()
        let beside = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        let program = arguments["--program"] ?? beside.appendingPathComponent("sealward").path
        let served = try ServedProgram(program)
        defer { served.stop() }
        let requests = arguments.number("--requests") ?? 100
        var bodies = [("an ordinary body", Bodies.ordinary)] + Bodies.worst
        bodies = bodies.map { ($0.0, Bodies.post($0.1)) }
        let (worst, name) = try most(bodies, requests, served)
        var holds = figure(
            "the worst body of 64 KiB (\(name)) against an ordinary one, processor time",
            worst,
            .atMost(required)
        )
        let tokens = [
            ("letters", Bodies.authorize(String(repeating: "b", count: 14_000))),
            ("marks", Bodies.authorize(Bodies.marks(14_000))),
        ]
        let (marks, _) = try most(tokens, requests * 4, served)
        holds =
            figure("a bearer token of marks against one of letters, processor time", marks, .atMost(required)) && holds
        served.stop()
        if !holds { exit(1) }
    }

    /// The highest ratio of any to the first, in the middle round of several.
    private static func most(
        _ inputs: [(String, [UInt8])],
        _ requests: Int,
        _ served: ServedProgram
    ) throws -> (Double, String) {
        var times = [[Double]](repeating: [], count: inputs.count)
        // In turns: the machine's speed drifts.
        for _ in 0..<rounds {
            for (index, input) in inputs.enumerated() {
                times[index].append(try served.processorTime(of: requests, input.1))
            }
        }
        let middle = times.map { $0.sorted()[rounds / 2] }
        for (input, time) in zip(inputs, middle) {
            print("\(input.0.padding(toLength: 24, withPad: " ", startingAt: 0)) \(Int(time * 1e6)) microseconds")
        }
        let worst = middle.indices.dropFirst().max { middle[$0] < middle[$1] } ?? 0
        return (middle[worst] / middle[0], inputs[worst].0)
    }
}

/// Bodies of 64 KiB, one of them honest.
enum Bodies {
    /// So many bytes of a letter and marks in the wrong order.
    static func marks(_ count: Int) -> String {
        "a" + String(repeating: "\u{301}\u{316}", count: max(0, count - 1) / 4)
    }

    private static func repeated(_ text: String, _ count: Int) -> String {
        [String](repeating: text, count: count).joined(separator: ",")
    }

    static let ordinary: [UInt8] = {
        let text = Data(repeating: 1, count: 24_000).base64EncodedString()
        let key = Data(repeating: 7, count: 32).base64EncodedString()
        return Array(
            "{\"keyId\":\"\(key)\",\"clientData\":\"\(text)\",\"assertion\":\"\(text)\",\"challenge\":\"AAAA\"}".utf8
        )
    }()

    static let worst: [(String, [UInt8])] = [
        ("marks in a name", "{\"\(marks(65_000))\":1}"),
        ("marks in many names", "{" + (0..<120).map { "\"\(marks(240))\($0)\":1" }.joined(separator: ",") + "}"),
        ("marks in a value", "{\"keyId\":\"\(marks(65_000))\"}"),
        ("many members", "{" + (0..<8000).map { "\"a\($0)\":1" }.joined(separator: ",") + "}"),
        ("many equal members", "{" + repeated("\"a\":1", 10_000) + "}"),
        ("many values", "[" + repeated("0", 32_000) + "]"),
        ("depth", String(repeating: "[", count: 65_000)),
        ("depth again and again", "[" + repeated("[[[[[[[[]]]]]]]]", 3_800) + "]"),
        ("escapes", "{\"keyId\":\"" + String(repeating: "\\u0301", count: 10_900) + "\"}"),
        ("digits", "{\"keyId\":" + String(repeating: "9", count: 65_000) + "}"),
        ("an exponent", "{\"keyId\":1e" + String(repeating: "9", count: 65_000) + "}"),
        ("many numbers", "[" + repeated("1.5e308", 8_000) + "]"),
    ].map { ($0.0, Array($0.1.utf8)) }

    static func post(_ body: [UInt8]) -> [UInt8] {
        let head = "POST /v1/apps/shop/assertions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        return Array("\(head)Content-Length: \(body.count)\r\n\r\n".utf8) + body
    }

    static func authorize(_ token: String) -> [UInt8] {
        Array("GET /v1/authorize HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n\r\n".utf8)
    }
}

/// `sealward serve` as a process of its own, and one connection to it.
final class ServedProgram {
    private let process = Process()
    private let folder: URL
    private var connection: Int32 = -1
    private var port: UInt16 = 0

    init(_ program: String) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("body-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let configuration = folder.appendingPathComponent("sealward.json")
        let text = """
            {"listen": "127.0.0.1:0", "store": "sqlite:\(folder.path)/s.sqlite", "receipts": {"refresh": "off"},
             "limits": {"requestsPerSecondPerAddress": 1000000},
             "apps": [{"id": "shop", "teamId": "ABCDE12345", "bundleIds": ["com.example.shop"]}]}
            """
        try Data(text.utf8).write(to: configuration)
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = ["serve", "--config", configuration.path, "--quiet"]
        let pipe = Pipe()
        process.standardError = pipe
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        var said = ""
        while !said.contains("\n") || !said.contains("listening on ") {
            let data = pipe.fileHandleForReading.availableData
            guard !data.isEmpty else { throw CocoaError(.executableLoad) }
            said += String(decoding: data, as: UTF8.self)
        }
        pipe.fileHandleForReading.readabilityHandler = { if $0.availableData.isEmpty { $0.readabilityHandler = nil } }
        let line = said.split(separator: "\n").first { $0.hasPrefix("listening on ") } ?? ""
        port = line.split(separator: ":").last.flatMap { UInt16($0) } ?? 0
    }

    /// A connection for one round: no connection takes more than 10,000 requests.
    private func open() throws {
        connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(connection, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw CocoaError(.fileReadUnknown) }
    }

    /// Seconds of the service's processor time for one request, of so many.
    func processorTime(of requests: Int, _ request: [UInt8]) throws -> Double {
        try open()
        defer { close(connection) }
        let before = used()
        for _ in 0..<requests {
            var sent = 0
            while sent < request.count {
                let count = request[sent...].withUnsafeBytes { write(connection, $0.baseAddress, $0.count) }
                guard count > 0 else { throw CocoaError(.fileWriteUnknown) }
                sent += count
            }
            try answer()
        }
        return (used() - before) / Double(requests)
    }

    /// Reads one answer: each has a `Content-Length`.
    private func answer() throws {
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = read(connection, &buffer, buffer.count)
            guard count > 0 else { throw CocoaError(.fileReadUnknown) }
            text += String(decoding: buffer[..<count], as: UTF8.self)
            guard let end = text.range(of: "\r\n\r\n") else { continue }
            let field = text[..<end.lowerBound].lowercased().components(separatedBy: "content-length: ").dropFirst()
                .first
            let length = field.flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
            if text[end.upperBound...].utf8.count >= length { return }
        }
    }

    /// Seconds of processor time of all threads.
    private func used() -> Double {
        let tasks = "/proc/\(process.processIdentifier)/task"
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []
        return threads.reduce(0) { sum, thread in
            let text = (try? String(contentsOfFile: "\(tasks)/\(thread)/schedstat", encoding: .utf8)) ?? ""
            return sum + (text.split(separator: " ").first.flatMap { Double($0) } ?? 0) * 1e-9
        }
    }

    func stop() {
        guard process.isRunning else { return }
        process.terminate()
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }
}
