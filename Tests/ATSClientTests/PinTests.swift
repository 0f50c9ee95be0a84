// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import Foundation
import TLSModel
import TLSProbe
import TestSupport
import Testing
import Vocabulary

/// NSPinnedDomains against a real server (fact sheet section 1c).
@Suite(.enabled(if: LoopbackServers.isAvailable))
struct PinTests {
    struct Row: Sendable, CustomStringConvertible {
        let description: String
        /// LEAF and CA stand for the right digests, WRONG for another one.
        let pins: String
        let loads: Bool
        /// As it stands in the URL.
        let host: String

        init(_ description: String, _ pins: String, _ loads: Bool, host: String = LoopbackServers.host) {
            self.host = host
            self.description = description
            self.pins = pins
            self.loads = loads
        }
    }

    private static let leaf = "\"NSPinnedLeafIdentities\":[{\"SPKI-SHA256-BASE64\":\"LEAF\"}]"
    private static let authority = "\"NSPinnedCAIdentities\":[{\"SPKI-SHA256-BASE64\":\"CA\"}]"
    private static let wrong = "\"NSPinnedLeafIdentities\":[{\"SPKI-SHA256-BASE64\":\"WRONG\"}]"

    static let rows: [Row] = [
        Row("matching leaf", "\"api.example.com\":{\(leaf)}", true),
        Row("matching authority", "\"api.example.com\":{\(authority)}", true),
        Row("both match", "\"api.example.com\":{\(leaf),\(authority)}", true),
        Row("wrong leaf", "\"api.example.com\":{\(wrong)}", false),
        Row("right authority, wrong leaf: both must match", "\"api.example.com\":{\(wrong),\(authority)}", false),
        Row(
            "the leaf as an authority", "\"api.example.com\":{\(authority.replacing("CA\"}", with: "LEAF\"}"))}", false),
        Row("an empty list fails closed", "\"api.example.com\":{\"NSPinnedLeafIdentities\":[]}", false),
        Row("no identities at all is not pinned", "\"api.example.com\":{}", true),
        Row("one label below", "\"example.com\":{\"NSIncludesSubdomains\":true,\(wrong)}", false),
        Row("one label below, without subdomains", "\"example.com\":{\(wrong)}", true),
        Row("two labels above are too many", "\"com\":{\"NSIncludesSubdomains\":true,\(wrong)}", true),
        Row(
            "entries are united",
            "\"example.com\":{\"NSIncludesSubdomains\":true,\(wrong)},\"api.example.com\":{\(leaf)}", true),
        Row("case makes no difference", "\"API.Example.COM\":{\(wrong)}", false),
        Row(
            "the host's trailing dot does not count", "\"api.example.com\":{\(wrong)}", false, host: "api.example.com."),
        Row("nor does it for a pin that matches", "\"api.example.com\":{\(leaf)}", true, host: "api.example.com."),
        Row("case of the host makes no difference", "\"api.example.com\":{\(wrong)}", false, host: "API.example.COM"),
        Row("another host", "\"www.example.com\":{\(wrong)}", true),
    ]

    @Test(arguments: rows)
    func pins(_ row: Row) async throws {
        let url = try Fixture.server("modern").url
        let open = try Fixture.client()
        let chain = try #require(await open.load(url).connection).chain
        await open.shutDown(grace: .zero)
        let json = row.pins
            .replacing("LEAF\"", with: Data(chain.judged[0].publicKey.sha256).base64EncodedString() + "\"")
            .replacing("CA\"", with: Data(chain.judged[1].publicKey.sha256).base64EncodedString() + "\"")
            .replacing("WRONG", with: Data(repeating: 7, count: 32).base64EncodedString())
        let port = try Fixture.server("modern").port
        let client = try Fixture.client("{\"NSPinnedDomains\":{\(json)}}") {
            $0.addressOverrides.append(AddressOverride(host: "api.example.com.", port: port, address: "127.0.0.1"))
        }
        let report = await client.load("https://\(row.host):\(port)/")
        #expect((report.result == .loaded) == row.loads, "\(report.because)")
        if !row.loads { #expect(report.because.first?.code == "ats.trust.pin-mismatch") }
        await client.shutDown(grace: .zero)
    }
}
