// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import PropertyLists

/// What Foundation, the parser of the systems, reads: the measure of the readers here.
enum FoundationReading {
    struct Unexpected: Error {}

    static func value(_ bytes: [UInt8]) throws -> PropertyListValue {
        try value(try PropertyListSerialization.propertyList(from: Data(bytes), options: [], format: nil))
    }

    private static func value(_ object: Any) throws -> PropertyListValue {
        switch object {
        case let text as String: .string(text)
        case let members as [String: Any]: .dictionary(try members.mapValues { try value($0) })
        case let elements as [Any]: .array(try elements.map { try value($0) })
        case let date as Date: .date(date)
        case let data as Data: .data([UInt8](data))
        case let number as NSNumber: value(number)
        default: throw Unexpected()
        }
    }

    private static func value(_ number: NSNumber) -> PropertyListValue {
        switch UInt8(bitPattern: Int8(number.objCType.pointee)) {
        case UInt8(ascii: "B"), UInt8(ascii: "c"): .boolean(number.boolValue)
        case UInt8(ascii: "d"), UInt8(ascii: "f"): .real(number.doubleValue)
        default: .integer(number.intValue)
        }
    }
}
