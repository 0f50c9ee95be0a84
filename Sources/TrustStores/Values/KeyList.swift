// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppAttest
public import FoundationEssentials
import Vocabulary

/// Which keys are meant; a nil member allows any.
public struct KeyFilter: Sendable, Equatable {
    /// The configured id of the app.
    public var app: String?
    /// The user whom the app's server named.
    public var user: String?
    /// `production` or `development`.
    public var environment: String?

    package init(app: String? = nil, user: String? = nil, environment: String? = nil) {
        self.app = app
        self.user = user
        self.environment = environment
    }

    /// Whether a key could have these names at all: a text that no store takes names none.
    var isStorable: Bool {
        (user.map(StoreText.isUser) ?? true)
            && [app, environment].allSatisfy { $0.map { StoreText.isStorable($0, limit: StoreText.nameLimit) } ?? true }
    }
}

/// A place in the list of keys, behind which the next page begins. It stays good if the key that it names is deleted.
public struct KeyCursor: Sendable, Equatable {
    /// The environment of the last key of a page.
    public let environment: String
    /// Its app.
    public let app: String
    /// Its id.
    public let id: KeyIdentifier

    /// The place of a key: for stores.
    public init(_ key: StoredKey) {
        self.init(environment: key.environment, app: key.app, id: key.id)
    }

    init(environment: String, app: String, id: KeyIdentifier) {
        self.environment = environment
        self.app = app
        self.id = id
    }

    /// Reads what ``text`` gave; nil for anything else.
    package init?(_ text: String) {
        guard text.utf8.count <= 2 * StoreText.nameLimit, let bytes = Base64.decode(text), bytes.count > 33,
            let id = KeyIdentifier(bytes: bytes.prefix(32))
        else { return nil }
        let names = bytes.dropFirst(32).split(separator: 0, omittingEmptySubsequences: false)
        guard names.count == 2, let environment = String(validating: names[0], as: UTF8.self),
            let app = String(validating: names[1], as: UTF8.self)
        else { return nil }
        self.init(environment: environment, app: app, id: id)
    }

    /// The cursor as text for a client: base64, to be given back as it is.
    package var text: String {
        Base64.encode(id.bytes + Array(environment.utf8) + [0] + Array(app.utf8))
    }
}

/// Some keys of a list.
public struct KeyPage: Sendable, Equatable {
    /// The keys, by environment, app and id.
    public let keys: [StoredKey]
    /// Where the next page begins; nil at the end.
    public let next: KeyCursor?

    /// What a store found, and where it goes on.
    public init(keys: [StoredKey], next: KeyCursor?) {
        self.keys = keys
        self.next = next
    }

    /// Makes a page of what was found, of which one more than `limit` was asked for.
    init(_ found: [StoredKey], limit: Int) {
        let keys = Array(found.prefix(limit))
        self.init(keys: keys, next: found.count > limit ? keys.last.map(KeyCursor.init) : nil)
    }

    /// The most keys of one page.
    package static let largest = 1000
}

/// How many unrevoked keys there are of one kind.
public struct KeyCount: Sendable, Equatable {
    /// The configured id of the app.
    public let app: String
    /// `production` or `development`.
    public let environment: String
    /// Whether a simulated root attested them.
    public let simulated: Bool
    /// How many there are.
    public internal(set) var keys: Int

    /// A kind of keys and their number.
    public init(app: String, environment: String, simulated: Bool, keys: Int) {
        self.app = app
        self.environment = environment
        self.simulated = simulated
        self.keys = keys
    }
}

/// Which keys of an app are revoked together.
public enum RevocationRule: Sendable, Equatable {
    /// Those of one user.
    case user(String)
    /// Those of `production` or `development`.
    case environment(String)
    /// Those that a simulated root attested.
    case simulated
    /// Those that were attested before an instant.
    case attestedBefore(Date)
}

/// How many keys a call may revoke together; with another number it revokes none.
public enum RevocationBound: Sendable, Equatable {
    /// None: the keys are only counted.
    case dryRun
    /// Exactly so many.
    case exactly(Int)
    /// So many or fewer.
    case atMost(Int)

    func admits(_ count: Int) -> Bool {
        switch self {
        case .dryRun: false
        case .exactly(let number): count == number
        case .atMost(let number): count <= number
        }
    }

    /// Whether more keys than these need not be counted.
    func isExceeded(by count: Int) -> Bool {
        switch self {
        case .dryRun: false
        case .exactly(let number), .atMost(let number): count > number
        }
    }
}

/// What a call that revokes keys together did.
public enum RevocationResult: Sendable, Equatable {
    /// This caller revoked so many.
    case revoked(Int)
    /// No key changed: so many would have been revoked, or at least so many if that is more than the bound.
    case unchanged(Int)
}

/// Keys that were revoked lately.
public struct RevokedKeys: Sendable, Equatable {
    /// The first 12 bytes of SHA-256 of the id of each, each once, the one that was revoked last first; of one that was deleted since, only the day is known.
    public let names: [[UInt8]]
    /// Whether all are named; if not, earlier ones are missing.
    public let isComplete: Bool

    /// Puts keys and tombstones in order; what is beyond the limit is left out.
    init(_ keys: [(id: KeyIdentifier, at: Int64)], _ tombstones: [(name: [UInt8], day: Int64)], limit: Int) {
        let found =
            keys.map { (name: Tombstone.hash(of: $0.id), at: $0.at) }
            + tombstones.map { (name: $0.name, at: Tombstone.latest($0.day)) }
        names = found.sorted { $0.at > $1.at }.prefix(max(0, limit)).map { Array($0.name.prefix(Tombstone.markLength)) }
        isComplete = names.count == found.count
    }
}
