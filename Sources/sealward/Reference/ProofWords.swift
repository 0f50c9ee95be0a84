// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppAttest
import TrustStores
import Vocabulary

/// What libraries say of App Attest and DeviceCheck in words of their own, and which code it is here.
struct ProofWords {
    /// The letters and digits of each line, in lower case, without names that say nothing of what is wrong; at most 256 lines.
    private let lines: [[UInt8]]
    /// The letters and digits of the whole text, without words that only have the letters of ours.
    private let letters: [UInt8]
    /// Whether the text is about proofs.
    private let isAboutProofs: Bool
    /// Whether it is about attestations, whose certificates are not those of a server.
    private let isAboutAttestations: Bool
    /// Whether it is about loads, whose errors have words of the same kind.
    private let isAboutLoads: Bool
    /// Whether it is a page of documentation in Markdown, which names faults without having one.
    private let isPage: Bool

    init(_ text: some Sequence<UInt8>) {
        let rows = text.prefix(16 << 10).asciiLowercased.split { $0 == 0x0A || $0 == 0x0D }.map {
            $0.split { !$0.isASCIIAlphanumeric }
        }
        func isOne(of names: [String], _ word: ArraySlice<UInt8>) -> Bool {
            names.contains { word.elementsEqual($0.utf8) }
        }
        lines = rows.prefix(256).map { words in
            let telling = words.filter { word in
                !isOne(of: ProofWords.names, word) && !ProofWords.methods.contains { word.starts(with: $0.utf8) }
            }
            // A type of an error is named for what is wrong.
            return Array(telling.map { $0.suffix(9).elementsEqual("exception".utf8) ? $0.dropLast(9) : $0 }.joined())
        }
        let all: [UInt8] = rows.flatMap { words in
            Array(words.filter { !isOne(of: ["latest", "assertionerror", "keydata"], $0) }.joined())
        }
        // Inside of one word: `that test` is about none.
        func hasWord(_ part: String) -> Bool {
            rows.contains { words in words.contains { $0.contains(part.utf8) && !isOne(of: ["assertionerror"], $0) } }
        }
        let saysAttest = hasWord("attest")
        letters = all
        let saysAssertion = hasWord("assertion") && !ProofWords.otherAssertions.contains { all.contains($0.utf8) }
        isAboutProofs = saysAttest || saysAssertion || ProofWords.contexts.contains { all.contains($0.utf8) }
        isAboutAttestations = saysAttest || ProofWords.certificateContexts.contains { all.contains($0.utf8) }
        isAboutLoads = ProofWords.loads.contains { all.contains($0.utf8) }
        isPage = text.starts(with: "# ".utf8)
    }

    /// Words that stand in sentences about any fault.
    private static let names = [
        "error", "message", "exception", "latest", "assertionerror", "assertionexception", "attestationerror",
        "attestationexception", "appattesterror",
    ]
    /// What fails in the app, and is no part of an object.
    private static let methods = ["generateassertion", "attestkey", "generatekey"]

    /// What a verifier on a server refuses: a part of an object and what is wrong with it, near each other, in a text that is about App Attest
    /// or says hardly anything else.
    var verifier: Code? {
        // What a method of the app says is about its arguments, and Apple's service for receipts verifies nothing.
        guard device == nil || !ProofWords.methods.contains(where: { letters.contains($0.utf8) }),
            !letters.contains("appattestapplecom".utf8), !isPage
        else { return nil }
        return ProofWords.refusals.first { row in
            guard let spare = isAboutProofs ? ProofWords.longestLine : row.spare else { return false }
            guard isAboutProofs || lines.count == 1 else { return false }
            if row.spare == nil {
                if isAboutLoads || !isAboutAttestations && ProofWords.certificates.contains(row.code) { return false }
            }
            return lines.contains { line in
                row.parts.contains { ProofWords.isFault(of: $0, row.faults, in: line, spare: spare) }
            }
        }?.code
    }

    /// The same, or what a library in the app makes of a DCError, or what a server says of keys and challenges that it keeps.
    var code: Code? { verifier ?? device ?? kept }

    private var kept: Code? {
        guard isAboutProofs, !isPage else { return nil }
        return ProofWords.keeping.first { row in
            row.words.split(separator: " ").contains { word in lines.contains { $0.contains(word.utf8) } }
        }?.code
    }

