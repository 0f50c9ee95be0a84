// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import Crypto
import Formats
import FoundationEssentials
import HTTPService
import HTTPTypes
import TLSModel
import Vocabulary

// The kinds of values that only this configuration has.

extension ConfigurationKind<ListenAddress> {
    static var address: Self {
        .text("HOST:PORT", "must be HOST:PORT, for example 127.0.0.1:8080", ListenAddress.init)
    }
}

extension ConfigurationKind<AddressRange> {
    static var addressRange: Self {
        .text("IP address or CIDR block", "must be an address or a CIDR block") { text in
            IPAddress(text).map { AddressRange($0.unmapped) } ?? AddressRange(text)
        }
    }
}

extension ConfigurationKind<StoreLocation> {
    static var store: Self {
        .text(
            "`sqlite:PATH` or `postgres://USER@HOST/DATABASE`", "must be sqlite:PATH or postgres://USER@HOST/DATABASE",
            show: { if case .sqlite(let path) = $0 { "sqlite:\(path)" } else { nil } }, StoreLocation.init)
    }
}

extension ConfigurationKind<Date> {
    static var instant: Self {
        .text("RFC 3339 instant or date", "must be an RFC 3339 instant or a date", RFC3339.instantOrDay)
    }
}

extension ConfigurationKind<String> {
    /// A base URL of Apple's, or of a simulator.
    static var endpoint: Self {
        .text("base URL", "must be an https URL, or an http URL on this machine") { AppleEndpoint($0)?.baseURL }
    }

    static var receiver: Self { .text("base URL", TraceReceiver.rule) { TraceReceiver($0)?.base } }

    /// The PEM text of a root certificate of a simulator.
    static func root(_ isRoot: @escaping (String) -> Bool) -> Self {
        .file(
            "a root certificate in PEM",
            fault: {
                isRoot($0) ? nil : "contains no root certificate in PEM; the Apple simulator serves one at /roots"
            }
        ) { $1 }
    }

    /// What a token says of its issuer or audience. Without control characters, which JSON writes with six bytes each.
    static var claim: Self {
        let meaning = "1 to \(Configuration.Tokens.longestClaim) bytes without control characters"
        return .text(meaning, "must be \(meaning), so that every token can be read") { text in
            text.utf8.count <= Configuration.Tokens.longestClaim && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
                ? text : nil
        }
    }

    static var hostName: Self {
        .text("host name without a port", "must be a host name without a port", BrowserGate.name)
    }

    static var credentialName: Self {
        .text("at most 64 printable ASCII characters without spaces") { NamedCredential.isName($0) ? $0 : nil }
    }
}

extension ConfigurationKind<[UInt8]> {
    static var digest: Self {
        .text("64 hexadecimal digits", "must be the SHA-256 of the token, 64 hexadecimal digits", show: { _ in nil }) {
            // Digits alone: with anything between them the bytes are fewer.
            guard $0.utf8.count == 64, let digest = $0.hexadecimalBytes, digest.count == 32 else { return nil }
            return digest
        }
    }
}

extension ConfigurationKind<[String: String]> {
    static var headers: Self {
        .file("a file with a header, `Name: value`, on each line") { _, text throws(UnreadableFile) in
            var headers: [String: String] = [:]
            for (index, line) in text.split(whereSeparator: \.isNewline).enumerated() {
                let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmed() }
                guard parts.count == 2, HTTPField.Name(parts[0]) != nil, HTTPField.isValidValue(parts[1]) else {
                    throw UnreadableFile(reason: "header \(index + 1) is not of the form Name: value")
                }
                headers[parts[0]] = parts[1]
            }
            return headers
        }
    }
}

struct KeyFile {
    let path: String
    /// The PEM text; nil after its fault has been noted.
    let pem: String?
}

extension ConfigurationKind<KeyFile> {
    /// Any text: what is made of it judges it.
    static func pem(_ meaning: String) -> Self { .file(meaning) { KeyFile(path: $0, pem: $1) } }

