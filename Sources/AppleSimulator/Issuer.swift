// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import DeviceSimulator
import Foundation

/// Signs what Apple and the phones sign.
struct Issuer: Sendable {
    /// What attesting a key gives.
    struct Issued {
        let attestation: [UInt8]
        let receipt: [UInt8]
        let subject: ReceiptDesk.Subject
    }

    let attestationRootPEM: String
    let receiptRootPEM: String
    /// The first instant at which everything in the chains is valid.
    let startOfValidity: Date

    init(seed: Seed, at instant: Date) throws {
        attestationRootPEM = ""
        receiptRootPEM = ""
        startOfValidity = instant
    }

    func attest(
        _ key: PhoneKey,
        phone: Phone,
        clientDataHash: [UInt8],
        bundleVersion: String,
        validationCategory: UInt32,
        at instant: Date,
        expiresAt: Date
    ) throws -> Issued {
        throw PhoneError.serverUnavailable
    }

    func refreshedReceipt(
        for subject: ReceiptDesk.Subject,
        metric: Int,
        createdAt: Date,
        notBefore: Date,
        expiresAt: Date
    ) throws -> [UInt8] {
        throw PhoneError.serverUnavailable
    }

    func assertion(
        _ key: PhoneKey,
        phone: Phone,
        clientDataHash: [UInt8],
        bundleVersion: String,
        validationCategory: UInt32
    ) throws -> [UInt8] {
        throw PhoneError.serverUnavailable
    }
}
