// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Vocabulary

/// A JSON file that names its own form in `schema`, written by this program and handed back to it.
struct SchemaDocument {
    /// The most bytes of such a file.
    private static let bytes = 24 << 20
    /// The most values, so that the document takes less than 200 MB.
    private static let values = 1_000_000

    private let root: JSONValue
    /// What is said of a file that has another form inside.
    let fault: MalformedInput

    /// Reads the file.
    ///
    /// - Throws: `MalformedInput` with the given code: for the reason given where it is another kind of file, else because of the schema.
    init(_ bytes: [UInt8], schema: String, code: Code, otherwise reason: String) throws(MalformedInput) {
        fault = MalformedInput(code: code, reason: reason)
        guard bytes.count <= Self.bytes else {
            throw MalformedInput(code: code, reason: "is larger than any such file that this program writes")
        }
        var limits = JSONReader.Limits()
        limits.values = Self.values
        guard let root = try? JSONReader.read(bytes, limits: limits), let found = root.member("schema")?.text else {
            throw fault
        }
        guard found.hasSameBytes(as: schema) else {
            throw MalformedInput(code: code, reason: "has the schema '\(found.terminalSafe(limit: 60))', not \(schema)")
        }
        self.root = root
    }

    subscript(name: String) -> JSONValue? { root.member(name) }
}
