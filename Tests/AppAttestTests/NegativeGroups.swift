// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceSimulator

/// One group of the list of things that must be refused, and where a test does so.
struct NegativeGroup: Sendable {
    /// What shows that a group has its verdict.
    enum Witness: Sendable {
        /// Cases of the tables `NegativeCBORTests`, `NegativeChainTests` and `NegativeReceiptTests` that carry the group's number.
        case table
        /// A named fault of the simulator, with the verdict that its own table says (`FaultTests`).
        case attestation(AttestationFault)
        case assertion(AssertionFault)
        case receipt(ReceiptFault)
        /// A function in a file of `Tests`, with texts that stand in it: codes, or the outcomes of a store.
        case test(String, String, [String])
    }

    let number: Int
    let what: String
    let witnesses: [Witness]

    init(_ number: Int, _ what: String, _ witnesses: [Witness]) {
        self.number = number
        self.what = what
        self.witnesses = witnesses
    }
}

extension NegativeGroup {
    private static let chain = "AppAttestTests/NegativeChainTests.swift"
    private static let access = "AppAttestTests/NegativePolicyTests.swift"
    private static let receipts = "AppAttestTests/NegativeReceiptTests.swift"
    private static let assertions = "AppAttestTests/NegativeAssertionTests.swift"
    private static let keys = "../Sources/TrustStoreContract/StoreContract+Keys.swift"
    private static let attacks = "TrustServiceTests/AttackTests.swift"
    private static let identities = "TrustServiceTests/IdentityTests.swift"

    /// The whole list, 1 to 84. What comes after belongs to DeviceCheck.
    static let all: [NegativeGroup] = objects + certificates + data + bindings + assertionGroups + receiptGroups

    private static let objects: [NegativeGroup] = [
        .init(1, "empty input", [.table]),
        .init(
            2,
            "truncated at every byte",
            [
                .test(
                    "AppAttestTests/NegativeCBORTests.swift", "group2EveryTruncation",
                    ["malformedCBOR", "malformedReceipt"])
            ]
        ),
        .init(3, "a byte after the map", [.table, .attestation(.trailingByte)]),
        .init(4, "authData twice", [.table]),
        .init(5, "fmt twice", [.table, .attestation(.duplicateKey)]),
        .init(6, "another key at the top", [.table]),
        .init(7, "other formats", [.table, .attestation(.otherFormat)]),
        .init(8, "fmt as bytes", [.table]),
        .init(9, "indefinite map, array, byte string", [.table]),
        .init(10, "lengths that are not the shortest", [.table]),
        .init(11, "byte strings of 2^63 and 4 GiB without data", [.table]),
        .init(12, "an array of 2^32", [.table]),
        .init(13, "nesting of 10 000", [.table]),
        .init(14, "tags", [.table]),
        .init(15, "floats, null, undefined", [.table]),
        .init(16, "a number as key", [.table]),
        .init(17, "a key that is not UTF-8", [.table]),
        .init(18, "more than 64 KiB", [.table]),
        .init(
            19, "other forms of base64", [.test("AppAttestTests/NegativeCBORTests.swift", "group19Base64", ["false"])]),
    ]

    private static let certificates: [NegativeGroup] = [
        .init(20, "0, 1, 3 certificates", [.table, .attestation(.missingIntermediate)]),
        .init(21, "certificates in the wrong order", [.table, .attestation(.swappedCertificates)]),
        .init(22, "the root appended", [.attestation(.rootAppended)]),
        .init(23, "a chain of the same names", [.attestation(.foreignChain)]),
        .init(24, "a leaf as issuer", [.attestation(.leafAsIssuer), .attestation(.leafIsAuthority)]),
        .init(
            25, "another authority of Apple's as intermediate",
            [.table, .test(chain, "group25AnotherAuthorityOfApples", ["attest.chain.untrusted"])]),
        .init(
            26, "a WebAuthn leaf under a WebAuthn root",
            [.table, .test(chain, "group26WebAuthn", ["attest.format.unknown", "attest.chain.untrusted"])]),
        .init(
            27, "a leaf before and after its validity",
            [.table, .attestation(.expiredLeaf), .attestation(.leafNotYetValid)]),
        .init(
            28,
            "an expired intermediate",
            [
                .test(chain, "group28ExpiredIntermediate", ["attest.chain.expired"]),
                .test("AppAttestTests/AppleVectorTests.swift", "theIntermediateExpires", ["attest.chain.expired"]),
            ]
        ),
        .init(
            29,
            "a bit of the leaf's signature",
            [
                .attestation(.corruptedLeafSignature),
                .test("AppAttestTests/BitFlipTests.swift", "applesSample", ["flip"]),
            ]
        ),
        .init(30, "two signature algorithms", [.attestation(.otherAlgorithmOutside)]),
        .init(31, "a signature in other encodings", [.table]),
        .init(32, "an unknown critical extension", [.table, .attestation(.unknownCriticalExtension)]),
        .init(33, "the nonce twice", [.attestation(.duplicateNonce)]),
        .init(34, "other forms of the nonce", [.table, .attestation(.malformedNonce)]),
        .init(35, "no nonce", [.attestation(.missingNonce)]),
        .init(36, "other keys in the leaf", [.table, .attestation(.largerLeafKey), .attestation(.compressedLeafKey)]),
        .init(37, "points that are none", [.table]),
    ]

