// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension MalformedInput {
    /// What each code of the family `malformed` means.
    package static let explanations: [CodeExplanation] = [
        .init(
            .malformedAppId, "not PREFIX.bundle", .author,
            "write the App ID prefix (ten characters, usually the team ID), a dot and the bundle ID, as application-identifier in the entitlements says"
        ),
        .init(
            .malformedArchive, "not a zip archive that can be read, or one that is not safe to read", .author,
            "pass the .ipa as Xcode exported it"),
        .init(.malformedAssertion, "not an assertion", .developer, "send the bytes of generateAssertion unchanged"),
        .init(
            .malformedAttestation, "not an attestation object", .developer,
            "send the bytes of attestKey unchanged, not an assertion or a receipt"),
        .init(
            .malformedAuthenticatorData, "authenticator data of the wrong size or shape", .developer,
            "send what Apple's framework returned, unchanged; what makes another verifier refuse genuine objects, since iOS 27 also their extensions, is in docs/verify-app-attest.md"
        ),
        .init(.malformedBase64, "not base64", .author, "encode the bytes as standard base64 with padding, in one line"),
        .init(.malformedBaseline, "not a baseline of `ats lint`", .author, "write it with --update-baseline"),
        .init(
            .malformedCBOR, "not the deterministic CBOR that App Attest uses", .developer,
            "send what Apple's framework returned, unchanged and whole"),
        .init(
            .malformedCertificate, "a certificate that cannot be read", .server,
            "a server's: inspect it with openssl x509 -text, and have it reissued; one of an attestation: send the bytes that attestKey returned, unchanged"
        ),
        .init(
            .malformedCheckReport, "not a report of `ats check`", .author, "pass the output of ats check --format json"),
        .init(
            .malformedClientDataHash, "a clientDataHash under 16 bytes", .author,
            "pass the SHA-256 of the client data in base64"),
        .init(
            .malformedCTLogList, "not a log list", .author, "pass the log list that browser vendors publish, as JSON"),
        .init(
            .malformedJSON, "not JSON, or nested too deeply", .author, "fix the line and column that the message names"),
        .init(
            .malformedOCSPResponse, "not an OCSP response, or one without a status", .author,
            "pass the DER response of the CA's responder"),
        .init(
            .malformedPlist, "not a property list, or one that is not safe to read", .author,
            "fix the place that the message names; plutil -lint reads the same file"),
        .init(
            .malformedPublicKey, "not an X9.63 P-256 key", .author,
            "pass the 65 bytes that begin with 04, in base64: the publicKey that attest verify prints"),
        .init(
            .malformedReceipt, "not a receipt", .author, "pass the receipt as it came from Apple, in base64 or as bytes"
        ),
        .init(.malformedResolve, "not HOST:PORT:ADDRESS", .author, "write it as for curl: example.com:443:192.0.2.1"),
        .init(
            .malformedSystem, "not a known system, or an SDK that it cannot have", .author,
            "use an id from sealward ats systems, for example macos26"),
        .init(
            .malformedTooLarge, "larger than the limit", .author, "send only the object; the message names the limit"),
        .init(
            .malformedTranscript, "not the output of `nscurl --ats-diagnostics`", .author,
            "record it on a Mac with nscurl --ats-diagnostics --verbose URL"),
        .init(.malformedTrustRoot, "not a trust root", .author, "pass one certificate as PEM or DER"),
        .init(.malformedTrustStore, "no certificates in a file of roots", .author, "pass a file of PEM certificates"),
        .init(
            .malformedURL, "not a URL that ATS covers", .author,
            "write an http, https, ws or wss URL with a host, without spaces"),
    ]
}
