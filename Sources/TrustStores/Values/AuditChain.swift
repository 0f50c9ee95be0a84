// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
package import Formats
import FoundationEssentials
import Vocabulary

extension NumberedAuditEntry {
    /// The entry as JSON. Lines that exist have hashes, so what is here never changes.
    package var document: JSONValue {
        [
            "number": .integer(Int(number)), "at": .string(RFC3339.text(entry.at)), "name": .string(entry.name),
            "operation": .string(entry.operation), "target": .string(entry.target), "outcome": .string(entry.outcome),
            "address": .optional(entry.address), "correlationId": .optional(entry.correlationId),
            "session": .optional(entry.session), "reason": .optional(entry.reason),
            "previous": .optional(previous?.hexadecimal()),
        ]
    }

    /// The same as one line, as it is printed and hashed.
    package var line: String { document.rendered(pretty: false) }

    /// SHA-256 of the ``line``, which the next line names.
    package var hash: [UInt8] { Array(SHA256.hash(data: Data(line.utf8))) }
}

/// A place in the chain of audit lines: the number of a line, and its hash. The next line is checked against it, or made after it.
package struct AuditChain: Sendable, Equatable {
    /// The number of the line.
    package private(set) var number: Int64
    /// Its hash.
    package private(set) var hash: [UInt8]

    /// What the first line of all names as the hash of the line before.
    static let start = [UInt8](repeating: 0, count: 32)
    /// The secret of the store that seals checkpoints, and hashes users' names and the ids of deleted revoked keys: the newest 32 bytes, and
    /// behind them, if it was replaced, those that the store began with.
    package static let secretName = "audit"
    private static let secretLength = 32

    /// The part for lines and seals.
    package static func newest(_ secret: [UInt8]) -> [UInt8] { Array(secret.prefix(secretLength)) }

    /// The part for what must be found again. No successor changes it.
    package static func lasting(_ secret: [UInt8]) -> [UInt8] { Array(secret.suffix(secretLength)) }

    /// What replaces a secret.
    package static func successor(of secret: [UInt8], random: [UInt8]) -> [UInt8] { random + lasting(secret) }

    /// - Parameter hash: nil for a line that is older than the chain, or none.
    init(number: Int64, hash: [UInt8]?) { (self.number, self.hash) = (number, hash ?? AuditChain.start) }

    /// Numbers an entry, and goes on to it.
    mutating func append(_ entry: AuditEntry) -> NumberedAuditEntry {
        let line = NumberedAuditEntry(number: number &+ 1, previous: hash, entry: entry)
        (number, hash) = (line.number, line.hash)
        return line
    }

    /// Goes on to the next line if it is the one.
    ///
    /// - Returns: what is wrong with it; nil if nothing is.
    mutating func take(_ line: NumberedAuditEntry) -> String? {
        guard line.number == number &+ 1 else { return missing }
        guard line.previous == hash else {
            let named = line.previous?.hexadecimal() ?? "none"
            return
                "the audit was changed: line \(line.number) names \(named) as the hash of line \(number), which is \(hash.hexadecimal()); compare with an exported audit"
        }
        (number, hash) = (line.number, line.hash)
        return nil
    }

    /// What is wrong if there is no next line.
    var missing: String { "the audit was changed: line \(number &+ 1) is missing; compare with an exported audit" }

    /// Whether it is the place of a line of the chain: before the first one there is nothing to seal.
    var isSealable: Bool { hash != AuditChain.start }

    /// What shows that a checkpoint was made with the secret of the store.
    func seal(_ secret: [UInt8]) -> [UInt8] {
        let message = Array("sealward audit checkpoint \(number) \(hash.hexadecimal())".utf8)
        return AuditChain.code(message, AuditChain.newest(secret))
    }

    /// A user's name in the audit. Who has the secret of the store can tell whether a line is about a user; the line names none.
    package static func pseudonym(ofUser name: String, secret: [UInt8]) -> String {
        "u_" + Array(code(Array("sealward audit user \(name)".utf8), secret).prefix(8)).hexadecimal()
    }

    /// An HMAC with the secret of the store. Each use of the secret begins its messages with other words.
    static func code(_ message: [UInt8], _ secret: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Data(message), using: SymmetricKey(data: Data(secret))))
    }

    /// Whether a text has the form of ``pseudonym(ofUser:secret:)``.
    package static func isPseudonym(_ text: String) -> Bool {
        text.utf8.count == 18 && text.utf8.starts(with: "u_".utf8)
            && text.utf8.dropFirst(2).allSatisfy(\.isLowercaseHexadecimal)
    }
}
