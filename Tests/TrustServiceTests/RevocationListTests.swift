// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import DeviceSimulator
import Formats
import Foundation
import TestSupport
import Testing
import TrustStores
import Vocabulary

@testable import TrustService

/// The list of revoked keys, read as a program of somebody else reads it.
@Suite struct RevocationListTests {
    /// What a list says, after its signature was verified with the published keys.
    struct Read {
        let header: JSONValue
        let claims: JSONValue
        let reply: Reply

        var keys: [String] { claims.member("keys")?.elements?.compactMap(\.text) ?? [] }
    }

    private func list(_ service: RunningService) async throws -> Read {
        let reply = try await service.get("/v1/revoked")
        try #require(reply.status == 200, "\(reply.verdict)")
        let parts = String(decoding: reply.body, as: UTF8.self).split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        let bytes = try parts.map { try #require(Base64.decodeURL($0)) }
        let header = try JSONReader.read(bytes[0])
        let set = try await service.get("/.well-known/jwks.json")
        let entry = try #require(set["keys"]?.elements?.first { $0.member("kid") == header.member("kid") })
        let point = try ["x", "y"].flatMap { try #require(entry.member($0)?.text.flatMap(Base64.decodeURL)) }
        let key = try P256.Signing.PublicKey(rawRepresentation: Data(point))
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: Data(bytes[2]))
        #expect(key.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
        return Read(header: header, claims: try JSONReader.read(bytes[1]), reply: reply)
    }

    /// Asks until the list is as wanted: the service makes one at most once a second.
    private func list(
        _ service: RunningService, until isWanted: (Read) -> Bool
    ) async throws -> Read {
        for _ in 0..<1500 {
            let read = try await list(service)
            if isWanted(read) { return read }
            try await Task.sleep(for: .milliseconds(20))
        }
        return try await list(service)
    }

    private func mark(_ key: String) throws -> String {
        Base64.encodeURL(SHA256.hash(data: Data(try #require(Base64.decode(key)))).prefix(12))
    }

    @Test func itNamesWhatWasRevokedWhileTokensLive() async throws {
        try await RunningService.with { service in
            let empty = try await list(service)
            #expect(empty.header.member("typ") == "revoked+jwt" && empty.claims.member("iss") == "sealward")
            #expect(empty.keys.isEmpty && empty.claims.member("complete") == nil)
            let phone = await Phone(service)
            let keys = [try await phone.attested(), try await phone.attested()]
            #expect(try await service.revoke(keys[0]).status < 300)
            let read = try await list(service) { !$0.keys.isEmpty }
            #expect(read.keys == [try mark(keys[0])])
            let (iat, exp) = (read.claims.member("iat")?.integer ?? 0, read.claims.member("exp")?.integer ?? 0)
            #expect(exp - iat == 300 && abs(Double(iat) - service.clock.now.timeIntervalSince1970) <= 1)
            // A key that is deleted afterwards is still named.
            #expect(try await service.delete(RunningService.path(keys[0])).status == 204)
            service.clock.advance(3600)
            #expect(try await list(service) { $0.claims.member("iat")?.integer ?? 0 > iat }.keys.count == 1)
            // Its last token has ended, and of a deleted key only the day of the revocation is known.
            service.clock.advance(86_400)
            #expect(try await list(service) { $0.keys.isEmpty }.keys.isEmpty)
        }
    }

    @Test func whoHasTheListIsToldSo() async throws {
        try await RunningService.with { service in
            let read = try await list(service)
            #expect(read.reply.headers["cache-control"] == "max-age=60")
            #expect(read.reply.headers["content-type"] == "application/jwt")
            let tag = try #require(read.reply.headers["etag"])
            for (header, status) in [
                (tag, 304), ("\"other\", W/\(tag)", 304), ("*", 304), ("\"other\"", 200), ("", 200), ("W/", 200),
                (" , W/ ,", 200),
            ] {
                let reply = try await RunningService.call(
                    "GET", service.base + "/v1/revoked", headers: ["If-None-Match": header])
                #expect(reply.status == status && reply.headers["etag"] == tag, "\(header)")
                #expect(reply.body.isEmpty == (status == 304))
            }
            // It is signed anew long before it ends.
            service.clock.advance(121)
            #expect(try await list(service) { $0.reply.headers["etag"] != tag }.keys.isEmpty)
        }
    }

    @Test func moreKeysThanItNamesAreSaidInTheListAndInTheLog() async throws {
        let lines = LogLines()
        var made: RevocationList?
        try await RunningService.with(
            log: lines.logger,
            interfaces: { parts in
                made = RevocationList(parts, limit: 1)
                return []
            }
        ) { service in
            let phone = await Phone(service)
            for _ in 0..<2 { #expect(try await service.revoke(phone.attested()).status < 300) }
            let list = try #require(made)
            let claims = JSONValue.object(try await list.current().claims)
            #expect(claims.member("keys")?.elements?.count == 1 && claims.member("complete") == false)
            _ = try await list.current()
            #expect(lines.all.count { $0.message.hasPrefix("More keys were revoked") } == 1)
        }
    }
}
