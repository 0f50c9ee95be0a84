// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import Crypto
import Foundation
import Vocabulary

/// A transport that gives prepared answers in order and keeps what was sent.
actor ScriptedTransport: AppleTransport {
    private var answers: [Result<AppleAnswer, AppleTransportFault>]
    private(set) var sent: [AppleRequest] = []

    init(_ answers: [Result<AppleAnswer, AppleTransportFault>]) { self.answers = answers }

    init(_ answers: AppleAnswer...) { self.answers = answers.map { .success($0) } }

    func send(_ request: AppleRequest) async throws -> AppleAnswer {
        sent.append(request)
        guard !answers.isEmpty else { throw AppleTransportFault(code: "apple.unreachable", reason: "no more answers") }
        return try answers.removeFirst().get()
    }
}

extension AppleAnswer {
    init(_ status: Int, _ text: String = "", _ headers: [String: String] = [:]) {
        self.init(status: status, headers: headers, body: Array(text.utf8))
    }
}

/// A fixed team with a key of its own.
struct Team {
    let key = P256.Signing.PrivateKey()
    let instant = Date(timeIntervalSince1970: 1_795_250_000)

    func authorization(lifetime: Duration = .seconds(2400)) async throws -> AppleAuthorization {
        try await AppleAuthorization(
            teamId: "TEAM123456", keyId: "KEY7890123", privateKeyPEM: key.pemRepresentation, lifetime: lifetime)
    }

    /// Checks the signature by the public key and gives header and claims.
    func open(_ token: String) throws -> (header: [String: Any], claims: [String: Any])? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let signature = Team.decode(parts[2]), let header = Team.decode(parts[0]),
            let claims = Team.decode(parts[1])
        else { return nil }
        let valid = key.publicKey.isValidSignature(
            try P256.Signing.ECDSASignature(rawRepresentation: signature), for: Data((parts[0] + "." + parts[1]).utf8))
        guard valid, let headerObject = try JSONSerialization.jsonObject(with: header) as? [String: Any],
            let claimsObject = try JSONSerialization.jsonObject(with: claims) as? [String: Any]
        else { return nil }
        return (headerObject, claimsObject)
    }

    private static func decode(_ text: String) -> Data? {
        let standard = text.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: standard + String(repeating: "=", count: (4 - standard.count % 4) % 4))
    }
}