    private static let keeping: [(words: String, code: Code)] = [
        ("unknownkey keyunknown keynotregistered keynotfound keyidnotfound unregisteredkey", .keyUnknown),
        ("keyalreadyregistered keyalreadyexists", .keyExists),
        ("challengeexpired expiredchallenge", .challengeExpired),
        ("challengealreadyused challengeused challengereused challengealreadyconsumed", .challengeUsed),
        ("challengenotfound unknownchallenge nosuchchallenge", .challengeUnknown),
    ]

    private var device: Code? {
        ProofWords.devices.first { row in
            [row.words, row.context].allSatisfy { words in
                words.split(separator: " ").contains { letters.contains($0.utf8) }
            }
        }?.code
    }

    /// The longest line that is looked at; longer ones are data.
    private static let longestLine = 300
    /// How many letters may be between a part and its fault.
    private static let distance = 14

    /// Whether a fault stands before or behind a part, near it, in a line with at most `spare` other letters.
    private static func isFault(of part: [UInt8], _ faults: [[UInt8]], in line: [UInt8], spare: Int) -> Bool {
        guard line.count <= longestLine else { return false }
        var rest = line[...]
        while let found = rest.firstRange(of: part) {
            let (before, after) = (line[..<found.lowerBound], line[found.upperBound...])
            let isFound = faults.contains { fault in
                let width = fault.count + distance
                return line.count <= part.count + fault.count + spare
                    && (before.suffix(width).contains(fault) || after.prefix(width).contains(fault))
            }
            if isFound { return true }
            rest = line[found.upperBound...]
        }
        return false
    }

    /// What only texts about App Attest have, or about other attestations, which have the same parts.
    private static let contexts = [
        "authdata", "authenticatordata", "rpidhash", "credcert", "webauthn4j", "failappid", "appintegrity",
        "devicecheck", "failnonce",
        "failrpid",
        "failkeyid", "failcred", "failaaguid", "failsigncount", "failsignature", "failintermediate",
    ]
    /// What may be said of the certificate of a server too.
    private static let certificates: [Code] = [.attestChainExpired, .attestChainUntrusted, .malformedCertificate]
    private static let certificateContexts = ["failcred", "failintermediate"]
    /// What stands in texts about loads and certificates of servers.
    private static let loads = [
        "nsurlerror", "kcfstream", "boringssl", "thisserver", "sslcertificateproblem", "certificateverifyfailed",
        "errcert", "authenticationchallenge", "didreceivechallenge",
    ]
    /// What SAML and OAuth call so.
    private static let otherAssertions = ["samlassertion", "jwtassertion", "clientassertion"]

    private static let missing =
        "missing notfound lacks absent toextract notextract extractnonce nononce extensionnotfound hasno withoutthe"
    private static let sameness = "mismatch notmatch ntmatch notequal ntequal"
    private static let differs =
        "\(sameness) invalid isnot notvalid different differs wrong incorrect unexpected verificationfailed bad"
    private static let unread =
        "pars decod deserializ truncate malformed invalid unexpectedend premature extraneous trailing additional insufficient toolong tooshort length eof corrupt notvalid couldnotread couldnotberead cannotread cannotberead unabletoread unmarshal leftover missing undefined structure keyerror mustbe bad"

