// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import DeviceSimulator
import Formats
import Foundation
import TestSupport
import Testing
import Vocabulary

@testable import TrustService

/// `docs/verify-app-attest.md` has a table of mistakes and places. Each mistake is made at each place, and told where the table says so.
@Suite struct MistakeTableTests {
    /// A row and a column of the table.
    struct Cell: Sendable, CustomStringConvertible {
        let mistake: String
        let place: Place
        let isTold: Bool
        var description: String { "\(mistake) at \(place)" }
    }

    /// The columns, in their order.
    enum Place: Int, CaseIterable { case attestation, assertion, attestationAtService, assertionAtService }

    /// The rows, each with the name of its mistakes first and the groups of the tests for verifiers last.
    private static let rows: [[String]] = {
        let page = BuiltProgram.repository.appending(path: "docs/verify-app-attest.md")
        let text = (try? String(contentsOf: page, encoding: .utf8)) ?? ""
        let rows = text.components(separatedBy: "| mistake |").last?.components(separatedBy: "\n\n").first ?? ""
        return rows.split(separator: "\n").dropFirst(2).map { row in
            row.split(separator: "|", omittingEmptySubsequences: true).map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }()

    private static let cells: [Cell] = {
        rows.flatMap { columns -> [Cell] in
            guard columns.count == Place.allCases.count + 2 else { return [] }
            let names = columns[0].components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(
                \.element)
            return names.flatMap { name in
                Place.allCases.map { Cell(mistake: name, place: $0, isTold: !columns[$0.rawValue + 1].hasPrefix("-")) }
            }
        }
    }()

    @Test func theTableIsRead() {
        #expect(Set(Self.cells.map(\.mistake)).count == 14)
        #expect(Self.cells.count == 56)
    }

    /// `simulate verifier-tests` has objects with the mistake in each group that the table names.
    @Test func verifiersAreAskedTheGroupsOfTheTable() throws {
        let groups = Set(try VerifierCase.all().compactMap(\.group))
        let named = Self.rows.compactMap(\.last).flatMap { $0.split { !$0.isNumber }.compactMap { Int($0) } }
        #expect(Set(named).isSubset(of: groups) && named.count == 11, "\(named)")
    }

    @Test(arguments: cells) func eachCellIsAsTheTableSays(_ cell: Cell) async throws {
        let told: String? =
            switch cell.place {
            case .attestation: try await attestation(cell.mistake)
            case .assertion: try assertion(cell.mistake)
            case .attestationAtService: try await attestationAtService(cell.mistake)
            case .assertionAtService: try await assertionAtService(cell.mistake)
            }
        #expect((told == cell.mistake) == cell.isTold, "\(told ?? "nothing") was told")
        if !cell.isTold { #expect(told == nil, "\(told ?? "")") }
    }

    // MARK: - The mistakes

    private static func sha(_ bytes: some Sequence<UInt8>) -> [UInt8] { Array(SHA256.hash(data: Array(bytes))) }

    /// What is passed as clientDataHash for client data; nil for a mistake that is not one of hashing.
    private static func passed(_ mistake: String, _ clientData: [UInt8]) -> [UInt8]? {
        switch mistake {
        case "unhashed": clientData
        case "hashed-twice": sha(sha(clientData))
        case "hex-hashed": sha(clientData.hexadecimal().utf8)
        case "base64-text-hashed": sha(Base64.encode(clientData).utf8)
        case "other-text": sha([])
        case "json-rewritten":
            sha(String(decoding: clientData, as: UTF8.self).replacingOccurrences(of: ":", with: ": ").utf8)
        default: nil
        }
    }

    private static func fault(_ mistake: String) -> AssertionFault? {
        ["single-hash": .singleHashing, "raw-signature": .rawSignature][mistake]
    }

    /// The app of the mistake in place of the right one.
    private static func app(_ mistake: String) -> SimulatedApp {
        switch mistake {
        case "app-id-prefix": SimulatedApp("OTHER12345.com.example.shop")
        case "app-id-case": SimulatedApp("TEAM123456.com.example.SHOP")
        case "app-id-suffix": SimulatedApp("TEAM123456.com.example")
        case "environment": SimulatedApp("TEAM123456.com.example.shop", distribution: .development)
        default: RunningService.app
        }
    }

    // MARK: - The places

    private static let instant = Date(timeIntervalSince1970: 1_795_262_400)

    private func attestation(_ mistake: String) async throws -> String? {
        let key = P256.Signing.PrivateKey()
        let clientData = Array("a challenge".utf8)
        let hash = Self.passed(mistake, clientData) ?? Self.sha(mistake == "other-challenge" ? [1] : clientData)
        let object = try RunningService.authority.attest(
            SimulatedAttestationRequest(
                publicKey: Array(key.publicKey.x963Representation), app: Self.app(mistake), system: .iOS("27.0"),
                clientDataHash: hash), at: Self.instant
        ).object
        let verifier = AttestationVerifier(
            apps: [try AppIdentity(RunningService.app.applicationId)], environments: [.production],
            roots: try AttestationRoots(pem: RunningService.authority.attestationRootPEM), receiptRoots: nil)
        let keyId = try AttestationPublicKey(x963Representation: key.publicKey.x963Representation).keyId
        let expected = ClientDataHash(hashing: clientData)
        guard
            case .refused(let refusal) = await verifier.verify(
                object, keyId: keyId, clientDataHash: expected, at: Self.instant)
        else { return nil }
        return verifier.explained(refusal, of: object, clientDataHash: expected, clientData: clientData).mistake?.name
    }

    private func assertion(_ mistake: String) throws -> String? {
        let (key, other) = (P256.Signing.PrivateKey(), P256.Signing.PrivateKey())
        let clientData = Array(#"{"challenge":"abc"}"#.utf8)
        let object = try SimulatedAssertion.make(
            key: mistake == "other-key" ? other : key, app: Self.app(mistake), system: .iOS("27.0"), counter: 1,
            clientDataHash: Self.passed(mistake, clientData)
                ?? Self.sha(mistake == "other-challenge" ? [1] : clientData),
            fault: Self.fault(mistake))
        let verifier = AssertionVerifier(app: try AppIdentity(RunningService.app.applicationId))
        let publicKey = try AttestationPublicKey(x963Representation: key.publicKey.x963Representation)
        let hash = ClientDataHash(hashing: clientData)
        guard
            case .refused(let refusal) = verifier.verify(
                object, publicKey: publicKey, clientDataHash: hash, previousCounter: 0)
        else { return nil }
        return verifier.explained(
            refusal, of: object, publicKey: publicKey, clientDataHash: hash, clientData: clientData
        ).mistake?.name
    }

    private func attestationAtService(_ mistake: String) async throws -> String? {
        // Only there is what is signed a challenge that the service can know again.
        let settings = RunningService.configuration {
            $0.apps[0].environments = [.production]
            if mistake == "other-challenge" { $0.apps[0].binding = .raw }
        }
        return try await RunningService.with(settings) { service in
            let phone = await Phone(service, app: Self.app(mistake))
            let challenge = try await phone.challenge("attest")
            let keyId = try await phone.device.generateKey(for: phone.app)
            let other = mistake == "other-challenge" ? try await phone.challenge("attest") : nil
            let object = try await phone.device.attestKey(
                keyId, clientDataHash: other ?? Self.passed(mistake, challenge) ?? Self.sha(challenge), for: phone.app,
                at: service.clock.now)
            let reply = try await service.post(
                "/v1/apps/shop/attestations",
                [
                    "keyId": .string(keyId), "attestation": .string(Base64.encode(object)),
                    "challenge": .string(Base64.encode(challenge)),
                ], token: RunningService.serverToken)
            return reply["mistake"]?.text
        }
    }

    private func assertionAtService(_ mistake: String) async throws -> String? {
        try await RunningService.with { service in
            let phone = await Phone(service)
            let keys = [try await phone.attested(user: "ann"), try await phone.attested(user: "ann")]
            let signer = mistake == "other-key" ? keys[1] : keys[0]
            let challenge = try await phone.challenge("assert", user: "ann")
            let clientData = JSONValue.object([.init("challenge", .string(Base64.encode(challenge)))]).encoded(
                pretty: false)
            let hash = Self.passed(mistake, clientData) ?? Self.sha(mistake == "other-challenge" ? [1] : clientData)
            let object = try await phone.device.generateAssertion(
                signer, clientDataHash: hash, for: phone.app, fault: Self.fault(mistake))
            let reply = try await service.post(
                "/v1/apps/shop/assertions",
                [
                    "keyId": .string(keys[0]), "assertion": .string(Base64.encode(object)),
                    "clientData": .string(Base64.encode(clientData)),
                ], token: RunningService.serverToken)
            return reply["mistake"]?.text
        }
    }
}
