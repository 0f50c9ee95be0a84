// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// Another library that reads a token with the published keys alone.
enum PyJWT {
    static let isThere = PythonPackages.has("jwt", "cryptography")
    static let needs: Comment = "needs PyJWT[crypto] (Scripts/bootstrap test)"

    /// The claims of a token whose signature is right. Its times are those of the test's clock and not judged.
    static func claims<Claims: Decodable>(of token: String, keys: [UInt8], as type: Claims.Type) throws -> Claims {
        let script = """
            import json, sys, jwt
            key = jwt.PyJWKSet.from_json(sys.argv[1])[jwt.get_unverified_header(sys.argv[2])["kid"]]
            options = {"verify_" + name: False for name in ("aud", "exp", "iat", "nbf")}
            print(json.dumps(jwt.decode(sys.argv[2], key.key, algorithms=[key.algorithm_name], options=options)))
            """
        let claims = try PythonPackages.run(script, [String(decoding: keys, as: UTF8.self), token])
        return try JSONDecoder().decode(type, from: Data(claims.utf8))
    }
}
