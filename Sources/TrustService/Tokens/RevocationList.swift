// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Formats
import FoundationEssentials
import HTTPService
import HTTPTypes
import Logging
import Synchronization
import TrustStores
import TrustTokens
import Vocabulary

/// The signed list of keys that were revoked while their tokens may still live: read from the store at most once a second, however many ask.
final class RevocationList: Sendable {
    /// The list as it is sent.
    struct Signed: Sendable {
        let token: String
        /// With its quotes.
        let tag: String
        /// Seconds since 1970.
        let issuedAt: Int
        /// What it says beside its times.
        let claims: [JSONValue.Member]
        /// The name of the key that signed it.
        let signer: String
    }

    private let parts: ServiceParts
    private let limit: Int
    private let last = Mutex<Signed?>(nil)

    /// How long a list may be used, in seconds.
    static let life = 300
    /// A list that still says the truth is signed anew after this many seconds, so that a reader always has the rest of its life left.
    static let renewal = 120
    /// By how many seconds the clocks of two nodes may differ.
    private static let clockMargin = 60.0

    /// - Parameter limit: the most keys that are named.
    init(_ parts: ServiceParts, limit: Int = RevokedKeyList.keyLimit) { (self.parts, self.limit) = (parts, limit) }

    /// The list as the store has it now.
    func current() async throws -> Signed {
        let now = parts.sources.now()
        let revoked = try await parts.store.revokedKeys(
            since: now - parts.configuration.longestTokenLife / .seconds(1) - RevocationList.clockMargin, limit: limit)
        parts.observer.set(.revokedKeysListed, Double(revoked.names.count))
        if !revoked.isComplete, parts.observer.perMinute.note("revoked.keys", at: parts.sources.uptime()) != nil {
            parts.observer.log.warning(
                "More keys were revoked than the list of revoked keys names; checks that read it ask the service about the rest.",
                metadata: ["named": "\(revoked.names.count)"])
        }
        let keys = parts.live.current.tokens.production
        let life = TokenLife(from: now, seconds: RevocationList.life)
        // In the order of the marks, which says nothing about when each was revoked.
        let marks = revoked.names.map { RevocationMark.of(hash: $0) }.sorted()
        var claims: [JSONValue.Member] = [
            .init("iss", .string(keys.issuer)), .init("keys", .array(marks.map(JSONValue.string))),
        ]
        // Absent if all are named.
        if !revoked.isComplete { claims.append(.init("complete", false)) }
        if let before = last.withLock({ $0 }), before.signer == keys.signer, before.claims == claims,
            (0..<RevocationList.renewal).contains(life.issuedAt - before.issuedAt)
        {
            return before
        }
        let token = try keys.sign(claims + life.members, type: RevokedKeyList.type)
        let digest = SHA256.hash(data: Data(token.utf8)).prefix(12)
        let signed = Signed(
            token: token, tag: "\"\(Base64.encodeURL(digest))\"", issuedAt: life.issuedAt, claims: claims,
            signer: keys.signer)
        last.withLock { $0 = signed }
        return signed
    }
}

/// `GET /v1/revoked`.
struct RevocationHandler: Handler {
    private let list: SharedAnswer<RevocationList.Signed>

    init(_ parts: ServiceParts) {
        let uptime = parts.sources.uptime
        list = SharedAnswer(
            interval: .seconds(1), uptime: { .seconds(uptime()) }, find: RevocationList(parts).current)
    }

    var routes: [Route] { [Route("revokedKeys", "GET", "/v1/revoked", .open, revoked)] }

    @Sendable private func revoked(_ call: Call) async throws -> Answer {
        let list = try await list.value()
        let known = call.headers[values: .ifNoneMatch].flatMap { $0.utf8.split(separator: UInt8(ascii: ",")) }
        // RFC 9110, section 13.1.2: a weak tag matches too, and an asterisk matches everything.
        let isKnown = known.contains { tag in
            var tag = tag.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            if tag.starts(with: "W/".utf8) { tag = tag.dropFirst(2) }
            while let last = tag.last, last == UInt8(ascii: " ") || last == UInt8(ascii: "\t") { tag = tag.dropLast() }
            return tag.elementsEqual(list.tag.utf8) || tag.elementsEqual("*".utf8)
        }
        var answer =
            isKnown ? Answer.empty(304) : Answer.text(list.token, contentType: "application/jwt")
        answer.headers = [(.eTag, list.tag), (.cacheControl, "max-age=60")]
        return answer
    }
}
