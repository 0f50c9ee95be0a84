// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Findings
import Foundation
import TrustStores

extension ServiceCore {
    /// `GET /v1/keys/{keyId}`.
    func showKey(_ call: Call) async throws -> Answer {
        let id = try ServiceCore.keyId(inPath: call)
        guard let key = try await store.key(id) else { throw Problem("key.unknown") }
        let history = try await store.history(of: id, limit: 200)
        return .json([
            "keyId": .string(key.id.base64), "app": .string(key.app), "user": .optional(key.user),
            "environment": .string(key.environment), "counter": .integer(Int(key.counter)),
            "revoked": .bool(key.revokedAt != nil), "simulated": .bool(key.simulated),
            "attestedAt": .string(Timestamps.text(key.attestedAt)),
            "lastUsedAt": .optional(key.lastUsedAt.map(Timestamps.text)), "riskMetric": .optional(key.riskMetric),
            "osVersion": .optional(key.osVersion), "validationCategory": .optional(key.validationCategory),
            "bundleVersion": .optional(key.bundleVersion),
            "history": .array(
                history.map { event in
                    [
                        "at": .string(Timestamps.text(event.at)), "kind": .string(event.kind),
                        "code": .optional(event.code),
                    ]
                }
            ),
        ])
    }

    /// `POST /v1/keys/{keyId}/revoke`: for good; asking again changes nothing.
    func revokeKey(_ call: Call) async throws -> Answer {
        let id = try ServiceCore.keyId(inPath: call)
        var code: String?
        if !call.body.isEmpty { code = try RequestBody(call.body).optionalString("code", limit: 64) }
        if let code, code.isEmpty || !code.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) {
            throw Problem("request.malformed", evidence: "code must be printable ASCII without spaces")
        }
        switch try await store.revoke(id, code: code ?? "operator", at: call.now) {
        case .revoked, .alreadyRevoked:
            observer.count("keys.revoked")
            return .json(["keyId": .string(id.base64), "revoked": true])
        case .unknown: throw Problem("key.unknown")
        }
    }

    private static func keyId(inPath call: Call) throws(Problem) -> KeyIdentifier {
        guard let text = call.parameters["keyId"], let id = KeyIdentifier(base64URL: text) else {
            throw Problem("key.unknown", evidence: "the path names no key id")
        }
        return id
    }
}
