// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Vocabulary

/// What the console reads from the head of a browser's request.
enum ConsoleRequest {
    /// The cookie of a session.
    static let sessionCookie = "sealward_console"
    /// The cookie of the page on which one signs in, before there is a session.
    static let signInCookie = "sealward_console_signin"

    /// The most cookies of one name that are looked at.
    private static let cookieLimit = 64

    /// The name of a cookie in the browser. Behind TLS it has the prefix with which nothing but this host can set it, over TLS.
    private static func fullName(_ name: String, isSecure: Bool) -> String { isSecure ? "__Host-\(name)" : name }

    /// The secrets in the cookies of a name. Another program on the same host, on any port, can have set more of them; the one that names a
    /// session counts.
    static func secrets(in call: Call, cookie name: String) -> [ConsoleSecret] {
        let name = fullName(name, isSecure: call.isSecure)
        var found: [ConsoleSecret] = []
        for header in call.headers[values: .cookie] {
            for pair in header.utf8.split(separator: UInt8(ascii: ";")) {
                let pair = pair.drop { $0 == 0x20 }
                guard let sign = pair.firstIndex(of: UInt8(ascii: "=")), pair[..<sign].elementsEqual(name.utf8) else {
                    continue
                }
                let value = String(Substring(pair.suffix(from: sign).dropFirst()))
                if found.count < cookieLimit, let secret = ConsoleSecret(cookie: value) { found.append(secret) }
            }
        }
        return found
    }

    /// `Set-Cookie`, so that scripts and other sites do not have it. Behind TLS it is never sent without it.
    static func cookie(_ name: String, _ value: String, isSecure: Bool, seconds: Int) -> String {
        "\(fullName(name, isSecure: isSecure))=\(value); Path=\(isSecure ? "/" : "/console"); HttpOnly; SameSite=Strict; "
            + "Max-Age=\(seconds)\(isSecure ? "; Secure" : "")"
    }
}
