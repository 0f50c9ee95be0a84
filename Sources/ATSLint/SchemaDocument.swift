// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Foundation

/// A JSON file that names its own form in `schema`, written by this program and handed back to it.
protocol SchemaDocument: Decodable {
    static var expectedSchema: String { get }
    var schema: String { get }
}

extension SchemaDocument {
    /// Reads the file.
    ///
    /// - Throws: `MalformedInput` with the given code: for the reason given where it is another kind of file, else because of the schema.
    static func read(_ bytes: [UInt8], code: Code, otherwise reason: String) throws(MalformedInput) -> Self {
        let document: Self
        do {
            // A file of this program's own making, whose size the caller bounds; Foundation ends at 512 levels.
            document = try JSONDecoder().decode(Self.self, from: Data(bytes))
        } catch {
            throw MalformedInput(code: code, reason: reason)
        }
        guard document.schema == expectedSchema else {
            throw MalformedInput(
                code: code,
                reason: "has the schema '\(document.schema.prefix(60))', not \(expectedSchema)"
            )
        }
        return document
    }
}
