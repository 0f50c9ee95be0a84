// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TrustTokens
import Vocabulary

/// The service's list of revoked keys, at most a minute old as long as the service answers.
struct RevokedKeys: Sendable {
    /// What is known of a key.
    enum Standing {
        case good
        case revoked
        /// The list is valid and does not name all revoked keys.
        case unlisted
        case unknown
    }

    /// How old the list may be, so that a revoked key stops within two minutes also behind a cache that keeps it for one.
    static let lifetime = Duration.seconds(60)
    /// Between two questions while there is no valid list.
    static let pause = Duration.seconds(5)

    private let document: FetchedDocument<RevokedKeyList>
    private let now: @Sendable () -> Date

    /// - Parameters:
    ///   - issuer: who must have signed it.
    ///   - keys: the keys of that issuer.
    init(
        url: String, issuer: String, keys: TokenKeys, transport: any GateTransport,
        uptime: @escaping @Sendable () -> Duration, now: @escaping @Sendable () -> Date
    ) {
        self.now = now
        var request = GateRequest.get(url)
        request.bodyLimit = RevokedKeyList.tokenLimit
        document = FetchedDocument(
            request, lifetime: RevokedKeys.lifetime, transport: transport, uptime: uptime
        ) { answer in
            let text = String(decoding: answer.body, as: UTF8.self)
            guard let token = try? CompactToken(text, algorithm: "ES256", limit: RevokedKeyList.tokenLimit),
                case .key(let key) = await keys.key(token.keyId), token.isSigned(by: key),
                let list = RevokedKeyList(token), list.issuer.hasSameBytes(as: issuer),
                list.life.contains(now())
            else { return nil }
            return list
        }
    }

    func standing(ofKey bytes: [UInt8]) async -> Standing {
        let instant = now()
        let state = await document.state(pause: RevokedKeys.pause) { list, _ in
            list.life.contains(instant)
        }
        guard let list = state.value, list.life.contains(now()) else { return .unknown }
        if list.names(RevocationMark.of(key: bytes)) { return .revoked }
        return list.isComplete ? .good : .unlisted
    }
}
