// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension AttestationFault {
    /// The group in `docs/audit/negative-groups.md`; nil for what the list has under another kind of object.
    package var group: Int? {
        switch self {
        case .trailingByte: 3
        case .duplicateKey: 5
        case .otherFormat: 7
        case .missingIntermediate: 20
        case .swappedCertificates: 21
        case .rootAppended: 22
        case .foreignChain: 23
        case .leafAsIssuer, .leafIsAuthority: 24
        case .expiredLeaf, .leafNotYetValid: 27
        case .corruptedLeafSignature: 29
        case .otherAlgorithmOutside: 30
        case .unknownCriticalExtension: 32
        case .duplicateNonce: 33
        case .malformedNonce: 34
        case .missingNonce: 35
        case .compressedLeafKey, .largerLeafKey: 36
        case .noCredentialFlag: 40
        case .counterNotZero: 41
        case .otherEnvironment, .unknownEnvironment, .sandboxEnvironment: 42
        case .otherApp: 43
        case .otherCredentialId: 45
        case .otherPublicKey: 46
        case .extensionFlagWithoutMap, .mapWithoutExtensionFlag, .extensionFlagAndMap, .truncatedExtensions,
            .extensionsFollowedByJunk, .extensionsAreText, .shortCategory, .textCategory, .unknownCategory,
            .unknownExtensionKey:
            47
        case .wrongNonce: 49
        case .otherReceiptType: 80
        case .otherReceiptEnvironment: 81
        case .corruptedIntermediate, .corruptedReceipt: nil
        }
    }
}

extension AssertionFault {
    /// The group in `docs/audit/negative-groups.md`; nil for what the list has under another kind of object.
    package var group: Int? {
        switch self {
        case .corruptedSignature: 55
        case .singleHashing: 56
        case .rawSignature, .highSignature: 57
        case .counterGoesBack, .counterIsZero: 58
        case .otherApp: 60
        case .otherKey: 61
        case .otherClientData: 62
        case .truncatedData, .junkAfterData: 65
        case .extensionsAreText, .mapWithoutExtensionFlag, .trailingByte: nil
        }
    }
}

extension ReceiptFault {
    /// The group in `docs/audit/negative-groups.md`; nil for what is accepted and no part of the list.
    package var group: Int? {
        switch self {
        case .corruptedSignature: 68
        case .changedField: 69
        case .unmarkedSigner: 70
        case .foreignRoot: 71
        case .noSigner, .twoSigners: 72
        case .sha1Signer, .otherDigestInAttributes: 73
        case .thousandCertificates: 74
        case .otherApp: 75
        case .otherKey: 76
        case .fromTheFuture: 77
        case .expired: 78
        case .duplicateField, .missingType, .metricIsText, .metricIsNegative, .metricIsHuge: 79
        case .truncated, .nestingBomb: 82
        case .distinguishedEncoding: 84
        case .signedAttributes, .unknownField: nil
        }
    }
}
