// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Reads items from the front of a byte string. Definite lengths, shortest forms, no duplicate keys; see ``CBORLimits``.
///
/// Nothing is allocated by a claimed length: a length is compared with the bytes that are there before it is used.
struct CBORReader {
    private let bytes: ArraySlice<UInt8>
    private let limits: CBORLimits
    private(set) var position: Int
    private var depth = 0

    init(_ bytes: ArraySlice<UInt8>, limits: CBORLimits) {
        self.bytes = bytes
        self.limits = limits
        position = bytes.startIndex
    }

    var isAtEnd: Bool { position == bytes.endIndex }

    private var remaining: Int { bytes.endIndex - position }

    func fault(_ reason: String) -> CBORFault { CBORFault(offset: position - bytes.startIndex, reason: reason) }

    mutating func item() throws(CBORFault) -> CBORItem {
        guard bytes.count <= limits.size else { throw fault("the input is longer than \(limits.size) bytes") }
        guard position < bytes.endIndex else {
            throw fault(bytes.isEmpty ? "the input is empty" : "the input ends where an item should begin")
        }
        let initial = bytes[position]
        let head = initial & 0x1F
        switch initial >> 5 {
        case 0: return .unsigned(try argument())
        case 1: return .negative(try argument())
        case 2: return .bytes(try string())
        case 3:
            let start = fault("text is not UTF-8")
            let raw = try string()
            // ASCII, which all of it is today, needs no validation.
            if raw.allSatisfy({ $0 < 0x80 }) { return .text(String(decoding: raw, as: UTF8.self)) }
            guard let text = String(validating: raw, as: UTF8.self) else { throw start }
            return .text(text)
        case 4: return .array(try elements())
        case 5: return .map(try mapEntries())
        case 6: throw fault("a tag is not allowed")
        default:
            guard head == 20 || head == 21 else {
                throw fault("floats, null, undefined and simple values are not allowed")
            }
            position += 1
            return .boolean(head == 21)
        }
    }

    /// The number in the head of an item, in its shortest form.
    private mutating func argument() throws(CBORFault) -> UInt64 {
        let start = fault("a number is not in its shortest form")
        let head = bytes[position] & 0x1F
        let length: Int
        switch head {
        case 0..<24:
            position += 1
            return UInt64(head)
        case 24: length = 1
        case 25: length = 2
        case 26: length = 4
        case 27: length = 8
        case 31: throw fault("indefinite lengths are not allowed")
        default: throw fault("the head of the item is reserved")
        }
        guard remaining > length else { throw fault("the input ends inside the head of an item") }
        var number: UInt64 = 0
        for byte in bytes[(position + 1)..<(position + 1 + length)] { number = number << 8 | UInt64(byte) }
        let shortest: UInt64 = length == 1 ? 24 : 1 << (UInt64(length) * 4)
        guard number >= shortest else { throw start }
        position += 1 + length
        return number
    }

    private mutating func string() throws(CBORFault) -> ArraySlice<UInt8> {
        let start = fault("the input ends inside a string: it was cut off")
        let length = try argument()
        guard length <= UInt64(remaining) else { throw start }
        let content = bytes[position..<(position + Int(length))]
        position += Int(length)
        return content
    }

    /// The number of elements of a container, and a step deeper.
    private mutating func enter(bytesPerElement: UInt64) throws(CBORFault) -> Int {
        let start = position - bytes.startIndex
        guard depth < limits.depth else { throw fault("arrays and maps are nested more than \(limits.depth) deep") }
        let count = try argument()
        guard count <= UInt64(limits.count), count * bytesPerElement <= UInt64(remaining) else {
            throw CBORFault(offset: start, reason: "an array or a map claims \(count) elements")
        }
        depth += 1
        return Int(count)
    }

    private mutating func elements() throws(CBORFault) -> [CBORItem] {
        var elements: [CBORItem] = []
        for _ in 0..<(try enter(bytesPerElement: 1)) { elements.append(try item()) }
        depth -= 1
        return elements
    }

    private mutating func mapEntries() throws(CBORFault) -> [CBOREntry] {
        let count = try enter(bytesPerElement: 2)
        var entries: [CBOREntry] = []
        entries.reserveCapacity(count)
        var seen: Set<CBORItem> = []
        for _ in 0..<count {
            let start = position - bytes.startIndex
            let key = try item()
            if case .text(let text) = key, text.utf8.count > limits.keyBytes {
                throw CBORFault(offset: start, reason: "a key is longer than \(limits.keyBytes) bytes")
            }
            guard seen.insert(key).inserted else {
                throw CBORFault(offset: start, reason: "a key occurs twice in one map")
            }
            entries.append(CBOREntry(key, try item()))
        }
        depth -= 1
        return entries
    }
}
