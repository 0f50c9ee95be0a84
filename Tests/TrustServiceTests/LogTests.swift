// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceSimulator
import Formats
import Foundation
import Logging
import NIOConcurrencyHelpers
import TestSupport
import Testing
import TrustStores
import Vocabulary

@testable import HTTPService
@testable import TrustService

/// Lines as the standard handler would write them.
final class LogLines: Sendable {
    private let box = NIOLockedValueBox<[(message: String, metadata: [String: String])]>([])
    var all: [(message: String, metadata: [String: String])] { box.withLockedValue { $0 } }

    var logger: Logger { Logger(label: "test") { _ in Handler(lines: self) } }

    private struct Handler: LogHandler {
        let lines: LogLines
        var metadata = Logger.Metadata()
        var metadataProvider: Logger.MetadataProvider?
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let provided = metadataProvider?.get() ?? [:]
            let metadata = provided.merging(event.metadata ?? [:]) { $1 }.mapValues { "\($0)" }
            lines.box.withLockedValue { $0.append(("\(event.message)", metadata)) }
        }
    }
}

@Suite struct LogTests {
    /// The bytes of a line: the sentence and its metadata.
    private func size(_ line: (message: String, metadata: [String: String])) -> Int {
        line.message.utf8.count + line.metadata.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + 2 }
    }

    @Test func whatACallerSentCannotSteerTheLog() async throws {
        let lines = LogLines()
        try await RunningService.with(log: lines.logger) { service in
            let key = Base64.encode([UInt8](repeating: 1, count: 32))
            let forged = "x\n2026-11-22T00:00:00+0000 info sealward: all is well\u{1B}[31m\u{202E}"
            let long = "a" + String(repeating: "\u{301}", count: 10_000)
            for text in [forged, long, String(repeating: "\u{1B}", count: 20_000)] {
                for object in [
                    CBORItem.map([CBOREntry(.text("fmt"), .text(text))]),
                    .map([CBOREntry(.text(String(decoding: text.utf8.prefix(200), as: UTF8.self)), .unsigned(1))]),
                ] {
                    let body: JSONValue = [
                        "keyId": .string(key), "attestation": .string(Base64.encode(object.encoded)),
                        "challenge": "AAAA",
                    ]
                    _ = try await service.post("/v1/apps/shop/attestations", body)
                }
            }
        }
        let all = lines.all
        #expect(all.count >= 6)
        for line in all {
            #expect(size(line) < 1024)
            let text = line.message + line.metadata.values.joined()
            #expect(text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F })
            #expect(!text.unicodeScalars.contains("\u{202E}"))
        }
    }

    @Test func aFloodOfRefusalsGivesFewLinesThatAddUp() async throws {
        let lines = LogLines()
        let flood = 1000
        let start = ContinuousClock.now
        try await RunningService.with(log: lines.logger) { service in
            let port = try #require(URL(string: service.base)?.port)
            for _ in 0..<flood / 100 {
                let connection = try LoopbackClient(port: port)
                for _ in 0..<100 {
                    connection.send("GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n")
                    #expect(await connection.answer().hasPrefix("HTTP/1.1 404"))
                }
            }
        }
        let elapsed = (ContinuousClock.now - start) / .seconds(1)
        let refusals = lines.all.filter { $0.metadata["code"] == "path.unknown" }
        let single = refusals.filter { $0.metadata["count"] == nil }
        let sums = refusals.compactMap { $0.metadata["count"].flatMap { Int($0) } }
        #expect(single.count + sums.reduce(0, +) == flood)
        let seconds = Int(elapsed.rounded(.up)) + 1
        #expect(single.count <= RequestObserver.linesPerSecond * seconds)
        #expect(sums.count <= seconds)
    }

    @Test func samplesAddUp() {
        let sampler = LineSampler(2)
        func noted(_ kind: String, _ time: Double) -> String? {
            sampler.note(kind, at: time).map { "\($0.kind) \($0.count)" }
        }
        #expect((0..<5).map { _ in noted("a", 0.5) } == ["a 0", "a 0", nil, nil, nil])
        #expect(noted("b", 0.9) == "b 0")
        #expect(sampler.sums(before: 0.9).isEmpty)
        #expect(noted("a", 1.1) == "a 3")
        for _ in 0..<4 { _ = noted("a", 1.2) }
        #expect(sampler.sums(before: 2).map { "\($0.kind) \($0.count)" } == ["a 3"])
        #expect(sampler.sums(before: nil).isEmpty)
        // One line in a minute.
        let slow = LineSampler(1, every: 60)
        #expect([119, 120, 121, 179.9, 180].map { slow.note("a", at: $0)?.count } == [0, 0, nil, nil, 2])
        // The table is bounded: kinds beyond it are summed up as one.
        for index in 0..<1000 { for _ in 0..<3 { _ = noted("kind \(index)", 5) } }
        #expect(noted("kind 999", 6)?.hasPrefix("others ") == true)
        #expect(sampler.sums(before: nil).count <= LineSampler.kindLimit + 1)
    }

    @Test func unknownPathsCountAgainstTheLimit() async throws {
        let configuration = RunningService.configuration { $0.limits.requestsPerSecondPerAddress = 2 }
        try await RunningService.with(configuration) { service in
            var codes: Set<String> = []
            for _ in 0..<20 {
                codes.insert(try await service.get("/nothing").verdict)
                codes.insert(try await service.get("/v1/apps/shop/challenges").verdict)
                codes.insert(try await service.get("/v1/authorize", token: "x").verdict)
            }
            #expect(codes.contains("429 limit.address"))
            #expect(!codes.contains("200"))
            #expect(try await service.get("/v1/authorize", token: "x").verdict == "429 limit.address")
            #expect(try await service.get("/livez").status == 200)
        }
    }

    /// The gateway asks for everybody from one address: a flood of wrong tokens does not stop the right ones.
    @Test func validTokensAreNotLimited() async throws {
        let configuration = RunningService.configuration { $0.limits.requestsPerSecondPerAddress = 10 }
        try await RunningService.with(configuration) { service in
            let phone = await Phone(service, system: .iOS("26.1"))
            let keyId = try await phone.attested()
            let token = try await phone.token(keyId)
            // At once, because one by one a busy machine does not reach the limit.
            let verdicts = try await allAtOnce(300) { _ in try await service.get("/v1/authorize", token: "x").verdict }
            #expect(verdicts.contains("429 limit.address"))
            #expect(try await service.get("/v1/authorize?simulated=allow", token: token).status == 204)
        }
    }
}
