// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Foundation

extension ConfigurationReader {
    /// The entries of `tokensFile`: a JSON array of objects with `name`, `sha256`, `scopes` and optional `expires`.
    func namedCredentials(_ root: ConfigurationCursor) -> [NamedCredential] {
        guard let (path, text) = file(root, "tokensFile") else { return [] }
        let place = root.child("tokensFile")
        guard let document = try? JSONReader.read(Array(text.utf8)), case .array(let elements) = document else {
            issues.add(place, "\(path): must be a JSON array of credentials; `sealward tokens new` prints an entry")
            return []
        }
        var credentials: [NamedCredential] = []
        for (index, element) in elements.enumerated() {
            let cursor = ConfigurationCursor(element, path: "\(place)[\(index)]", issues: issues)
            guard let credential = namedCredential(cursor) else { continue }
            if credentials.contains(where: { $0.digest == credential.digest }) {
                issues.add(cursor.child("sha256"), "is the token of another entry; give each a token of its own")
            }
            if credentials.contains(where: { $0.name.hasSameBytes(as: credential.name) }) {
                issues.add(cursor.child("name"), "is used by another entry; the audit could not tell them apart")
            }
            credentials.append(credential)
        }
        return credentials
    }

    private func namedCredential(_ cursor: ConfigurationCursor) -> NamedCredential? {
        cursor.finish(known: ["name", "sha256", "scopes", "expires"])
        let name = cursor.required("name")
        if let name, !NamedCredential.isName(name) {
            issues.add(cursor.child("name"), "must be at most 64 printable ASCII characters without spaces")
        }
        let hash = cursor.required("sha256")
        let digest = hash.flatMap(ConfigurationReader.digest)
        if hash != nil, digest == nil {
            issues.add(cursor.child("sha256"), "must be the SHA-256 of the token, 64 hexadecimal digits")
        }
        if cursor.value("scopes") == nil { issues.add(cursor.child("scopes"), "is missing") }
        let scopes = cursor.strings("scopes")
        var expires: Date?
        if let text = cursor.string("expires") {
            expires = Timestamps.date(text)
            if expires == nil { issues.add(cursor.child("expires"), "must be an RFC 3339 instant or a date") }
        }
        guard let name, let digest, let scopes else { return nil }
        guard let credential = NamedCredential(name: name, digest: digest, scopes: scopes, expires: expires) else {
            issues.add(cursor.child("scopes"), "must hold server, admin or audit, each alone or with :APP behind it")
            return nil
        }
        return credential
    }

    /// 32 bytes from 64 hexadecimal digits.
    private static func digest(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count == 64 else { return nil }
        var bytes: [UInt8] = []
        for start in stride(from: 0, to: 64, by: 2) {
            guard let high = Character(UnicodeScalar(digits[start])).hexDigitValue,
                let low = Character(UnicodeScalar(digits[start + 1])).hexDigitValue
            else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        return bytes
    }
}
