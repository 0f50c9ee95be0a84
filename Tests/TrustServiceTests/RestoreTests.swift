// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceSimulator
import Formats
import Foundation
import Testing
import TrustStores
import Vocabulary

@testable import TrustService

/// What a restored backup has forgotten, and how `docs/operations.md` brings it back.
@Suite(.serialized) struct RestoreTests {
    @Test func whatWasRevokedAndSpentSinceTheBackupIsDoneAgain() async throws {
        let (disk, clock) = (StoreFile(), TestClock())
        let backup = disk.path + ".backup"
        struct Made: Sendable {
            let keyId: String
            let token: String
            let single: JSONValue
            let entries: [UInt8]
        }
        let made = try await RunningService.with(store: try disk.open(), clock: clock) { service in
            let (phone, keyId) = try await Phone.attested(service)
            let token = try await phone.token(keyId)
            let single = JSONValue.string(try await phone.token(keyId, singleUse: true))
            // The backup is taken while the service runs.
            let (status, text) = try ContractClient.run(
                URL(fileURLWithPath: "/usr/bin/env"), ["python3", "-c", RestoreTests.backup, disk.path, backup])
            guard status == 0 else { throw Failure("no backup: \(text)") }
            let consumed = try await service.post(
                "/v1/tokens/consume", ["token": single, "simulated": "allow"], token: RunningService.serverToken)
            #expect(consumed.status == 200)
            #expect(try await service.revoke(keyId).status == 200)
            #expect(try await service.get("/v1/authorize?simulated=allow", token: token).verdict == "403 key.revoked")
            let entries = try await service.get("/v1/audit", token: RunningService.adminToken).body
            return Made(keyId: keyId, token: token, single: single, entries: entries)
        }
        for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: disk.path + end) }
        try FileManager.default.copyItem(atPath: backup, toPath: disk.path)
        // Step 1: closed for as long as what was spent lives.
        clock.advance(301)
        try await RunningService.with(store: try disk.open(), clock: clock) { service in
            // The revocation is forgotten...
            #expect(try await service.get("/v1/authorize?simulated=allow", token: made.token).status == 204)
            // ... step 2: it is repeated from the audit of the lost store.
            let lines = made.entries.split(separator: 10).compactMap { try? JSONReader.read(Array($0)) }
            let revoked = lines.filter { $0.member("operation")?.text == "revokeKey" }
                .compactMap { $0.member("target")?.text?.split(separator: "key:").last.map(String.init) }
            #expect(revoked == [made.keyId])
            for keyId in revoked { #expect(try await service.revoke(keyId).status == 200) }
            #expect(
                try await service.get("/v1/authorize?simulated=allow", token: made.token).verdict == "403 key.revoked")
            // The consumed token is over by now.
            let again = try await service.post(
                "/v1/tokens/consume", ["token": made.single], token: RunningService.serverToken)
            #expect(again.verdict == "401 token.invalid")
        }
    }

    /// SQLite's online backup, as the shell's `.backup` makes it.
    private static let backup = """
        import sqlite3, sys
        source, target = sqlite3.connect(sys.argv[1]), sqlite3.connect(sys.argv[2])
        source.backup(target)
        """
}
