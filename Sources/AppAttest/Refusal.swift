// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Formats
import FoundationEssentials
public import Vocabulary

/// Why an attestation, an assertion or a receipt is not accepted. The first failed step, and nothing after it.
public struct Refusal: Error, Sendable, ComparedByCode, CustomStringConvertible {
    /// The stable name, for example `attest.nonce.mismatch`.
    public let code: Code
    /// The number of the failed step in Apple's published list, or in ours after it; nil if the input could not be read.
    public let step: Int?
    /// One sentence for people, without a full stop.
    public internal(set) var reason: String
    /// The values that differ.
    public internal(set) var compared: [ComparedValue]
    /// The usual mistake that explains the refusal; nil if none was tried, or none fits. See ``AttestationVerifier/explained(_:of:keyId:clientDataHash:clientData:)``.
    public internal(set) var mistake: ProofMistake?

    init(_ code: Code, step: Int? = nil, _ reason: String, _ compared: [ComparedValue] = []) {
        self.code = code
        self.step = step
        self.reason = reason
        self.compared = compared
    }

    /// The refusal of an input that could not be read.
    package init(malformed: MalformedInput) {
        self.init(malformed.code, malformed.description)
    }

    public var description: String { "\(code): \(reason)" }
}

extension Refusal {
    /// The client data hash that the object itself names and its certificate confirms; nil if none is known.
    package var namedClientDataHash: [UInt8]? {
        compared.first { $0.name == "clientDataHash" }?.found.flatMap(Base64.decode)
    }

    /// The same refusal of a proof made with another challenge, which only who issued both can tell.
    package var ofOtherChallenge: Refusal {
        var refusal = self
        refusal.mistake = .otherChallenge
        return refusal
    }

    /// The same refusal of a proof that another key signed, which only who knows that key can tell.
    package func ofOtherKey(_ found: KeyIdentifier, insteadOf expected: KeyIdentifier) -> Refusal {
        var refusal = self
        refusal.mistake = .otherKey
        refusal.compared = [ComparedValue("keyId", expected: expected.bytes, found: found.bytes)]
        return refusal
    }
}

/// A value that was compared: what the caller expected, and what the object has.
public struct ComparedValue: Sendable, Hashable {
    /// What is compared, for example `clientDataHash`. Binary values are standard base64.
    public let name: String
    /// What was expected; nil if there is no such value.
    public internal(set) var expected: String?
    /// What the object has; nil if the object does not tell it.
    public internal(set) var found: String?

    init(_ name: String, expected: String?, found: String?) {
        self.name = name
        self.expected = expected
        self.found = found
    }

    init(_ name: String, expected: some Sequence<UInt8>, found: some Sequence<UInt8>) {
        self.init(name, expected: Base64.encode(expected), found: Base64.encode(found))
    }
}

extension ComparedValue {
    /// The time of judgement, and the end, the beginning or the creation of what it is compared with.
    static func time(_ instant: Date, _ relation: String, _ other: Date) -> ComparedValue {
        ComparedValue("time", expected: RFC3339.text(instant), found: "\(relation) \(RFC3339.text(other))")
    }

    static func category(
        _ required: AttestationPolicy.Requirement<ValidationCategory>, _ found: ValidationCategory?
    ) -> ComparedValue {
        let accepted = required.accepted.sorted { $0.rawValue < $1.rawValue }.prefix(8).map(\.named)
        return ComparedValue(
            "validationCategory", expected: accepted.joined(separator: " or "), found: found?.named ?? "absent")
    }

    static func version(_ required: AttestationPolicy.Requirement<String>, _ found: String?) -> ComparedValue {
        ComparedValue(
            "bundleVersion", expected: required.accepted.sorted().prefix(8).joined(separator: " or "),
            found: found?.terminalSafe(limit: 80) ?? "absent")
    }
}

/// A mistake that many make, by the name that answers and logs use.
public struct ProofMistake: Sendable, Hashable {
    /// The stable name, for example `hashed-twice`.
    public let name: String
    /// What was done, as a sentence without a full stop.
    public let explanation: String
    /// What to do about it, as an instruction without a full stop.
    public let action: String

    init(_ name: String, _ explanation: String, _ action: String) {
        self.name = name
        self.explanation = explanation
        self.action = action
    }
}

