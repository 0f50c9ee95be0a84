// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Synchronization
import TrustStores

/// How the users whom requests name are named in the store, in answers and in the audit.
///
/// A store keeps what it was made with: the name of a user who was stored in one way cannot be found in the other.
final class UserNames: Sendable {
    private let mode: Configuration.Users
    /// Whether grants of promotions know users and keys by a keyed hash; stores of 0.2.0 have an unkeyed one of users, and the ids of keys.
    private let hasKeyedGrants: Bool
    /// Hashes what must be found again.
    private let lasting: [UInt8]
    /// Hashes users in new lines of the audit; and the mark of the store's secrets when it was last read again.
    private let newest: Mutex<(secret: [UInt8], mark: [UInt8]?)>

    /// Reads how the store names users; the first service on a new store decides it, whichever node that is.
    ///
    /// - Parameter wanted: what the configuration says; nil for whatever the store has.
    /// - Throws: ``StoreFault``; `store.configuration` if the store was made with another mode.
    convenience init(_ wanted: Configuration.Users?, in store: any TrustStore, random: (Int) -> [UInt8]) async throws {
        // The mode is the first secret of a store: where there are others and no mode, an older version made the store.
        let hasSecrets = try await store.secretsMark() != StoreSecrets.mark([])
        var first = Configuration.Users.plain.rawValue
        if !hasSecrets {
            // A copy without secrets has keys, whose users say how it was made.
            switch try await UserNames.areHashed(in: store) {
            case nil: first = (wanted ?? .plain).rawValue + UserNames.keyedGrants
            case true: first = Configuration.Users.hashed.rawValue
            case false: break
            }
        }
        let kept = String(
            decoding: try await store.secret(named: UserNames.place, orElse: Array(first.utf8)), as: UTF8.self)
        let isKeyed = kept.hasSuffix(UserNames.keyedGrants)
        let word = isKeyed ? String(kept.dropLast(UserNames.keyedGrants.count)) : kept
        guard let mode = Configuration.Users(rawValue: word) else {
            throw StoreFault.damaged("how the store names users cannot be read")
        }
        if let wanted, wanted != mode {
            throw StoreFault.configuration(
                "users is \(wanted.rawValue) in the configuration, and the store was made with \(mode.rawValue), which cannot be changed: set users to \(mode.rawValue), or begin with a new store"
            )
        }
        self.init(
            mode, hasKeyedGrants: isKeyed,
            secret: try await store.secret(named: AuditChain.secretName, orElse: random(32)))
    }

    /// Whether every user that a key of the store has is named by a keyed hash; nil if no key has one.
    private static func areHashed(in store: any TrustStore) async throws -> Bool? {
        var (areHashed, cursor): (Bool?, KeyCursor?) = (nil, nil)
        repeat {
            let page = try await store.keys(matching: KeyFilter(), after: cursor, limit: KeyPage.largest)
            for user in page.keys.compactMap(\.user) {
                guard AuditChain.isPseudonym(user) else { return false }
                areHashed = true
            }
            cursor = page.next
        } while cursor != nil
        return areHashed
    }

    /// - Parameter secret: that of the store's audit.
    init(_ mode: Configuration.Users, hasKeyedGrants: Bool = true, secret: [UInt8]) {
        (self.mode, self.hasKeyedGrants, lasting) = (mode, hasKeyedGrants, AuditChain.lasting(secret))
        newest = Mutex((secret: AuditChain.newest(secret), mark: nil))
    }

    /// Takes the secret that the store has now, if any of its secrets was replaced since the last time.
    ///
    /// - Parameter mark: that of the store's secrets, taken before.
    func reread(_ store: any TrustStore, mark: [UInt8]) async throws {
        guard newest.withLock({ $0.mark != mark }) else { return }
        let secret = try await store.secret(named: AuditChain.secretName, orElse: lasting)
        newest.withLock { $0 = (secret: AuditChain.newest(secret), mark: mark) }
    }

    /// The name under which the store has a user.
    func stored(_ name: String) -> String { mode == .hashed ? hash(name) : name }

    /// A keyed hash of the name for a line of the audit, in either mode.
    func pseudonym(_ name: String) -> String {
        AuditChain.pseudonym(ofUser: name, secret: newest.withLock { $0.secret })
    }

    /// The keyed hash that finds the user again.
    private func hash(_ name: String) -> String { AuditChain.pseudonym(ofUser: name, secret: lasting) }

    /// The keyed hash of a user whom the store names so: by which quotas count, so that nothing in them leads to a user who was deleted.
    func counted(_ stored: String) -> String { mode == .hashed ? stored : hash(stored) }

    /// Who is granted a promotion as a user of this name; nil for what no user is called.
    func grantee(_ name: String) -> PromotionSubject? {
        PromotionSubject(user: hasKeyedGrants ? hash(name) : stored(name))
    }

    /// Who is granted a promotion as a key.
    func grantee(_ key: KeyIdentifier) -> PromotionSubject { .key(key, secret: hasKeyedGrants ? lasting : nil) }

    private static let place = "users"
    /// Follows the mode in a store that 0.2.0 did not make.
    private static let keyedGrants = " keyed-grants"
}
