// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import AppleSimulator
import Crypto
import Formats
import TrustService
import Vocabulary

/// The files of a service that serves one app and trusts its own simulated Apple.
struct StarterFiles {
    /// The app in paths, tokens and metrics.
    let app: String
    let identity: AppIdentity
    let listen: ListenAddress
    let apple: ListenAddress
    /// What the simulated Apple's keys are derived from. Anyone who knows it can attest, so it is random and kept in a file.
    let seed: UInt64
    /// Settings beyond those that every service starts with.
    var more: [JSONValue.Member] = []

    static let keyId = "SIMKEY0001"
    static let configuration = "sealward.json"
    static let seedFile = "simulator.seed"
    static let serverToken = "server.token"
    static let adminToken = "admin.token"

    /// The secrets and roots first and the configuration last, so that a configuration never names a file that is not there.
    ///
    /// - Parameter random: gives so many bytes that were never used before.
    func files(in folder: String, random: (Int) -> [UInt8]) throws -> [FreshFolder.File] {
        var simulation = AppleSimulatorConfiguration()
        simulation.seed = seed
        let simulator = try AppleSimulator(configuration: simulation)
        let appleKey = AppleSimulatorConfiguration.teamKey(seed: seed, team: identity.prefix)
        let files = [
            // None of this belongs in a repository.
            FreshFolder.File(".gitignore", "*\n"),
            .init(StarterFiles.seedFile, "\(seed)\n"),
            .init(StarterFiles.serverToken, Base64.encodeURL(random(32)) + "\n"),
            .init(StarterFiles.adminToken, Base64.encodeURL(random(32)) + "\n"),
            .init("token-key.pem", P256.Signing.PrivateKey().pemRepresentation + "\n"),
            .init("AuthKey_\(StarterFiles.keyId).p8", appleKey.pemRepresentation + "\n"),
            .init("attestation-root.pem", simulator.attestationRootPEM),
            .init("receipt-root.pem", simulator.receiptRootPEM),
        ]
        let document = JSONValue.object((document(in: folder).members ?? []) + more)
        let all = files + [.init(StarterFiles.configuration, document.rendered() + "\n")]
        // Nothing is written that the service would refuse.
        _ = try StarterFiles.settings(of: all, in: folder)
        return all
    }

    private func document(in folder: String) -> JSONValue {
        let path = { (name: String) in JSONValue.string("\(folder)/\(name)") }
        let base = "http://\(apple)"
        return [
            "listen": .string(listen.description), "store": .string("sqlite:\(folder)/sealward.sqlite"),
            "serverTokenFile": path(StarterFiles.serverToken), "adminTokenFile": path(StarterFiles.adminToken),
            "tokens": ["keyFiles": [path("token-key.pem")]],
            "trustSimulator": [
                "attestationRoot": path("attestation-root.pem"), "receiptRoot": path("receipt-root.pem"),
            ],
            "apps": [
                [
                    "id": .string(app), "teamId": .string(identity.prefix), "bundleIds": [.string(identity.bundleId)],
                    "environments": ["production", "development"],
                ]
            ],
            "apple": [
                "teamId": .string(identity.prefix), "keyId": .string(StarterFiles.keyId),
                "keyFile": path("AuthKey_\(StarterFiles.keyId).p8"), "dataBaseURL": .string(base),
                "dataDevelopmentBaseURL": .string(base + "/development"), "deviceCheckBaseURL": .string(base),
                "deviceCheckDevelopmentBaseURL": .string(base + "/development"),
            ],
            "deviceCheck": ["bits": [["bit": 0, "name": "welcome"]]],
        ]
    }

    /// Reads the configuration as the service will, from files that need not exist yet.
    static func settings(of files: [FreshFolder.File], in folder: String) throws -> Configuration {
        let file = files.first { $0.name == StarterFiles.configuration }
        let outcome = ConfigurationReader.read(file: file?.contents ?? [], environment: [:]) {
            (path: String) throws(UnreadableFile) -> [UInt8] in
            guard let file = files.first(where: { "\(folder)/\($0.name)".hasSameBytes(as: path) }) else {
                throw UnreadableFile(reason: "\(path): is not one of the new files")
            }
            return file.contents
        }
        switch outcome {
        case .configuration(let settings): return settings
        case .issues(let issues):
            throw CommandFault("\(issues.map { $0.description.terminalSafe }.joined(separator: "; ")).")
        }
    }
}
