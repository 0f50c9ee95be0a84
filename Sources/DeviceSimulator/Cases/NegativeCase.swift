// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto

/// One row of the catalogue of faults: a way in which an object is wrong, or looks wrong and is right.
///
/// `--fault`, `simulate faults`, the tests of the verifier, the cases for other verifiers and the pages of the documentation are made of these
/// rows.
package struct NegativeCase<Subject>: Sendable, CustomStringConvertible {
    /// The group in `docs/audit/negative-groups.md`; nil for what the list has under another kind of object.
    package let group: Int?
    package let what: String
    /// The code with which a correct verifier refuses; nil if the object is accepted.
    package let code: String?
    /// The code of the verdict on the receipt inside; nil if that is accepted, or if no verifier gets so far.
    package let receiptCode: String?
    /// Makes a right object, or its recipe, into this one.
    package let change: @Sendable (inout Subject) throws -> Void

    package var description: String { "\(group.map(String.init) ?? "-") \(what)" }

    package init(
        _ group: Int?, _ what: String, _ code: String?, receipt: String? = nil,
        _ change: @escaping @Sendable (inout Subject) throws -> Void
    ) {
        self.group = group
        self.what = what
        self.code = code
        receiptCode = receipt
        self.change = change
    }
}

/// A row of the catalogue that has a name, by which the simulators are asked for it.
package protocol CataloguedFault: RawRepresentable<String>, CaseIterable, Sendable {
    associatedtype Subject
    var row: NegativeCase<Subject> { get }
}

extension CataloguedFault {
    func row(
        _ group: Int?, _ code: String?, receipt: String? = nil,
        _ change: @escaping @Sendable (inout Subject) throws -> Void
    ) -> NegativeCase<Subject> {
        NegativeCase(group, rawValue, code, receipt: receipt, change)
    }
}

/// The rows without a name: what is changed in the bytes of an attestation, in its recipe, and in the recipe of a receipt.
package enum NegativeCases {}

func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

func sha256(_ text: String) -> [UInt8] { sha256(Array(text.utf8)) }

@Sendable func lastBitFlipped(_ bytes: [UInt8]) -> [UInt8] { bytes.dropLast() + [(bytes.last ?? 0) ^ 1] }
