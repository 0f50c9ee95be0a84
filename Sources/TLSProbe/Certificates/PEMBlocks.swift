// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Reads PEM text (RFC 7468), as people keep it: several blocks, with words between them.
public enum PEMBlocks {
    /// The DER bytes of every block with one of the labels, in order; blocks whose base64 is broken are left out.
    ///
    /// - Parameter labels: for example `CERTIFICATE`, `X509 CERTIFICATE` and `TRUSTED CERTIFICATE` without more.
    public static func decode(
        _ bytes: some Collection<UInt8>,
        labels: Set<String> = ["CERTIFICATE", "X509 CERTIFICATE"]
    ) -> [[UInt8]] {
        var blocks: [[UInt8]] = []
        var label: String?
        var body: [UInt8] = []
        for line in bytes.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            if line.starts(with: "-----BEGIN ".utf8) {
                let name = String(decoding: line.dropFirst(11), as: UTF8.self).trimmingCharacters(in: .whitespaces)
                label = name.hasSuffix("-----") ? String(name.dropLast(5)) : nil
                body.removeAll(keepingCapacity: true)
            } else if line.starts(with: "-----END ".utf8) {
                if let name = label, labels.contains(name),
                    let data = Data(base64Encoded: Data(body), options: .ignoreUnknownCharacters), !data.isEmpty
                {
                    blocks.append(Array(data))
                }
                label = nil
            } else if label != nil {
                body.append(contentsOf: line)
            }
        }
        return blocks
    }
}
