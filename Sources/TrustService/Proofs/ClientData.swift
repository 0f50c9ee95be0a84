// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Formats
import HTTPService
import TrustStores
import Vocabulary

/// The bytes that an app signed, and how its challenge is found in them.
enum ClientData {
    /// The challenge that client data holds: one JSON object with exactly one top-level string member `challenge`.
    ///
    /// - Returns: or `challenge.missing`.
    /// - Throws: ``Problem`` `request.malformed` for another member that is given twice.
    static func challenge(in bytes: [UInt8]) throws(Problem) -> Judged<[UInt8]> {
        guard let document = try? JSONReader.read(bytes, limits: .clientData), let members = document.members else {
            return .failure(ProofRefusal(.challengeMissing, evidence: "the client data is not a JSON object"))
        }
        let named = members.filter { $0.name.hasSameBytes(as: "challenge") }
        guard named.count == 1, let text = named.first?.value.text else {
            return .failure(
                ProofRefusal(.challengeMissing, evidence: "the client data has \(named.count) members `challenge`"))
        }
        try document.refuseDoubledMember()
        guard let challenge = Base64.decode(text) else {
            return .failure(
                ProofRefusal(.challengeUnknown, evidence: "the challenge in the client data is not base64"))
        }
        return .success(challenge)
    }

    /// The host that client data is for; nil if it names none.
    static func host(in bytes: [UInt8]) -> String? {
        (try? JSONReader.read(bytes, limits: .clientData))?.member("host")?.text
    }

    /// Refuses client data in which a member is given twice: the app's backend could read another value than was meant. Data that is not JSON
    /// is the app's own.
    ///
    /// - Throws: ``Problem`` `request.malformed`.
    static func refuseDoubledMember(in bytes: [UInt8]) throws(Problem) {
        try (try? JSONReader.read(bytes, limits: .clientData))?.refuseDoubledMember()
    }
}

/// A challenge and the clientDataHash that must cover it.
struct SignedInput {
    let challenge: [UInt8]
    let hash: ClientDataHash
    /// What the hash is of; nil if the challenge stands in its place.
    let hashed: [UInt8]?
}

extension SignedInput {
    private init(challenge: [UInt8], hashing clientData: [UInt8]) {
        self.init(challenge: challenge, hash: ClientDataHash(hashing: clientData), hashed: clientData)
    }

    static func attestation(
        binding: Configuration.Binding, challenge: [UInt8], clientData: [UInt8]?
    ) throws(Problem) -> Judged<SignedInput> {
        switch binding {
        case .challenge: return .success(SignedInput(challenge: challenge, hashing: challenge))
        case .raw:
            return Result { () throws(MalformedInput) in try ClientDataHash(precomputed: challenge) }
                .map { SignedInput(challenge: challenge, hash: $0, hashed: nil) }
                .mapError { ProofRefusal(.challengeUnknown, evidence: $0.description) }
        case .clientData:
            guard let clientData else { throw Problem(.requestMalformed, evidence: "clientData is missing") }
            return try ClientData.challenge(in: clientData).flatMap { named in
                guard named == challenge else {
                    return .failure(
                        ProofRefusal(
                            .challengeMissing, evidence: "the client data contains another challenge than the one sent")
                    )
                }
                return .success(SignedInput(challenge: challenge, hashing: clientData))
            }
        }
    }

    /// For an assertion: the client data followed by the challenge, or the client data that holds it.
    static func assertion(challenge: [UInt8]?, clientData: [UInt8]) throws(Problem) -> Judged<SignedInput> {
        if let challenge {
            try ClientData.refuseDoubledMember(in: clientData)
            return .success(SignedInput(challenge: challenge, hashing: clientData + challenge))
        }
        return try ClientData.challenge(in: clientData).map { SignedInput(challenge: $0, hashing: clientData) }
    }
}

extension JSONReader.Limits {
    /// The limits of client data, which is the app's own document: eight times the values of a request.
    static var clientData: JSONReader.Limits {
        var limits = JSONReader.Limits.outside
        limits.values = 1024
        return limits
    }
}
