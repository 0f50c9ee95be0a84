// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppAttest
import Vocabulary

/// What libraries say of App Attest and DeviceCheck in words of their own, and which code it is here.
struct ProofWords {
    /// The letters and digits of a text, in lower case.
    private let letters: [UInt8]

    init(_ text: some Sequence<UInt8>) {
        letters = text.prefix(16 << 10).filter(\.isASCIIAlphanumeric).asciiLowercased
    }

    /// What a verifier on a server refuses.
    var verifier: Code? { first(ProofWords.verifiers) }

    /// The same, or what a library in the app makes of a DCError.
    var code: Code? { verifier ?? first(ProofWords.devices) }

    private typealias Row = (words: String, context: String, code: Code)

    /// The first row of which one word is in the text, and one of the context.
    private func first(_ rows: [Row]) -> Code? {
        func hasOne(of words: String) -> Bool {
            words.split(separator: " ").contains { letters.contains($0.utf8) }
        }
        return rows.first { hasOne(of: $0.words) && hasOne(of: $0.context) }?.code
    }

    private static let verifiers: [Row] = [
        (
            "noncedoesnotmatch noncemismatch invalidnonce nonceisinvalid nonceinvalid", "attest assertion",
            .attestNonceMismatch
        ),
        (
            "keyiddoesnotmatch keyidmismatch invalidkeyid credentialiddoesnotmatch credentialidmismatch credentialidisinvalid",
            "attest assertion", .attestKeyIdMismatch
        ),
        (
            "appiddoesnotmatch appidmismatch invalidappid notvalidforappid rpidmismatch rpidhashmismatch rpidhashdoesnotmatch doesnotmatchrpid",
            "attest assertion", .attestAppIdMismatch
        ),
        ("expectedaaguid aaguidisnotvalid invalidaaguid aaguidmismatch", "attest", .attestEnvironmentMismatch),
        ("environmentmismatch wrongenvironment", "appattest", .attestEnvironmentMismatch),
        (
            "invalidcounter invalidsigncount countermismatch counterisnotgreater counternotgreater counterdidnot signcountdidnot",
            "assert appattest", .assertCounterReplayed
        ),
        (
            "invalidsignature signatureisinvalid signatureverificationfailed failsignatureverification signaturemismatch badsignature",
            "assertion appattest", .assertSignatureInvalid
        ),
        ("invalidfmt", "appattest", .attestFormatUnknown),
        ("certificatehasexpired certificateexpired validitycheckfailed", "appattest", .attestChainExpired),
        (
            "doesnotchainwithany invalidcertificatechain certificatechainvalidationfailed unknownauthority",
            "appattest", .attestChainUntrusted
        ),
    ]

    private static let devices: [Row] = [
        ("invalidkey alreadyattested", methods, .deviceInvalidKey), ("invalidinput", methods, .deviceInvalidInput),
        ("serverunavailable", methods, .deviceUnavailable), ("systemfailure", methods, .deviceUnknown),
        ("unsupported isnotsupported issupported", methods, .deviceUnsupported),
    ]
    private static let methods = "attestkey generateassertion appintegrity appattest devicecheck dcerror appcheck"
}
