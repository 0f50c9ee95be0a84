// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import FoundationEssentials

/// The two base64 alphabets of the contract, read strictly: RFC 4648 section 4 with padding, section 5 without.
package enum Base64 {
    /// Standard alphabet, padded, no white space, no stray bits in the last character.
    package static func decode(_ text: String) -> [UInt8]? {
        guard text.utf8.count % 4 == 0, let data = Data(base64Encoded: text), data.base64EncodedString() == text else {
            return nil
        }
        return Array(data)
    }

    package static func encode(_ bytes: some Sequence<UInt8>) -> String { Data(bytes).base64EncodedString() }

    /// The URL alphabet without padding, as in paths and tokens.
    package static func decodeURL(_ text: String) -> [UInt8]? {
        var standard = ""
        standard.reserveCapacity(text.utf8.count + 3)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "-": standard.unicodeScalars.append("+")
            case "_": standard.unicodeScalars.append("/")
            case "+", "/", "=": return nil
            default: standard.unicodeScalars.append(scalar)
            }
        }
        while standard.utf8.count % 4 != 0 { standard += "=" }
        return decode(standard)
    }

    package static func encodeURL(_ bytes: some Sequence<UInt8>) -> String {
        var text = ""
        for scalar in encode(bytes).unicodeScalars {
            switch scalar {
            case "+": text.unicodeScalars.append("-")
            case "/": text.unicodeScalars.append("_")
            case "=": break
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