extension ProofMistake {
    static let base64TextHashed = ProofMistake(
        "base64-text-hashed",
        "one side hashed the base64 text of the client data, the other the bytes that the text stands for",
        "decode base64 before you hash, in the app and on the server")
    static let unhashed = ProofMistake(
        "unhashed", "the app passed the client data itself as clientDataHash, unhashed",
        "pass SHA-256 of the client data in the app, or take the bytes as they are on the server: --client-data-hash, or the binding `raw`"
    )
    static let hashedTwice = ProofMistake(
        "hashed-twice", "one side hashed the client data once more than the other",
        "hash the client data exactly once on each side; --client-data-hash takes a value that is a hash already")
    static let hexHashed = ProofMistake(
        "hex-hashed", "one side hashed hexadecimal text, the other the bytes that the text stands for",
        "hash the bytes, not their hexadecimal text, on each side")
    static let hexPassed = ProofMistake(
        "hex-hashed", "one side took the hexadecimal text of the hash for the hash",
        "pass the 32 bytes of the hash as clientDataHash, not a text of them")
    static let base64TextPassed = ProofMistake(
        "base64-text-hashed", "one side took the base64 text of the hash for the hash",
        "pass the 32 bytes of the hash as clientDataHash, not a text of them")
    /// - Parameter what: what only one side hashed.
    static func otherText(_ what: String) -> ProofMistake {
        ProofMistake(
            "other-text", "only one side hashed \(what)",
            "hash exactly the same bytes on each side; give the challenge or client data as the app hashed it")
    }
    static let jsonRewritten = ProofMistake(
        "json-rewritten",
        "the JSON was written anew between app and server: its bytes are not those that were signed",
        "verify the bytes of the request as they arrived; do not parse and encode them again")
    static let singleHash = ProofMistake(
        "single-hash", "the signer took the nonce for the digest: the nonce was not hashed once more",
        "sign with ECDSA over SHA-256 of the nonce (ES256 hashes the nonce once more), as devices do")
    static let rawSignature = ProofMistake(
        "raw-signature", "the signature is r and s in 64 bytes, not DER",
        "send the assertion as generateAssertion returned it; a simulator must encode the signature in DER")
    static let environment = ProofMistake(
        "environment", "the key was made in the other environment",
        "allow the environment of the build: builds from TestFlight, the App Store and enterprise distribution make production keys, whatever the entitlement says, and builds from Xcode make development keys, unless it says production (on macOS 27 they make production keys too)"
    )
    static let appIdPrefix = ProofMistake(
        "app-id-prefix", "the bundle identifier is right and the prefix before it is another, or missing",
        "use the App ID prefix of the app, which is not always the team ID: it is the first part of application-identifier in the entitlements"
    )
    static let appIdSuffix = ProofMistake(
        "app-id-suffix", "the expected App ID is that of the object with something behind it",
        "expect the App ID that the object names: an App Clip attests as its full app, and builds of one app may have identifiers of their own"
    )
    static let appIdContinued = ProofMistake(
        "app-id-suffix", "the App ID of the object is the expected one with something behind it",
        "expect the App ID that the object names: builds of one app may have identifiers of their own")
    static let appIdWithoutPrefix = ProofMistake(
        "app-id-prefix", "the expected App ID does not begin with a prefix, which has ten capital letters and digits",
        appIdPrefix.action)
    static let otherChallenge = ProofMistake(
        "other-challenge", "the app attested with another challenge than the one that it sent",
        "keep the challenge beside the key that is attested with it, and send both together")
    static let otherKey = ProofMistake(
        "other-key", "another key of the same user signed, not the one that was named",
        "send the key identifier that generateAssertion was called with")
    static let appIdCase = ProofMistake(
        "app-id-case", "the App ID differs only in the case of letters",
        "write the App ID exactly as it is in the app: case counts")
}

extension ProofMistake {
    /// One of each name.
    package static let all = [
        unhashed, hashedTwice, hexHashed, base64TextHashed,
        otherText("a line break, a byte order mark, quotes, other letters or another encoding of the text"),
        jsonRewritten, singleHash, rawSignature, environment, appIdPrefix, appIdCase, appIdSuffix, otherChallenge,
        otherKey,
    ]
}

extension Refusal {
    /// `expected`, `found` and `mistake`, as every document and answer about a refusal has them; null where nothing was refused.
    package static func difference(_ refusal: Refusal?) -> [JSONValue.Member] {
        [
            .init("expected", refusal?.expected ?? .null), .init("found", refusal?.found ?? .null),
            .init("mistake", .optional(refusal?.mistake?.name)),
        ]
    }

    /// What was expected, a member for each value that differs.
    private var expected: JSONValue {
        .object(compared.compactMap { value in value.expected.map { .init(value.name, .string($0)) } })
    }

    /// What the object has, a member for each value that differs.
    private var found: JSONValue {
        .object(compared.compactMap { value in value.found.map { .init(value.name, .string($0)) } })
    }
}
