// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import HTTPService
import HTTPTypes
import Vocabulary

/// The secret of a cookie: 32 random bytes. It is never kept here, only its hash; the token of forms is made from it.
struct ConsoleSecret: Sendable {
    private let bytes: [UInt8]

    static let length = 32

    init(random bytes: [UInt8]) { self.bytes = bytes }

    /// Reads the value of a cookie. Nil for anything that is no such secret.
    init?(cookie text: String) {
        guard text.utf8.count == 43, let bytes = Base64.decodeURL(text), bytes.count == ConsoleSecret.length else {
            return nil
        }
        self.bytes = bytes
    }

    var cookie: String { Base64.encodeURL(bytes) }

    var digest: [UInt8] { Array(SHA256.hash(data: Data(bytes))) }

    /// Names the session without opening it, in the list of sessions and in the audit.
    var name: String { Array(digest.prefix(8)).hexadecimal() }

    private static let purpose = Data("sealward console form".utf8)

    /// What every form carries: a site that cannot read the cookie cannot make it.
    var formToken: String {
        Base64.encodeURL(
            HMAC<SHA256>.authenticationCode(for: ConsoleSecret.purpose, using: SymmetricKey(data: Data(bytes))))
    }

    /// Whether a form carries the token of this secret; in the same time for every wrong one.
    func made(formToken text: String?) -> Bool {
        guard let text, text.utf8.count == 43, let code = Base64.decodeURL(text) else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(
            Data(code), authenticating: ConsoleSecret.purpose, using: SymmetricKey(data: Data(bytes)))
    }
}

enum ConsoleCookie: String {
    case session = "sealward_console"
    /// Of the page on which one signs in, before there is a session.
    case signIn = "sealward_console_signin"

    /// The most cookies of one name that are looked at.
    private static let limit = 64

    /// The name in the browser. Behind TLS it has the prefix with which nothing but this host can set it, over TLS.
    private func name(_ call: Call) -> String { call.isSecure ? "__Host-\(rawValue)" : rawValue }

    /// The secrets in the cookies of the name. Another program on the same host, on any port, can have set more of them; the one that names a
    /// session counts.
    func secrets(in call: Call) -> [ConsoleSecret] {
        let name = name(call)
        var found: [ConsoleSecret] = []
        for pair in call.headers[values: .cookie].flatMap({ $0.utf8.split(separator: UInt8(ascii: ";")) }) {
            let pair = pair.drop { $0 == 0x20 }
            guard let sign = pair.firstIndex(of: UInt8(ascii: "=")), pair[..<sign].elementsEqual(name.utf8) else {
                continue
            }
            let value = String(Substring(pair.suffix(from: sign).dropFirst()))
            if found.count < ConsoleCookie.limit, let secret = ConsoleSecret(cookie: value) { found.append(secret) }
        }
        return found
    }

    /// `Set-Cookie`, so that scripts and other sites do not have it. Behind TLS it is never sent without it.
    func field(_ value: String, seconds: Int, for call: Call) -> (name: HTTPField.Name, value: String) {
        let end = call.isSecure ? "; Secure" : ""
        let path = call.isSecure ? "/" : "/console"
        return (
            .setCookie, "\(name(call))=\(value); Path=\(path); HttpOnly; SameSite=Strict; Max-Age=\(seconds)\(end)"
        )
    }
}
