// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// What a client asked of the service, by the names of its plan.
enum ClientRequest: Sendable, Equatable {
    case attest(key: Int, challenge: Int, expires: Int64)
    case assert(key: Int, counter: Int, challenge: Int, expires: Int64)
    case authorize(HeldToken, cost: Int)
    case consume(HeldToken)
    case revoke(key: Int)
    case show(key: Int)
    case claim(subject: Int, transaction: Int)
}

/// A token that a client holds.
struct HeldToken: Sendable, Equatable {
    let number: Int
    let key: Int
    /// In whole seconds since 1970, as the token says them.
    let issued: Int64
    let expires: Int64

    /// Whether a node with this clock takes it.
    func isTimely(at milliseconds: Int64) -> Bool {
        milliseconds < expires * 1000 && issued * 1000 <= milliseconds + 60_000
    }
}

/// What a client was told.
struct ClientAnswer: Sendable, Equatable {
    let status: Int
    let code: String?
    /// A counter, or what is left of a quota.
    var number: Int?
    /// Whether a promotion is granted, or a key revoked.
    var flag: Bool?

    /// Whether the service says that it does not know what became of the request.
    var isFault: Bool { status >= 500 }

    var text: String {
        [String(status), code, number.map(String.init), flag.map { $0 ? "yes" : "no" }].compactMap { $0 }
            .joined(separator: " ")
    }
}

/// One request on its way: asked, and perhaps answered.
struct Exchange: Sendable {
    let operation: Int
    let request: ClientRequest
    /// The clock of the node that took it, milliseconds since 1970.
    let nodeTime: Int64
    /// What that clock was ahead of the true time, milliseconds.
    let lead: Int64
    /// The line of the history in which it was asked.
    let invoked: Int
    /// The line in which it was answered; nil for never.
    var returned: Int?
    var answer: ClientAnswer?
    /// The furthest clock of all nodes and the database at the end, milliseconds since 1970.
    var latestClock: Int64 = .max
}

/// What happened in one simulation: every line in its order, and every request.
struct History: Sendable {
    var lines: [String] = []
    var exchanges: [Exchange] = []

    /// All of it as text: the same seed gives the same bytes.
    var text: String { lines.joined(separator: "\n") + "\n" }
}