    private static let data: [NegativeGroup] = [
        .init(38, "authenticator data of other lengths", [.table]),
        .init(39, "identifiers of other lengths", [.table]),
        .init(40, "other flags", [.table, .attestation(.noCredentialFlag)]),
        .init(41, "a counter that is not 0", [.table, .attestation(.counterNotZero)]),
        .init(
            42,
            "other environments",
            [
                .table, .attestation(.otherEnvironment), .attestation(.unknownEnvironment),
                .attestation(.sandboxEnvironment),
                .test(access, "group42BothWays", ["attest.environment.mismatch"]),
            ]
        ),
        .init(43, "other apps", [.attestation(.otherApp)]),
        .init(44, "apps whose names begin alike", [.table]),
        .init(
            45,
            "another key identifier",
            [
                .attestation(.otherCredentialId),
                .test(chain, "group45OtherKeyIdentifier", ["attest.key-id.mismatch"]),
            ]
        ),
        .init(46, "another COSE key, or other forms", [.table, .attestation(.otherPublicKey)]),
        .init(
            47,
            "extensions",
            [
                .table, .attestation(.extensionFlagWithoutMap), .attestation(.truncatedExtensions),
                .attestation(.extensionsFollowedByJunk), .attestation(.extensionsAreText),
                .attestation(.shortCategory), .attestation(.textCategory), .attestation(.unknownCategory),
                .attestation(.unknownExtensionKey), .attestation(.mapWithoutExtensionFlag),
                .attestation(.extensionFlagAndMap),
                .test(
                    access, "group47Policies", ["attest.policy.validation-category", "attest.policy.bundle-version"]),
            ]
        ),
        .init(
            48, "a Mac's access control absent or another",
            [.test(access, "group48MacAccessControl", ["attest.policy.access-control"])]),
    ]

    private static let bindings: [NegativeGroup] = [
        .init(
            49,
            "another challenge; raw and hashed",
            [
                .attestation(.wrongNonce),
                .test(chain, "group49HashedAndRawAreTwoThings", ["attest.nonce.mismatch"]),
            ]
        ),
        .init(
            50,
            "an attestation again",
            [
                .test(keys, "repeated", ["challenge"]),
                .test(keys, "oneChallengeManyKeys", ["challengeUsed"]),
            ]
        ),
        .init(
            51, "an expired challenge", [.test(attacks, "challengesServeWhatTheyWereMadeFor", ["challenge.expired"])]),
        .init(
            52, "the challenge of another session or user",
            [.test(attacks, "challengesServeWhatTheyWereMadeFor", ["challenge.binding"])]),
        .init(
            53,
            "a key that is another user's",
            [
                .test(attacks, "aKeyBelongsToOneUser", ["challenge.binding"]),
                .test(keys, "conflicts", ["refused"]),
            ]
        ),
        .init(54, "the same key again for the same user", [.test(keys, "conflicts", ["refused"])]),
    ]

