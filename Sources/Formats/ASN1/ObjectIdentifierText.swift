// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension ASN1Element {
    /// The dotted form of an object identifier.
    package func dottedIdentifier() throws(ASN1Fault) -> String {
        guard tag == .objectIdentifier else { throw ASN1Fault("an object identifier has the wrong type") }
        return try ASN1Element.dotted(content)
    }

    /// The dotted form of the content of an object identifier.
    package static func dotted(_ content: ArraySlice<UInt8>) throws(ASN1Fault) -> String {
        // Registered ones have under 20 bytes, and those made of a UUID under 30.
        guard content.count <= 128 else { throw ASN1Fault("an object identifier is too long") }
        var text: [UInt8] = []
        text.reserveCapacity(content.count * 3 + 2)
        var value: UInt64 = 0
        var isOpen = false
        for byte in content {
            guard value <= UInt64.max >> 7 else { throw ASN1Fault("an object identifier has an arc that is too large") }
            value = value << 7 | UInt64(byte & 0x7F)
            isOpen = byte & 0x80 != 0
            if isOpen { continue }
            if text.isEmpty {
                let root = min(value / 40, 2)
                text.append(UInt8(ascii: "0") + UInt8(root))
                value -= root * 40
            }
            text += ".\(value)".utf8
            value = 0
        }
        guard !text.isEmpty, !isOpen else { throw ASN1Fault("an object identifier is truncated") }
        return String(decoding: text, as: UTF8.self)
    }
}
