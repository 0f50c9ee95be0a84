// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Foundation
import TestSupport
import Testing
import TrustStoreContract

@testable import TrustStores

/// A process that is killed in the middle of its work, and what its successor finds.
@Suite(.serialized) struct KillTests {
    static var rounds: [Int] {
        Array(1...(LongForm.isAsked ? 20 : 5))
    }

    /// Advances twenty keys as fast as it can and writes down each answer, until it kills itself after so many bytes of answers.
    @Sendable static func work(path: String, acknowledged: String, after bytes: Int) async throws {
        let store = try SQLTrustStore.sqlite(at: path)
        let log = open(acknowledged, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for name in 0..<20 as Range<UInt8> {
                group.addTask {
                    guard let id = KeyIdentifier(bytes: [UInt8](repeating: name, count: 32)) else { return }
                    _ = try await store.insert(
                        Sample.registration(id: id, digest: id.bytes), spending: Sample.challenge(), at: Sample.now)
                    var counter = try await store.key(id)?.counter ?? 0
                    while true {
                        counter += 1
                        let challenge = Sample.challenge()
                        let outcome = try await store.advance(id, to: counter, spending: challenge)
                        guard case .advanced = outcome else { continue }
                        let line = "\(name) \(counter) \(Data(challenge.id).base64EncodedString())\n"
                        _ = line.withCString { write(log, $0, strlen($0)) }
                        // The others are in the middle of theirs.
                        if lseek(log, 0, SEEK_CUR) >= bytes { kill(getpid(), SIGKILL) }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("kill -9 under load: nothing that was answered is lost, no counter went back", arguments: rounds)
    func kill9(_ round: Int) async throws {
        let path = TemporaryDirectory.shared.path("kill-\(round).sqlite")
        let acknowledged = path + ".answers"
        // A line has about thirty bytes.
        let bytes = 1_200 + 2_900 * round % 12_000
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = path as String, acknowledged = acknowledged as String, bytes = bytes as Int] in
            try await KillTests.work(path: path, acknowledged: acknowledged, after: bytes)
        }
        let text = try String(contentsOfFile: acknowledged, encoding: .utf8)
        let lines = text.split(separator: "\n")
        #expect(lines.count > 20, "only \(lines.count) answers before the end")
        let store = try SQLTrustStore.sqlite(at: path)
        var highest: [UInt8: UInt32] = [:]
        for line in lines {
            let parts = line.split(separator: " ")
            guard parts.count == 3, let name = UInt8(parts[0]), let counter = UInt32(parts[1]),
                let challenge = Data(base64Encoded: String(parts[2])), challenge.count == 16
            else { continue }
            highest[name] = max(highest[name] ?? 0, counter)
            let spent = SpendableChallenge(id: Array(challenge), expiresAt: Sample.now + 300)
            #expect(try await store.isSpent(spent), "an accepted challenge was forgotten")
        }
        for (name, counter) in highest {
            let id = try #require(KeyIdentifier(bytes: [UInt8](repeating: name, count: 32)))
            let stored = try #require(try await store.key(id)).counter
            // One more may have been committed than was answered.
            #expect(stored == counter || stored == counter + 1, "key \(name): answered \(counter), stored \(stored)")
        }
        await store.close()
    }
}
