// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1
import Vocabulary

extension HTTPHeaders {
    /// The elements of a list field (RFC 9110 section 5.6.1) that are ASCII, in lower case. Read by bytes: what others send may be any text.
    func tokens(_ name: String) -> [String] {
        self[name].flatMap { value in
            value.utf8.split(separator: UInt8(ascii: ",")).compactMap { element -> String? in
                let bytes = element.trimmingBlanks
                guard !bytes.isEmpty, bytes.allSatisfy({ $0 < 0x80 }) else { return nil }
                return String(decoding: bytes.asciiLowercased, as: UTF8.self)
            }
        }
    }

    /// Whether they name a scheme that authenticates a connection and not a request: who sends the next request on it has the rights of who
    /// sent this one (RFC 4559 section 6; NTLM over HTTP, MS-NTHT).
    var authenticateConnection: Bool {
        ["authorization", "proxy-authorization", "www-authenticate", "proxy-authenticate"].contains { name in
            self[name].contains { value in
                value.utf8.split(separator: UInt8(ascii: ",")).contains { challenge in
                    let scheme = challenge.trimmingBlanks.prefix(9).asciiLowercased
                    return scheme.starts(with: "ntlm".utf8) || scheme.starts(with: "negotiate".utf8)
                }
            }
        }
    }
}

extension String {
    /// Whether the text begins with an ASCII prefix, given in lower case.
    func hasPrefixIgnoringCase(_ prefix: String) -> Bool {
        utf8.count >= prefix.utf8.count
            && utf8.prefix(prefix.utf8.count).equalsIgnoringASCIICase(prefix)
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == 0x20 || self == 0x09 }
}

extension BidirectionalCollection<UInt8> {
    /// Without spaces and tabs at both ends.
    var trimmingBlanks: SubSequence {
        guard let first = firstIndex(where: { !$0.isBlank }), let last = lastIndex(where: { !$0.isBlank }) else {
            return self[endIndex...]
        }
        return self[first...last]
    }
}
