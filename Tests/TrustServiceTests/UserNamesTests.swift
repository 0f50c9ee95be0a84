// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Formats
import Foundation
import TestSupport
import Testing
import TrustStoresPostgres
import Vocabulary

@testable import HTTPService
@testable import TrustService
@testable import TrustStores

/// `users`: how the store, answers and the audit name users.
@Suite struct UserNamesTests {
    enum Backend: String, CaseIterable { case memory, sqlite, postgres }

    private static let backends = Backend.allCases.filter { backend in
        backend != .postgres || PostgresServer.isAvailable
    }

    private static let anna = "anna.of.the.tests"
    private static let bert = "bert.of.the.tests"

    private func configuration(_ users: Configuration.Users) -> Configuration {
        RunningService.configuration { $0.users = users }
    }

    private func server(_ users: Configuration.Users, _ store: any TrustStore) async throws -> TrustServer {
        try await RunningService.idle(configuration(users), store: store)
    }

    @Test(arguments: backends) func aHashedStoreNamesNobody(_ backend: Backend) async throws {
        let folder = try TemporaryDirectory()
        let file = folder.url.appendingPathComponent("s.sqlite").path
        let store: any TrustStore
        switch backend {
        case .memory: store = Store.inMemory()
        case .sqlite: store = try SQLTrustStore.sqlite(at: file)
        case .postgres:
            store = try await SQLTrustStore.postgres(try await PostgresServer.sharedWithEmptyStore().url)
        }
        try await RunningService.with(configuration(.hashed), store: store) { service in
            let (anna, bert, admin) = (Self.anna, Self.bert, RunningService.adminToken)
            let phone = await Phone(service)
            let first = try await phone.attested(user: anna)
            _ = try await phone.attested(user: anna)
            _ = try await phone.attested(user: bert)
            let list = try await service.get("/v1/keys?user=\(anna)", token: admin)
            let users = Set(list["keys"]?.elements?.compactMap { $0.member("user")?.text } ?? [])
            #expect(list["keys"]?.elements?.count == 2)
            let shown = try #require(users.first)
            #expect(users.count == 1 && shown.wholeMatch(of: /u_[0-9a-f]{16}/) != nil)
            // Requests give the name, never what is shown.
            let asShown = try await service.get("/v1/keys?user=\(shown)", token: admin)
            #expect(asShown["keys"]?.elements?.isEmpty == true)

            let challenge = try await phone.challenge("assert", user: anna)
            #expect(try await phone.assert(try await phone.assertion(first, challenge: challenge)).status == 200)
            let others = try await phone.challenge("assert", user: bert)
            #expect(
                try await phone.assert(try await phone.assertion(first, challenge: others)).code == "challenge.binding")
            let (_, body) = try await phone.attestation(user: anna)
            #expect(try await service.post("/v1/apps/shop/attestations", body).status == 201)
            #expect(try await service.post("/v1/apps/shop/attestations", body).status == 200)

            let revocation = "/v1/apps/shop/revocations"
            let dry = try await service.post(revocation, ["user": .string(anna), "dryRun": true], token: admin)
            #expect(dry["wouldRevoke"] == .integer(3))
            let deleted = try await RunningService.call(
                "DELETE", service.base + "/v1/users/\(anna)", token: admin, type: nil)
            #expect(deleted["deleted"] == .integer(3))
            let audit = String(
                decoding: try await service.get("/v1/audit?limit=1000", token: admin).body, as: UTF8.self)
            // The audit names the user as the store does.
            #expect(audit.contains("user:\(shown)") && audit.contains("dryRun user:\(shown)"))
            #expect(!audit.contains(anna) && !audit.contains(bert))

            // A second node with the same mode works, one with the other is refused, and commands take what there is.
            _ = try await server(.hashed, store)
            let fault = await #expect(throws: StoreFault.self) { _ = try await server(.plain, store) }
            #expect(fault?.code == "store.configuration" && fault?.reason.contains("set users to hashed") == true)
            let session = try await OperatorSession(store)
            let text = try await session.list(KeyFilter(user: bert), after: nil, limit: 100).rendered()
            #expect(text.contains("u_") && !text.contains(bert))
        }
        guard backend == .sqlite else { return }
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.url.path) {
            let bytes = try Data(contentsOf: folder.url.appendingPathComponent(name))
            for user in [Self.anna, Self.bert] { #expect(bytes.range(of: Data(user.utf8)) == nil, "\(name)") }
        }
        // A copy without secrets has the names alone, which say how it was made.
        let copy = folder.url.appendingPathComponent("copy.sqlite").path
        _ = try SQLTrustStore.backUp(sqliteAt: file, to: copy, withSecrets: false)
        let copied = try SQLTrustStore.sqlite(at: copy)
        await #expect(throws: StoreFault.self) { _ = try await server(.plain, copied) }
        _ = try await server(.hashed, copied)
        await copied.close()
    }

    /// The only plain user name is on the second page of keys; the first page has no user names, or only hashes.
    @Test(arguments: [nil, "u_0123456789abcdef"]) func aCopyOfManyKeysSaysHowItWasMade(_ first: String?) async throws {
        let (store, now) = (Store.inMemory(), Date())
        for number in 0...UInt16(KeyPage.largest) {
            // Keys are listed by environment, app and id.
            let bytes = [UInt8(number >> 8), UInt8(number & 255)] + [UInt8](repeating: 0, count: 30)
            let record = KeyRecord(
                id: try #require(KeyIdentifier(bytes: bytes)), publicKeyBytes: [4] + bytes + bytes, app: "shop",
                identity: "TEAM123456.com.example.shop", environment: "production", simulated: false,
                user: number < KeyPage.largest ? first : Self.anna, attestationDigest: bytes, validationCategory: nil,
                bundleVersion: nil, osVersion: nil)
            let receipt = ReceiptRecord(bytes: [1], createdAt: now, notBefore: nil, expiresAt: nil, riskMetric: nil)
            let challenge = SpendableChallenge(id: Array(bytes.prefix(16)), expiresAt: now + 60)
            _ = try await store.insert(
                KeyRegistration(record, receipt: receipt, refreshAt: nil), spending: challenge, at: now)
        }
        let fault = await #expect(throws: StoreFault.self) { _ = try await server(.hashed, store) }
        #expect(fault?.reason.contains("set users to plain") == true)
        _ = try await server(.plain, store)
    }

    /// Without the secret of the store nothing that is kept beyond a user's deletion leads to the name.
    @Test func grantsAndCountsHaveAKeyedHash() async throws {
        let store = Store.inMemory()
        let first = try await UserNames(.plain, in: store, random: { [UInt8](repeating: 1, count: $0) })
        let second = try await UserNames(.plain, in: store, random: { [UInt8](repeating: 2, count: $0) })
        let unkeyed = try #require(PromotionSubject(user: Self.anna))
        let grantee = try #require(first.grantee(Self.anna))
        #expect(grantee != unkeyed && second.grantee(Self.anna) == grantee && first.grantee(Self.bert) != grantee)
        #expect(first.counted(Self.anna) == first.pseudonym(Self.anna))
        let key = try #require(KeyIdentifier(bytes: [UInt8](repeating: 7, count: 32)))
        #expect(first.grantee(key) != .key(key) && second.grantee(key) == first.grantee(key))
        #expect(!first.grantee(key).text.contains(key.base64))
        // What a store of 0.2.0 granted stays granted.
        let older = Store.inMemory()
        _ = try await older.secret(named: AuditChain.secretName, orElse: [UInt8](repeating: 1, count: 32))
        for _ in 0..<2 {
            let names = try await UserNames(.plain, in: older, random: { [UInt8](repeating: 1, count: $0) })
            #expect(names.grantee(Self.anna) == unkeyed && names.grantee(key) == .key(key))
        }
    }

    /// Another secret changes the name in new lines, and whoever was found before is found.
    @Test(arguments: [Configuration.Users.plain, .hashed]) func usersAreFoundAfterARotation(
        _ mode: Configuration.Users
    ) async throws {
        let store = Store.inMemory()
        let names = try await UserNames(mode, in: store, random: { [UInt8](repeating: 1, count: $0) })
        let (line, stored, counted) = (
            names.pseudonym(Self.anna), names.stored(Self.anna), names.counted(names.stored(Self.anna))
        )
        for byte in UInt8(2)...3 {
            #expect(try await StoredSecret.audit.replace(in: store) { [UInt8](repeating: byte, count: $0) })
            try await names.reread(store, mark: store.secretsMark())
            let other = try await UserNames(mode, in: store, random: { [UInt8](repeating: 9, count: $0) })
            #expect(names.pseudonym(Self.anna) != line && other.pseudonym(Self.anna) == names.pseudonym(Self.anna))
            #expect(other.stored(Self.anna) == stored && other.counted(stored) == counted)
            #expect(other.grantee(Self.anna) == names.grantee(Self.anna))
        }
    }

    @Test func theFirstServiceDecides() async throws {
        let plain = Store.inMemory()
        _ = try await server(.plain, plain)
        let fault = await #expect(throws: StoreFault.self) { _ = try await server(.hashed, plain) }
        #expect(fault?.reason.contains("set users to plain") == true)
        // Of two that begin at once, both get the same.
        let raced = Store.inMemory()
        let outcomes = try await allAtOnce(8) { index in
            (try? await server(index % 2 == 0 ? .plain : .hashed, raced)) != nil
        }
        #expect(outcomes.count { $0 } == 4)
        // A store that an older version made has plain names.
        let older = Store.inMemory()
        _ = try await older.secret(named: AuditChain.secretName, orElse: [UInt8](repeating: 1, count: 32))
        await #expect(throws: StoreFault.self) { _ = try await server(.hashed, older) }
        _ = try await server(.plain, older)
    }
}
