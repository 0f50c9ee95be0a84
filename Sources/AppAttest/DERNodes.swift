// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import SwiftASN1

/// ASN.1 that is not what was asked for: one sentence without a full stop.
struct ASN1Fault: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}

/// The children of a constructed node, read one after the other.
struct NodeSequence {
    private var iterator: ASN1NodeCollection.Iterator
    private var lookahead: ASN1Node?
    private let name: String

    init(_ node: ASN1Node, _ name: String, tag identifier: ASN1Identifier = .sequence) throws(ASN1Fault) {
        guard node.identifier == identifier, case .constructed(let children) = node.content else {
            throw ASN1Fault("\(name) has another type than it should")
        }
        iterator = children.makeIterator()
        lookahead = iterator.next()
        self.name = name
    }

    /// The next child, whatever it is.
    mutating func next() -> ASN1Node? {
        defer { lookahead = iterator.next() }
        return lookahead
    }

    /// The next child, which must be there.
    mutating func require() throws(ASN1Fault) -> ASN1Node {
        guard let node = next() else { throw ASN1Fault("\(name) ends too early") }
        return node
    }

    /// The next child where it has this tag.
    mutating func optional(_ identifier: ASN1Identifier) -> ASN1Node? {
        lookahead?.identifier == identifier ? next() : nil
    }

    /// The content of the next child, which must be primitive and have this tag.
    mutating func primitive(_ identifier: ASN1Identifier) throws(ASN1Fault) -> ArraySlice<UInt8> {
        let node = try require()
        guard let content = node.primitive(identifier) else {
            throw ASN1Fault("\(name) has a member of another type than it should")
        }
        return content
    }

    /// Fails where a child is left.
    func end() throws(ASN1Fault) {
        guard lookahead == nil else { throw ASN1Fault("\(name) has more members than it should") }
    }
}

extension ASN1Node {
    /// The content of a primitive node with this tag.
    func primitive(_ identifier: ASN1Identifier) -> ArraySlice<UInt8>? {
        guard self.identifier == identifier, case .primitive(let content) = content else { return nil }
        return content
    }

    /// The children of a constructed node.
    var children: ASN1NodeCollection? {
        if case .constructed(let children) = content { children } else { nil }
    }

    /// A time of a certificate, in UTCTime or GeneralizedTime.
    func time() throws(ASN1Fault) -> Date {
        let parts: (year: Int, month: Int, day: Int, hours: Int, minutes: Int, seconds: Int)
        if let time = try? UTCTime(derEncoded: self) {
            parts = (time.year, time.month, time.day, time.hours, time.minutes, time.seconds)
        } else if let time = try? GeneralizedTime(derEncoded: self), time.fractionalSeconds == 0 {
            parts = (time.year, time.month, time.day, time.hours, time.minutes, time.seconds)
        } else {
            throw ASN1Fault("a time cannot be read")
        }
        return Date(
            civilYear: parts.year,
            month: parts.month,
            day: parts.day,
            second: parts.hours * 3600 + parts.minutes * 60 + parts.seconds
        )
    }
}

extension Date {
    /// A moment in UTC of the Gregorian calendar. The parts are in range already.
    init(civilYear year: Int, month: Int, day: Int, second: Int) {
        // Days from 1970-01-01, with years that begin in March, so that the leap day is the last one.
        let shifted = month > 2 ? year : year - 1
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        self.init(timeIntervalSince1970: Double(days * 86_400 + second))
    }
}
