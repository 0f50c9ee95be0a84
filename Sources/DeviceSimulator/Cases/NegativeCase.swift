// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// A way in which an object is wrong, or looks wrong and is right, by its group in `docs/audit/negative-groups.md`.
///
/// The verifier's own tests and the laboratory for other verifiers use the same tables.
package struct NegativeCase<Subject>: Sendable, CustomStringConvertible {
    package let group: Int
    package let what: String
    /// The code with which a correct verifier refuses; nil if the object is accepted.
    package let code: String?
    /// Makes a right object, or its recipe, into this one.
    package let change: @Sendable (inout Subject, SimulatedAuthority) throws -> Void

    package var description: String { "\(group) \(what)" }

    package init(
        _ group: Int, _ what: String, _ code: String?, _ change: @escaping @Sendable (inout Subject) throws -> Void
    ) {
        self.group = group
        self.what = what
        self.code = code
        self.change = { subject, _ in try change(&subject) }
    }

    /// One that takes something from the authority.
    package init(
        _ group: Int, _ what: String, _ code: String?,
        taking change: @escaping @Sendable (inout Subject, SimulatedAuthority) throws -> Void
    ) {
        self.group = group
        self.what = what
        self.code = code
        self.change = change
    }
}

/// The tables: what is changed in the bytes of an attestation, in its recipe, and in the recipe of a receipt.
package enum NegativeCases {}
