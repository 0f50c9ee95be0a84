// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import PropertyLists
import TLSModel
import TestSupport
import Testing
import Vocabulary

@testable import AppTransportSecurity

/// What was measured on real Apple systems, against the judge: `../shared/vectors/ats-cells`.
@Suite("measured cells")
struct MeasuredCellTests {
    struct Cell: Decodable, Sendable, CustomTestStringConvertible {
        let id: String
        let dictionary: PropertyListValue?
        let verdict: String
        let codes: [Int]
        let sure: Bool
        var testDescription: String { id }

        enum Member: String, CodingKey { case id, dictionary, verdict, codes, sure }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Member.self)
            id = try members.decode(String.self, forKey: .id)
            verdict = try members.decode(String.self, forKey: .verdict)
            codes = try members.decode([Int].self, forKey: .codes)
            sure = try members.decode(Bool.self, forKey: .sure)
            // The system's own processes have words in place of a dictionary.
            dictionary = (try? members.decode(Node.self, forKey: .dictionary))?.value
        }
    }

    /// The JSON of a dictionary.
    private struct Node: Decodable {
        let value: PropertyListValue

        init(from decoder: any Decoder) throws {
            let single = try decoder.singleValueContainer()
            if let flag = try? single.decode(Bool.self) {
                value = .boolean(flag)
            } else if let text = try? single.decode(String.self) {
                value = .string(text)
            } else {
                value = .dictionary(try single.decode([String: Node].self).mapValues(\.value))
            }
        }
    }

    private struct File: Decodable { let cells: [Cell] }

    static let cells: [Cell] = {
        guard let file = SharedVectors.file("ats-cells/cells.json"), let data = try? Data(contentsOf: file) else {
            return []
        }
        return (try? JSONDecoder().decode(File.self, from: data))?.cells ?? []
    }()

    /// The system and the server of each cell, which its file tells in words.
    struct Setting {
        var os: String
        var versions: [TLSVersion] = [.tls12, .tls13]
        var suite = CipherSuite.ecdheRSAWithAES256GCMSHA384
        var usesExtendedMasterSecret = true
        /// How the server refuses what it does not have.
        var alert: UInt8 = 70
        /// In place of the dictionary, for processes of the system.
        var json: String?
    }

    static let hardened = #"{"NSRequiresNIAPTLSPackageVersion":"FCP_v2.1"}"#

    static let settings: [String: [Setting]] = [
        "owasp-26-tls10-default": [Setting(os: "macos26", versions: [.tls10])],
        "owasp-26-tls10-allowall": [Setting(os: "macos26", versions: [.tls10])],
        "owasp-26-tls10-min10": [Setting(os: "macos26", versions: [.tls10])],
        "owasp-26-tls10-min10-nopfs": [Setting(os: "macos26", versions: [.tls10])],
        "owasp-17-tls10-min10": [Setting(os: "ios17", versions: [.tls10], suite: .ecdheRSAWithAES128CBCSHA)],
        "owasp-rsa-default": [Setting(os: "macos26", versions: [.tls12], suite: .rsaWithAES128GCMSHA256, alert: 40)],
        "owasp-rsa-nopfs": [Setting(os: "macos26", versions: [.tls12], suite: .rsaWithAES128GCMSHA256, alert: 40)],
        "bloch-11-default-12": [Setting(os: "macos11", versions: [.tls12])],
        "bloch-11-default-13": [Setting(os: "macos11")],
        "bloch-11-min13-13": [Setting(os: "macos11")],
        "bloch-11-nofs-12": [Setting(os: "macos11", versions: [.tls12])],
        "bloch-11-nofs-rsa": [Setting(os: "macos11", versions: [.tls12], suite: .rsaWithAES256GCMSHA384, alert: 40)],
        "bloch-11-default-10": [Setting(os: "macos11", versions: [.tls10])],
        "bloch-11-default-11": [Setting(os: "macos11", versions: [.tls11])],
        "bloch-11-min13-12": [Setting(os: "macos11", versions: [.tls12])],
        "bloch-11-default-rsa": [Setting(os: "macos11", versions: [.tls12], suite: .rsaWithAES256GCMSHA384, alert: 40)],
        "bloch-11-ct": [Setting(os: "macos11")],
        "bloch-gist-10.14-min13": ["macos10.14", "macos10.15", "ios12.2", "ios13"].map { Setting(os: $0) },
        "apple-26-default-min": ["ios26", "macos26", "ios26.4", "macos27"].flatMap {
            [Setting(os: $0, versions: [.tls10]), Setting(os: $0, versions: [.tls11])]
        },
        "boucloud-27-noems": [
            Setting(os: "ios27", versions: [.tls12], usesExtendedMasterSecret: false, json: hardened)
        ],
        "boucloud-27-ems": [
            Setting(os: "ios27", json: hardened), Setting(os: "ios27", versions: [.tls12], json: hardened),
        ],
    ]

    @Test(.enabled(if: !MeasuredCellTests.cells.isEmpty, "the cells of ../shared/vectors/ats-cells are not there"))
    func thereAreAll() {
        #expect(Self.cells.count == 21)
        #expect(Set(Self.cells.map(\.id)) == Set(Self.settings.keys))
    }

    @Test(
        .enabled(if: !MeasuredCellTests.cells.isEmpty, "the cells of ../shared/vectors/ats-cells are not there"),
        arguments: cells)
    func theJudgeSaysWhatWasMeasured(_ cell: Cell) throws {
        for setting in try #require(Self.settings[cell.id]) {
            let json = try setting.json.map { try PropertyListValue(json: Array($0.utf8)) } ?? cell.dictionary
            let dictionary = ATSDictionary(json)
            let host = dictionary.exceptions.keys.first ?? "api.example.com"
            let profile = try #require(OSProfile.named(setting.os))
            let decision = ATSPolicy(dictionary: dictionary, profile: profile).decide(try LoadURL("https://\(host)/"))
            let verdict = try Self.load(setting, decision.requirements, host)
            #expect(verdict.passed == (cell.verdict == "PASS"), "\(setting.os): \(verdict.causes)")
            if let code = cell.codes.first { #expect(verdict.error?.code == code) }
            if cell.codes.count > 1 { #expect(verdict.error?.streamCode == cell.codes[1], "\(setting.os)") }
        }
    }

    /// Where sources contradict each other, the cause names both.
    @Test func contradictionsAreNamed() throws {
        let transparency = #"{"NSExceptionDomains":{"api.example.com":{"NSRequiresCertificateTransparency":true}}}"#
        let cause = try Scene().verdict(transparency, os: "macos11").causes.first
        #expect(cause?.code == "ats.ct.missing")
        #expect(
            cause?.message.contains("macOS 11 was measured") == true
                && cause?.message.contains("does not read it") == true)
        #expect(try Scene().verdict(transparency, os: "macos12").passed)
        #expect(try Scene().verdict(transparency).passed)
        let minimum = #"{"NSExceptionDomains":{"api.example.com":{"NSExceptionMinimumTLSVersion":"TLSv1.3"}}}"#
        var scene = Scene()
        scene.version = .tls13
        scene.suite = .aes128GCMSHA256
        let refused = try scene.verdict(minimum, os: "macos10.15")
        #expect(!refused.passed && refused.causes.first?.message.contains("no effect") == true)
        #expect(try scene.verdict(minimum, os: "macos11").passed)
    }

    /// A server with some versions and one suite up to TLS 1.2, whose certificate is good.
    private static func load(
        _ setting: Setting, _ requirements: TransportRequirements, _ host: String
    ) throws
        -> (passed: Bool, causes: [Cause], error: URLLoadError?)
    {
        func observation(_ version: TLSVersion) -> HandshakeObservation {
            HandshakeObservation(
                version: version, suite: version == .tls13 ? .aes128GCMSHA256 : setting.suite, keyPossession: .proven,
                usesExtendedMasterSecret: setting.usesExtendedMasterSecret)
        }
        let own = try #require(setting.versions.max())
        let common = setting.versions.filter { requirements.effectiveMinimum <= $0 && $0 <= requirements.maximum }.max()
        guard let version = common, requirements.suites.contains(observation(version).suite) else {
            let failed = evaluate(
                requirements, failed: .alert(level: 2, description: setting.alert), host: host, widest: observation(own)
            )
            return (false, failed.causes, failed.error)
        }
        var scene = Scene()
        scene.host = host
        scene.names = AlternativeNames(dnsNames: [host], addresses: [])
        scene.issued = Scene.date("2021-05-31")
        scene.days = 30
        let facts = ConnectionFacts(handshake: observation(version), chain: scene.facts.chain)
        let verdict = evaluate(requirements, facts, host: host, at: Scene.date("2021-06-02"))
        return (verdict.passed, verdict.causes, verdict.error)
    }
}
