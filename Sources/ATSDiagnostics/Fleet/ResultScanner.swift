// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// Finds the targets in a result of `ats check`, a document or lines, without keeping more than one in memory.
struct ResultScanner {
    /// A target, or what is around the targets of a document.
    enum Part: Equatable {
        case target(offset: Int, count: Int)
        case document(head: [UInt8])
    }

    private static let notAResult = InputFault("is not a result of ats check --format json or jsonl")
    /// What is around the targets of a document has some hundred bytes.
    private static let headLimit = 1 << 16
    /// The longest name that is looked for, `targets`, in its quotes.
    private static let nameLimit = 64

    private var depth = 0
    private var isInText = false
    private var isEscaped = false
    /// The text at depth 1 that was last read, which is a member's name if a colon follows.
    private var name: [UInt8] = []
    /// Whether the list of targets of a document is being read.
    private var isInTargets = false
    private var isDocument = false
    private var start = 0
    private var elementStart = 0
    private var head: [UInt8] = []

    /// Reads one byte.
    mutating func read(_ byte: UInt8, at offset: Int, _ part: (Part) throws(InputFault) -> Void) throws(InputFault) {
        if depth == 0 {
            if [0x20, 0x0A, 0x0D, 0x09].contains(byte) { return }
            guard byte == UInt8(ascii: "{") else { throw ResultScanner.notAResult }
            (depth, start, isDocument, head, name) = (1, offset, false, [byte], [])
            return
        }
        if !isInTargets, !isDocument || depth == 1, head.count < ResultScanner.headLimit { head.append(byte) }
        if isInText {
            if depth == 1, name.count < ResultScanner.nameLimit { name.append(byte) }
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInText = false
            }
            return
        }
        switch byte {
        case UInt8(ascii: "\""):
            isInText = true
            if depth == 1 { name = [byte] }
        case UInt8(ascii: "["):
            if depth == 1, name == Array("\"targets\"".utf8) { (isInTargets, isDocument) = (true, true) }
            depth += 1
        case UInt8(ascii: "{"):
            if isInTargets, depth == 2 { elementStart = offset }
            depth += 1
        case UInt8(ascii: "]"), UInt8(ascii: "}"):
            depth -= 1
            if isInTargets, depth == 2, byte == UInt8(ascii: "}") {
                try part(.target(offset: elementStart, count: offset - elementStart + 1))
            } else if isInTargets, depth == 1 {
                isInTargets = false
                head.append(byte)
            } else if depth == 0 {
                try part(isDocument ? .document(head: head) : .target(offset: start, count: offset - start + 1))
            }
        default: break
        }
    }

    /// - Throws: where the last value has no end: the run was stopped while it wrote.
    func end() throws(InputFault) {
        guard depth == 0 else {
            throw InputFault("ends in the middle of a target; keep the complete lines, or run the check again")
        }
    }
}
