// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Foundation
import HTTPTypes

/// What the console reads from the head of a browser's request.
enum ConsoleRequest {
    /// The cookie of a session.
    static let sessionCookie = "sealward_console"
    /// The cookie of the page on which one signs in, before there is a session.
    static let signInCookie = "sealward_console_signin"

    /// The secret in a cookie; nil if there is none, or more than one of the name.
    static func secret(in headers: HTTPFields, cookie name: String) -> ConsoleSecret? {
        var found: [ConsoleSecret?] = []
        for header in headers[values: .cookie] {
            for pair in header.utf8.split(separator: UInt8(ascii: ";")) {
                let pair = pair.drop { $0 == 0x20 }
                guard let sign = pair.firstIndex(of: UInt8(ascii: "=")), pair[..<sign].elementsEqual(name.utf8) else {
                    continue
                }
                found.append(ConsoleSecret(cookie: String(Substring(pair.suffix(from: sign).dropFirst()))))
            }
        }
        guard found.count == 1, let secret = found.first else { return nil }
        return secret
    }

    /// `Set-Cookie`, so that scripts and other sites do not have it. Behind TLS it is never sent without it.
    static func cookie(_ name: String, _ value: String, isSecure: Bool, seconds: Int) -> String {
        "\(name)=\(value); Path=/console; HttpOnly; SameSite=Strict; Max-Age=\(seconds)\(isSecure ? "; Secure" : "")"
    }

    /// Whether the browser came by TLS, as the proxy in front says. Who says so without a proxy gets a cookie that his own browser keeps
    /// back.
    static func isSecure(_ headers: HTTPFields) -> Bool {
        let values = headers[values: .xForwardedProto]
        return values.count == 1 && values.first?.utf8.equalsIgnoringASCIICase("https") == true
    }

    /// Whether a form was sent by a page of this very origin: as `Sec-Fetch-Site` says, which only the browser can set; from a browser that
    /// does not send it, as the host in `Origin` says against `Host`. From one that sends neither nothing is taken.
    static func isFromHere(_ headers: HTTPFields, host: String?) -> Bool {
        let sites = headers[values: .secFetchSite]
        let origins = headers[values: .origin]
        if let site = sites.first { return sites.count == 1 && site.utf8.elementsEqual("same-origin".utf8) }
        guard origins.count == 1, let origin = origins.first, let host else { return false }
        return ["http://", "https://"].contains { origin.utf8.elementsEqual("\($0)\(host)".utf8) }
    }
}