    static var privateKey: Self {
        key("a P-256 private key in PEM", labels: ["PRIVATE KEY", "EC PRIVATE KEY"]) {
            (try? P256.Signing.PrivateKey(pemRepresentation: $0)) != nil
        }
    }

    static var rsaKey: Self {
        key("an RSA private key of \(RS256Key.sizes) in PEM", labels: ["PRIVATE KEY", "RSA PRIVATE KEY"]) {
            RS256Key(pem: $0) != nil
        }
    }

    private static func key(_ meaning: String, labels: [String], isKey: @escaping (String) -> Bool) -> Self {
        let fault = "contains no " + (meaning.split(separator: " ", maxSplits: 1).last ?? "")
        return Self(
            meaning: "path of \(meaning)",
            judge: { if $0.pem.map(isKey) == false { $1.wrong(fault) } }
        ) { json, place in
            guard let path = ConfigurationKind<String>.string.read(json, place) else { return nil }
            guard let text = place.contents(ofFile: path) else { return KeyFile(path: path, pem: nil) }
            let pem = block(in: text, labels, isKey)
            if pem == nil { place.wrong("\(path): \(fault)") }
            return KeyFile(path: path, pem: pem)
        }
    }

    /// The PEM block of the private key in a file, which may hold other blocks (`EC PARAMETERS`) as well.
    private static func block(in text: String, _ labels: [String], _ isKey: (String) -> Bool) -> String? {
        for label in labels {
            let (begin, end) = ("-----BEGIN \(label)-----", "-----END \(label)-----")
            guard let first = text.firstRange(of: begin),
                let last = text[first.upperBound...].firstRange(of: end)
            else { continue }
            let pem = String(text[first.lowerBound..<last.upperBound])
            if isKey(pem) { return pem }
        }
        return nil
    }
}

extension ConfigurationKind<CredentialSource> {
    /// - Parameter variable: may have one token, with white space around it as a line of a file may have.
    static func tokens(orVariable variable: String) -> Self {
        var kind = Self.file("a file with a token on each line", fault: { fault(of: $0.tokens) }) { _, text in
            CredentialSource(
                tokens: text.split(whereSeparator: \.isNewline).map { $0.trimmed() }.filter { !$0.isEmpty })
        }
        kind.secret = (
            variable,
            { text, place in
                let token = text.trimmed()
                guard let fault = CredentialSource.fault(of: token) else { return CredentialSource(tokens: [token]) }
                place.wrong(fault)
                return nil
            }
        )
        return kind
    }

    /// What is wrong with tokens; nil if nothing is.
    private static func fault(of tokens: [String]) -> String? {
        if tokens.isEmpty { return "contains no token; write one on each line" }
        for (index, token) in tokens.enumerated() {
            if let fault = CredentialSource.fault(of: token) { return "token \(index + 1) \(fault)" }
        }
        return nil
    }
}

extension CredentialSource {
    /// What is wrong with one token; nil if nothing is.
    fileprivate static func fault(of token: String) -> String? {
        // A header carries nothing else; and lines of a key or a certificate, which others know, must never become tokens.
        guard token.utf8.allSatisfy({ 0x21...0x7E ~= $0 }), !token.hasPrefix("-----") else {
            return "has spaces or other characters that a bearer token cannot have"
        }
        return token.utf8.count < minimumLength ? shortness : nil
    }
}

extension ConfigurationKind<[CredentialSettings]> {
    static var credentials: Self {
        .list(
            CredentialSettings(), in: "a JSON array of credentials",
            "must be a JSON array of credentials; `sealward tokens new` prints an entry",
            unique: [
                ("sha256", { "\($0.digest)" }, "is the token of another entry; give each its own"),
                ("name", \.name, "is used by another entry; the audit could not tell them apart"),
            ])
    }
}
