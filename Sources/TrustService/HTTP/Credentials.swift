// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation

/// The bearer tokens of servers and operators. Only their digests are kept; the comparison takes the same time for each.
package struct Credentials: Sendable {
    private let server: [SHA256Digest]
    private let admin: [SHA256Digest]

    package init(server: CredentialSource?, admin: CredentialSource?) {
        self.server = (server?.tokens ?? []).map { SHA256.hash(data: Data($0.utf8)) }
        self.admin = (admin?.tokens ?? []).map { SHA256.hash(data: Data($0.utf8)) }
    }

    /// Whether any token opens the routes of servers.
    package var opensServerRoutes: Bool { !server.isEmpty || !admin.isEmpty }

    /// Whether any token opens the routes of operators.
    package var opensAdminRoutes: Bool { !admin.isEmpty }

    package func caller(bearer: String?) -> Call.Caller {
        guard let bearer else { return .anyone }
        let digest = SHA256.hash(data: Data(bearer.utf8))
        if admin.reduce(false, { ($1 == digest) || $0 }) { return .admin }
        return server.reduce(false, { ($1 == digest) || $0 }) ? .server : .anyone
    }
}