    private static let assertionGroups: [NegativeGroup] = [
        .init(
            55,
            "a bit of the signature",
            [
                .assertion(.corruptedSignature),
                .test("AppAttestTests/BitFlipTests.swift", "assertions", ["changes nothing"]),
            ]
        ),
        .init(56, "hashed once", [.assertion(.singleHashing)]),
        .init(57, "a raw signature; a high one", [.assertion(.rawSignature), .assertion(.highSignature)]),
        .init(
            58,
            "counters",
            [
                .assertion(.counterGoesBack), .assertion(.counterIsZero),
                .test("AppAttestTests/FaultTests.swift", "theCounterMustGrow", ["assert.counter.replayed"]),
            ]
        ),
        .init(
            59,
            "two at once with one counter",
            [
                .test("../Sources/TrustStoreContract/StoreContract+Counters.swift", "counterRace", ["replayed"]),
                .test(attacks, "twoHundredRacesHaveOneWinner", ["assert.counter.replayed"]),
            ]
        ),
        .init(60, "another app", [.assertion(.otherApp)]),
        .init(61, "another key", [.assertion(.otherKey)]),
        .init(
            62,
            "client data that changed",
            [
                .assertion(.otherClientData),
                .test(assertions, "group62ClientDataIsTakenByteByByte", ["assert.signature.invalid"]),
                .test(attacks, "modifiedAndReplayedRequestsAreRefused", ["challenge.missing"]),
            ]
        ),
        .init(
            63, "a development key at the production app",
            [.test(identities, "anAssertionByADevelopmentKeyIsRefusedAtTheProductionApp", ["key.unknown"])]),
        .init(
            64,
            "an attestation as assertion, and the reverse",
            [
                .table,
                .test(
                    "AppAttestTests/NegativeCBORTests.swift", "group64AnAttestationAsAssertion", ["malformed.assertion"]
                ),
                .test(attacks, "anAttestationIsNoAssertion", ["malformed."]),
            ]
        ),
        .init(
            65,
            "authenticator data of 36 and 38 bytes",
            [
                .assertion(.truncatedData), .assertion(.junkAfterData),
                .test(receipts, "group65Lengths", ["malformed.authenticator-data"]),
            ]
        ),
        .init(66, "a revoked key", [.test(keys, "revoke", ["revoked"])]),
        .init(
            67,
            "a bad signature leaves the counter",
            [
                .test(receipts, "theSignatureComesBeforeTheCounter", ["assert.signature.invalid"]),
                .test(attacks, "everyFaultOfAnAssertionHasItsCode", ["counter == 1"]),
            ]
        ),
    ]

    private static let receiptGroups: [NegativeGroup] = [
        .init(68, "a bit of the signature", [.table, .receipt(.corruptedSignature)]),
        .init(69, "a field that changed", [.receipt(.changedField)]),
        .init(70, "a signer or authority without its marker", [.table, .receipt(.unmarkedSigner)]),
        .init(
            71,
            "a root of its own",
            [
                .table, .receipt(.foreignRoot),
                .test(receipts, "group71ARootThatWasSignedAnew", ["receipt.chain.untrusted"]),
            ]
        ),
        .init(72, "no signer, two signers", [.receipt(.noSigner), .receipt(.twoSigners)]),
        .init(73, "SHA-1; another digest", [.receipt(.sha1Signer), .receipt(.otherDigestInAttributes)]),
        .init(74, "certificates in a circle; 1000", [.table, .receipt(.thousandCertificates)]),
        .init(
            75, "another app",
            [.receipt(.otherApp), .test(receipts, "groups75And76OtherExpectations", ["receipt.app-id.mismatch"])]),
        .init(
            76, "another key",
            [.receipt(.otherKey), .test(receipts, "groups75And76OtherExpectations", ["receipt.public-key.mismatch"])]),
        .init(
            77,
            "too old; of the future",
            [
                .receipt(.fromTheFuture),
                .test(receipts, "group77Age", ["receipt.too-old", "receipt.from-the-future"]),
            ]
        ),
        .init(78, "expired", [.receipt(.expired)]),
        .init(
            79,
            "fields twice, missing, unreadable",
            [
                .table, .receipt(.duplicateField), .receipt(.missingType), .receipt(.metricIsText),
                .receipt(.metricIsNegative), .receipt(.metricIsHuge),
            ]
        ),
        .init(
            80, "a metric in the first; another type inside an attestation", [.table, .attestation(.otherReceiptType)]),
        .init(81, "the other environment", [.table, .attestation(.otherReceiptEnvironment)]),
        .init(82, "BER that lies", [.table, .receipt(.nestingBomb), .receipt(.truncated)]),
        .init(
            83,
            "refreshing",
            [
                .test(
                    "AppleServicesTests/ReceiptRefreshClientTests.swift", "everyStatusOfAppleHasItsOutcome",
                    ["notModified", "throttled", "noData"]),
                .test(
                    "AppleServicesTests/ReceiptRefreshClientTests.swift", "whatAppleDoesNotDocumentIsUnusable",
                    ["<html>", "302", "65_540"]),
                .test("../Sources/TrustStoreContract/StoreContract+Receipts.swift", "replacing", ["older"]),
            ]
        ),
        .init(84, "DER", [.table, .receipt(.distinguishedEncoding)]),
    ]
}
