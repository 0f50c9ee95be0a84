// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// The codes of this module. `docs/errors.md` says what each means.
extension Code {
    package static let bodyTooLarge: Code = "body.too-large"
    package static let limitLoad: Code = "limit.load"
    package static let requestMalformed: Code = "request.malformed"
}

extension Problem {
    /// Status, title and advice of the codes of this module.
    package static let entries: [Code: Entry] = [
        .requestMalformed: malformedEntry, .bodyTooLarge: bodyTooLargeEntry, .limitLoad: overloadEntry,
    ]

    private static let malformedEntry = Entry(
        400, "The request does not follow the API contract.", .never, .developer,
        "compare the body with /openapi.yaml; the log says which member is wrong")

    private static let bodyTooLargeEntry = Entry(
        413, "The body is larger than the limit.", .never, .developer,
        "send the proof and its client data alone; limits.bodyBytes is the limit")

    private static let overloadEntry = Entry(
        503, "The node has more requests than it can handle.", .after, .operator,
        "add a node or a faster store if this lasts; the app waits as long as Retry-After says, then sends the same again"
    )

    static func malformed(_ evidence: String) -> Problem {
        Problem(.requestMalformed, as: malformedEntry, evidence: evidence)
    }

    static var bodyTooLarge: Problem { Problem(.bodyTooLarge, as: bodyTooLargeEntry) }

    package static var overload: Problem { Problem(.limitLoad, as: overloadEntry) }
}
