// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Foundation
import StrictJSON

/// A signed JSON Web Token in its three parts (RFC 7515, section 7.1): split by bytes, and nothing of it believed yet.
struct CompactToken {
    /// The most bytes of a token that is read: one of ours with a signature of 2048 bits has less than 2 kB.
    static let limit = 4096

    /// The `kid` of its header.
    let keyId: String
    /// What is signed: header, dot, claims.
    let signed: Data
    private let claims: String
    private let end: String

    /// The bytes of its claims; nil where they are not base64url.
    var payload: [UInt8]? { Base64.decodeURL(claims) }
    /// The bytes of its signature; nil where they are not base64url.
    var signature: [UInt8]? { Base64.decodeURL(end) }

    /// Reads the header.
    ///
    /// - Parameter algorithm: the one `alg` that is read; a token never says how it wants to be verified.
    /// - Throws: ``Problem`` `token.invalid`.
    init(_ token: String, algorithm: String) throws(Problem) {
        guard token.utf8.count <= CompactToken.limit else {
            throw Problem(.tokenInvalid, evidence: "longer than any token")
        }
        let parts = token.utf8.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = Base64.decodeURL(String(Substring(parts[0]))),
            let header = try? JSONReader.read(bytes, limits: .outside), let members = header.members
        else { throw Problem(.tokenInvalid, evidence: "not a token") }
        guard header.member("alg")?.text?.hasSameBytes(as: algorithm) == true, let keyId = header.member("kid")?.text,
            header.member("crit") == nil, Set(members.map { UTF8Key($0.name) }).count == members.count
        else { throw Problem(.tokenInvalid, evidence: "another algorithm") }
        self.keyId = keyId
        signed = Data(parts[0]) + Data(".".utf8) + Data(parts[1])
        claims = String(Substring(parts[1]))
        end = String(Substring(parts[2]))
    }
}
