// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// What every reader of bytes from outside can find. `docs/errors.md` says what each means.
extension Code {
    package static let malformedBase64: Code = "malformed.base64"
    package static let malformedCertificate: Code = "malformed.certificate"
    package static let malformedTooLarge: Code = "malformed.too-large"
    package static let malformedJSON: Code = "malformed.json"
    package static let malformedTranscript: Code = "malformed.transcript"
    package static let malformedURL: Code = "malformed.url"
    package static let malformedArchive: Code = "malformed.archive"
    package static let malformedBaseline: Code = "malformed.baseline"
    package static let malformedCheckReport: Code = "malformed.check-report"
    package static let malformedCTLogList: Code = "malformed.ct-log-list"
    package static let malformedOCSPResponse: Code = "malformed.ocsp-response"
    package static let malformedPlist: Code = "malformed.plist"
    package static let malformedResolve: Code = "malformed.resolve"
    package static let malformedSystem: Code = "malformed.system"
    package static let malformedTrustStore: Code = "malformed.trust-store"
    package static let malformedCBOR: Code = "malformed.cbor"
    package static let malformedAttestation: Code = "malformed.attestation"
    package static let malformedAuthenticatorData: Code = "malformed.authenticator-data"
    package static let malformedAssertion: Code = "malformed.assertion"
    package static let malformedReceipt: Code = "malformed.receipt"
    package static let malformedAppId: Code = "malformed.app-id"
    package static let malformedPublicKey: Code = "malformed.public-key"
    package static let malformedClientDataHash: Code = "malformed.client-data-hash"
    package static let malformedTrustRoot: Code = "malformed.trust-root"
}
