// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// The parameters of a query that is refused as a whole if anything in it is not understood.
///
/// Read by bytes, after percent-decoding: `%61pp` is `app`. A parameter that is unknown, doubled, empty or not decodable is never ignored,
/// because a restriction that is ignored lets everybody in.
package struct StrictQuery: Equatable {
    private let values: [UTF8Key: String]

    /// More bytes than this are no query of ours.
    package static let limit = 4096

    /// Reads a query, without its question mark, or the body of a form.
    ///
    /// - Parameter isForm: whether an empty parameter is an input of a browser's form into which nobody wrote, and no mistake.
    /// - Throws: ``Problem`` `request.malformed`.
    package init(_ query: String, known: Set<UTF8Key>, isForm: Bool = false) throws(Problem) {
        guard query.utf8.count <= StrictQuery.limit else {
            throw Problem.malformed("the query is longer than \(StrictQuery.limit) bytes")
        }
        var values: [UTF8Key: String] = [:]
        if !query.utf8.isEmpty {
            for pair in query.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
                guard let sign = pair.firstIndex(of: UInt8(ascii: "=")),
                    let name = PercentEncoding.decode(pair[..<sign], plusIsSpace: true).map({ UTF8Key($0) }),
                    let value = PercentEncoding.decode(pair[pair.index(after: sign)...], plusIsSpace: true)
                else { throw Problem.malformed("a query parameter cannot be decoded") }
                guard known.contains(name) else {
                    throw Problem.malformed("the query has an unknown parameter")
                }
                if isForm, value.utf8.isEmpty { continue }
                guard !value.utf8.isEmpty, values.updateValue(value, forKey: name) == nil else {
                    throw Problem.malformed("a query parameter is empty or given twice")
                }
            }
        }
        self.values = values
    }

    package subscript(name: UTF8Key) -> String? { values[name] }

    /// A whole number in a range; the default if it is absent.
    package func number(_ name: UTF8Key, _ range: ClosedRange<Int>, default standard: Int) throws(Problem) -> Int {
        guard let text = values[name] else { return standard }
        guard let number = text.decimalNumber(digits: 10), range ~= number else {
            throw Problem.malformed("a number in the query is out of range")
        }
        return number
    }
}

/// Percent-encoding of paths and queries (RFC 3986, section 2.1), decoded by bytes.
package enum PercentEncoding {
    /// The decoded text; nil for a `%` without two hexadecimal digits, and for bytes that are not UTF-8.
    ///
    /// - Parameter plusIsSpace: whether `+` is a space, as in the query of a form.
    package static func decode(_ text: Substring.UTF8View, plusIsSpace: Bool = false) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.next()?.hexadecimalValue, let low = rest.next()?.hexadecimalValue else {
                    return nil
                }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: bytes.append(0x20)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
