// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Foundation
import NIOHTTP1
import TLSModel
import TestSupport
import Testing
import TrustStores
import Vocabulary

@testable import HTTPService
@testable import TrustService

/// Mutations of what callers send, against each reader by itself. A crash is the finding; the seed finds it again. The long form, and the
/// fuzz targets of `Fuzz/`, run the same for longer.
@Suite struct MutatedInputTests {
    private static let count = LongForm.isAsked ? 200_000 : 3_000

    /// Changes, cuts, repeats and inserts, the same for the same seed.
    private struct Mutations {
        var random: SplitMix
        let corpus: [[UInt8]]

        mutating func next() -> [UInt8] {
            var input = corpus[random.below(corpus.count)]
            for _ in 0...random.below(4) {
                guard !input.isEmpty else { return input }
                let place = random.below(input.count)
                let length = min(random.below(16) + 1, input.count - place)
                switch random.below(6) {
                case 0: input[place] ^= 1 << UInt8(random.below(8))
                case 1: input[place] = UInt8(random.below(256))
                case 2: input.removeSubrange(place..<place + length)
                case 3: input.insert(contentsOf: input[place..<place + length], at: place)
                case 4: input.removeLast(random.below(input.count))
                default:
                    let pieces = [
                        "\u{301}", "\u{600},", "9999999999999999999", "-1", "%00", "\"", "{", "[", "\u{0}", "\\ud800",
                        "e999",
                    ]
                    input.insert(contentsOf: pieces[random.below(pieces.count)].utf8, at: place)
                }
            }
            return input
        }
    }

    private func each(_ seed: UInt64, _ corpus: [String], _ body: ([UInt8]) async -> Void) async {
        var mutations = Mutations(random: SplitMix(state: seed), corpus: corpus.map { Array($0.utf8) })
        for _ in 0..<MutatedInputTests.count { await body(mutations.next()) }
    }

    @Test func bodiesAndClientData() async {
        let key = Base64.encode([UInt8](repeating: 7, count: 32))
        await each(
            1,
            [
                #"{"keyId":"\#(key)","assertion":"omlzaWduYXR1cmVBAA==","clientData":"e30=","challenge":"AAAA","singleUse":true}"#,
                #"{"purpose":"attest","user":"bob","deviceTokens":["AAAA","BBBB"],"bits":{"a":true},"n":[1,-2.5e3,null,"\u00e9"]}"#,
            ]
        ) { input in
            if let body = try? RequestBody(input) {
                _ = try? PresentedAssertion(body)
                _ = try? (body.optionalFlag("singleUse"), body.string("purpose", limit: 16), body.value("bits"))
            }
            _ = try? ClientData.challenge(in: input)
        }
    }

    @Test func tokens() async throws {
        let authority = try await TokenAuthority(.init(), store: Store.inMemory()) {
            [UInt8](repeating: 5, count: $0)
        }
        guard case .array(let keys)? = authority.production.published.member("keys"),
            let kid = keys.first?.member("kid")?.text
        else { throw Failure("no key") }
        let header = Base64.encodeURL(#"{"alg":"ES256","kid":"\#(kid)","typ":"JWT"}"#.utf8)
        let payload = Base64.encodeURL(#"{"iss":"sealward","aud":"sealward","exp":9999999999,"iat":1}"#.utf8)
        let now = Date()
        await each(2, ["\(header).\(payload).\(Base64.encodeURL([UInt8](repeating: 1, count: 64)))", "..", header]) {
            input in
            let token = String(decoding: input, as: UTF8.self)
            if (try? authority.read(token, at: now)) != nil { Issue.record("a mutation was accepted: \(token)") }
        }
    }

    @Test func forwardedAddresses() async throws {
        let trusted = [try #require(AddressRange("10.0.0.0/8"))]
        await each(3, ["6.6.6.6, 1.2.3.4:5678, 10.0.0.2", "[2001:db8::1]:443,::ffff:1.2.3.4", "unknown"]) { input in
            let header = String(decoding: input, as: UTF8.self)
            // Whatever came before, the hop that the proxy added decides.
            #expect(
                CallerAddress.resolve(peer: "10.0.0.1", forwarded: header + ", 9.9.9.9", trusted: trusted) == "9.9.9.9")
            let address = CallerAddress.resolve(peer: "10.0.0.1", forwarded: header, trusted: trusted)
            #expect(IPAddress(address) != nil)
            _ = CallerAddress.bucket(of: header)
        }
    }

    @Test func headsPathsAndQueries() async {
        let table = RouteTable([
            Route("ramp", "GET", "/v1/apps/{app}/ramp", .app) { _ in .empty(204) },
            Route("live", "GET", "/livez", .open) { _ in .empty(204) },
        ])
        await each(4, ["/v1/apps/sh%6Fp/ramp?installation=a%20b&x=+y", "http://x:80/livez?a=%FF", "*"]) { input in
            let target = String(decoding: input, as: UTF8.self)
            let fields: HTTPHeaders = ["host": "x", "connection": target, "content-length": "1\(target.prefix(3))"]
            let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: target, headers: fields)
            _ = RequestHeadRule.isReadable(head)
            _ = RequestHeadRule.wantsContinue(head, bodyLimit: 65536)
            let path = RequestHeadRule.originForm(head)?.uri ?? target
            if case .route(_, let parameters) = table.match(method: "GET", path: path) {
                for value in parameters.values { #expect((1...256).contains(value.utf8.count)) }
            }
            _ = PercentEncoding.decode(Substring(target).utf8, plusIsSpace: true)
            _ = ServiceResponder.isJSON(target)
            _ = Call.bearer(of: target)
        }
    }

    @Test func configurations() async {
        await each(
            5,
            [
                #"{"listen":"[::1]:0","trustedProxies":["10.0.0.0/8"],"limits":{"connections":100,"bodyBytes":512},"apps":[{"id":"a","teamId":"T","bundleIds":["x.y"],"ramp":{"percent":5.5,"start":"2026-01-01"}}]}"#
            ]
        ) { input in
            let outcome = ConfigurationReader.read(file: input, environment: [:]) { _ throws(UnreadableFile) in input }
            if case .issues(let issues) = outcome {
                for issue in issues { #expect(issue.description.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }) }
            }
        }
    }
}
