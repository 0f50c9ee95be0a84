// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppAttest
import Vocabulary

/// What libraries say of App Attest and DeviceCheck in words of their own, and which code it is here.
struct ProofWords {
    /// The letters and digits of a text, in lower case, without words that only have the letters of ours.
    private let letters: [UInt8]

    init(_ text: some Sequence<UInt8>) {
        let words = text.prefix(16 << 10).asciiLowercased.split { !$0.isASCIIAlphanumeric }
        letters = Array(
            words.filter { word in !["latest", "assertionerror"].contains { word.elementsEqual($0.utf8) } }.joined())
    }

    /// What a verifier on a server refuses.
    var verifier: Code? {
        if let code = first(ProofWords.verifiers) { return code }
        // The value of a member is printed with its name.
        var sentence = letters[...]
        while let name = ["error", "message"].first(where: { sentence.starts(with: $0.utf8) }) {
            sentence = sentence.dropFirst(name.utf8.count)
        }
        return ProofWords.sentences.first {
            $0.words.split(separator: " ").contains { sentence.elementsEqual($0.utf8) }
        }?.code
    }

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

    /// What stands in a text that is about App Attest too, or in a name that only a verifier of App Attest has.
    private static let verifiers: [Row] = [
        (
            "failnoncemissing extensionnotfound attestnonceextension", "failnonce appattest pyattest",
            .attestNonceMissing
        ),
        (
            "noncedoesnotmatch noncemismatch invalidnonce nonceisinvalid nonceinvalid nonceverificationfailed",
            "attest assertion failnonce", .attestNonceMismatch
        ),
        (
            "keyiddoesnotmatch keyidmismatch invalidkeyid credentialiddoesnotmatch credentialidmismatch credentialidisinvalid credidmismatch invalidcredentialid doesnotmatchkeyidentifier keyidentifierdoesnt credentialidandkeyidentifier exceptioninvalidpublickey",
            "attest assertion failkeyid failcredid", .attestKeyIdMismatch
        ),
        (
            "appiddoesnotmatch appidmismatch invalidappid notvalidforappid rpidmismatch rpidhashmismatch rpidhashdoesnotmatch doesnotmatchrpid rpidhashisnot badrpid",
            "attest assertion failrpid", .attestAppIdMismatch
        ),
        (
            "expectedaaguid aaguidisnotvalid invalidaaguid aaguidmismatch aaguiddoesmatchneither",
            "attest failaaguid", .attestEnvironmentMismatch
        ),
        ("environmentmismatch wrongenvironment environmentisnot", "appattest", .attestEnvironmentMismatch),
        (
            "counterisnotzero signcountisnot0 signcountdoesnotequal0 signcountnonzero attestationcounteris",
            "attest failsigncount", .attestCounterNotZero
        ),
        (
            "invalidcounter invalidsigncount countermismatch counterisnotgreater counternotgreater counterdidnot signcountdidnot didnotadvance counterreplay maliciouscounter",
            "assert appattest", .assertCounterReplayed
        ),
        ("invalidcounter", "pyattest", .attestCounterNotZero),
        (
            "invalidsignature signatureisinvalid signatureverificationfailed failsignatureverification signaturemismatch badsignature signaturedoesnotverify",
            "assertion appattest failsignature", .assertSignatureInvalid
        ),
        ("invalidfmt", "appattest", .attestFormatUnknown),
        ("certificatehasexpired certificateexpired validitycheckfailed", "appattest", .attestChainExpired),
        (
            "doesnotchainwithany invalidcertificatechain certificatechainvalidationfailed unknownauthority isnotsignedbyappleappattestation failedtobuildchain validcertificatechain certverifyfailure",
            "appattest pyattest failcredcert failintermediatecert", .attestChainUntrusted
        ),
        ("doesnotequalsubjectpublickey", "attest", .attestPublicKeyMismatch),
    ]

    /// Whole sentences and names of verifiers: a longer text with them may be about something else.
    private static let sentences: [(words: String, code: Code)] = [
        ("noncedoesnotmatch invalidnonceexception theattestationsnonceisinvalid", .attestNonceMismatch),
        ("keyiddoesnotmatch credentialiddoesnotmatch credentialsidisnotequaltokeyid", .attestKeyIdMismatch),
        ("appiddoesnotmatch appidhashdoesnotmatchrpidhash appiddoesnotmatchrpidhash", .attestAppIdMismatch),
        ("aaguidisnotvalid developmentenvironmentisnotallowed", .attestEnvironmentMismatch),
        ("signcountisnot0", .attestCounterNotZero),
        (
            "subcacertificateisnotsignedbyappleappattestationrootca clientcacertificateisnotsignedbyappleappattestationca1 nosubcacertificatefound theattestationobjectdoesnotcontainavalidcertificatechain",
            .attestChainUntrusted
        ),
    ]

    private static let devices: [Row] = [
        ("invalidkey alreadyattested", methods, .deviceInvalidKey), ("invalidinput", methods, .deviceInvalidInput),
        ("serverunavailable", methods, .deviceUnavailable), ("systemfailure", methods, .deviceUnknown),
        ("unsupported isnotsupported issupported", methods, .deviceUnsupported),
    ]
    private static let methods = "attestkey generateassertion appintegrity appattest devicecheck dcerror appcheck"
}
