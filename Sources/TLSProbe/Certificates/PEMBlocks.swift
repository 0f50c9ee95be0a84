// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// Reads PEM text (RFC 7468), as people keep it: several blocks, with words between them.
public enum PEMBlocks {
    /// The DER bytes of every block with one of the labels, in order; blocks whose base64 is broken are left out.
    ///
    /// - Parameter labels: for example `CERTIFICATE`, `X509 CERTIFICATE` and `TRUSTED CERTIFICATE` without more.
    public static func decode(
        _ bytes: some Collection<UInt8>, labels: Set<String> = ["CERTIFICATE", "X509 CERTIFICATE"]
    ) -> [[UInt8]] {
        var blocks: [[UInt8]] = []
        let labels = labels.map { Array($0.utf8) }
        var label: [UInt8]?
        var body: [UInt8] = []
        for line in bytes.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            if line.starts(with: "-----BEGIN ".utf8) {
                let name = line.dropFirst(11).reversed().drop { $0 == 0x20 || $0 == 0x09 }
                label = name.starts(with: "-----".utf8) ? name.dropFirst(5).reversed() : nil
                body.removeAll(keepingCapacity: true)
            } else if line.starts(with: "-----END ".utf8) {
                // Most bodies are base64 alone, and to look at each byte takes longer than to decode them.
                if let name = label, labels.contains(name),
                    let der = Base64.decode(body) ?? Base64.decode(body.filter(isBase64)), !der.isEmpty
                {
                    blocks.append(der)
                }
                label = nil
            } else if label != nil {
                body.append(contentsOf: line)
            }
        }
        return blocks
    }

    /// Other characters are passed over (RFC 7468 section 2).
    private static func isBase64(_ byte: UInt8) -> Bool { byte.isASCIIAlphanumeric || "+/=".utf8.contains(byte) }
}
