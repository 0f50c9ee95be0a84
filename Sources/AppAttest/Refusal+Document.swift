// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Formats

extension Refusal {
    /// `expected`, `found` and `mistake`, as every document and answer about a refusal has them; null where nothing was refused.
    package static func difference(_ refusal: Refusal?) -> [JSONValue.Member] {
        [
            .init("expected", refusal?.expected ?? .null), .init("found", refusal?.found ?? .null),
            .init("mistake", .optional(refusal?.mistake?.name)),
        ]
    }

    /// What was expected, a member for each value that differs.
    private var expected: JSONValue {
        .object(compared.compactMap { value in value.expected.map { .init(value.name, .string($0)) } })
    }

    /// What the object has, a member for each value that differs.
    private var found: JSONValue {
        .object(compared.compactMap { value in value.found.map { .init(value.name, .string($0)) } })
    }
}
