// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Findings
import FoundationEssentials

/// Base64 (RFC 4648, section 4) with padding, without spaces, in its one canonical form.
package enum StrictBase64 {
    /// - Throws: `malformed.base64`.
    package static func decode(_ text: String) throws(MalformedInput) -> [UInt8] {
        guard let data = Data(base64Encoded: text), data.base64EncodedString().utf8.elementsEqual(text.utf8) else {
            throw MalformedInput(
                code: .malformedBase64,
                reason: "expected base64 of the standard alphabet with padding and without spaces"
            )
        }
        return Array(data)
    }

    package static func encode(_ bytes: some Sequence<UInt8>) -> String { Data(bytes).base64EncodedString() }
}