    /// Each part of an object in its names, what may be wrong with it, and how many other letters a line may have that has no context; nil for
    /// a part that other things have too. The first that fits is it.
    private static let table: [(parts: String, faults: String, code: Code, spare: Int?)] = [
        ("nonce attestnonceextension extension", missing, .attestNonceMissing, nil),
        ("nonce", differs, .attestNonceMismatch, 4),
        ("challenge clientdatahash clientdata", differs, .attestNonceMismatch, nil),
        ("credidlen credentialidlength identifierlength", "invalid", .malformedAuthenticatorData, 4),
        ("keyid keyidentifier credentialid credentialsid credid", sameness, .attestKeyIdMismatch, 14),
        (
            "keyid keyidentifier credentialid credentialsid credid publickeyhash", differs,
            .attestKeyIdMismatch, nil
        ),
        ("appid rpid", sameness, .attestAppIdMismatch, 16),
        ("appid rpid relyingpartyid bundleid teamid", differs, .attestAppIdMismatch, nil),
        ("aaguid", "\(differs) neither expected", .attestEnvironmentMismatch, 14),
        (
            "validationcategory launchcategory", "\(differs) rejected notallowed notaccepted",
            .attestPolicyValidationCategory, 60
        ),
        ("bundleversion", "\(differs) rejected notallowed", .attestPolicyBundleVersion, nil),
        ("developmentenvironment", "notallowed", .attestEnvironmentMismatch, 14),
        ("environment stage", differs, .attestEnvironmentMismatch, nil),
        ("signcount", "zero not0 equal0", .attestCounterNotZero, 14),
        ("counter", "zero not0 equal0 expected0", .attestCounterNotZero, nil),
        ("exceptionsinvalidcounter", "pyattest", .attestCounterNotZero, nil),
        ("counter signcount", "\(differs) greater didnot replay malicious increase", .assertCounterReplayed, nil),
        ("subjectpublickey", "equal match", .attestPublicKeyMismatch, nil),
        ("ecerror ecpoint", "invalidform invalidencod notoncurve", .malformedPublicKey, nil),
        ("publickey", "invalid", .attestKeyIdMismatch, nil),
        (
            "receiptsignature pkcs7receiptsignature receiptssignature", "invalid fail verif notvalid",
            .receiptSignatureInvalid, 20
        ),
        (
            "receiptsigner receiptcertificate receiptchain", "nottrusted untrusted fail invalid",
            .receiptChainUntrusted, nil
        ),
        ("receiptcreationtime receiptscreationtime receiptcreation", "older tooold stale", .receiptTooOld, 30),
        ("signature", "\(differs) doesnotverify verif fail", .assertSignatureInvalid, nil),
        ("base64", "invalid illegal incorrect padding notavalid mustbe", .malformedBase64, nil),
        ("padding", "incorrect", .malformedBase64, nil),
        ("fmt statementformat attestationformat", "\(differs) must unknown", .attestFormatUnknown, nil),
        ("format", "wrong isnot", .attestFormatUnknown, nil),
        ("asn1node", "expected extract octetstring", .malformedCertificate, nil),
        ("certificate validitycheck", "expired failed", .attestChainExpired, nil),
        ("nottimevalid", "chain certificate attestation", .attestChainExpired, nil),
        ("subcacertificate", "found", .attestChainUntrusted, 4),
        (
            "certificate chain trustanchor unknownauthority credcert intermediatecert certverify",
            "\(differs) incompatible notchain unknown found notsigned fail build built partialchain signedby any contain localissuer",
            .attestChainUntrusted, nil
        ),
        ("criticalextension", "unhandled", .attestChainUntrusted, nil),
        ("authdata authenticator", unread, .malformedAuthenticatorData, nil),
        ("x5c certificate", unread, .malformedCertificate, nil),
        ("receiptscreationtime receiptcreationtime", "after future", .receiptFromTheFuture, 14),
        ("receipt pkcs7", unread, .malformedReceipt, nil),
        ("cborcontent", "cbor", .malformedCBOR, 150), ("cbordecodeeof", "premature", .malformedCBOR, 150),
        ("cbor", "\(unread) fail", .malformedCBOR, nil),
        ("assertion", unread, .malformedAssertion, nil),
        ("attestation attstmt", unread, .malformedAttestation, nil),
    ]

    /// The same, each word apart: a text is compared with all of them line by line.
    private static let refusals = table.map {
        (parts: words($0.parts), faults: words($0.faults), code: $0.code, spare: $0.spare)
    }

    private static func words(_ text: String) -> [[UInt8]] { text.split(separator: " ").map { Array($0.utf8) } }

    private typealias Row = (words: String, context: String, code: Code)

    private static let devices: [Row] = [
        ("invalidkey alreadyattested", deviceWords, .deviceInvalidKey),
        ("invalidinput", deviceWords, .deviceInvalidInput),
        ("serverunavailable", deviceWords, .deviceUnavailable), ("timedout timeout", "attestkey", .deviceUnavailable),
        ("systemfailure", deviceWords, .deviceUnknown),
        ("attestationnotsupported", "stripeattest", .deviceUnsupported),
        ("unsupported notsupported issupported doesntsupport doesnotsupport", deviceWords, .deviceUnsupported),
    ]
    private static let deviceWords = "attestkey generateassertion appintegrity appattest devicecheck dcerror appcheck"
}
