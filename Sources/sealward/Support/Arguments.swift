// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppAttest
public import AppTransportSecurity
public import ArgumentParser
import FoundationEssentials
public import TLSProbe
public import TrustService
public import Vocabulary

// How the values of the libraries are written on the command line.

extension AttestationEnvironment: ExpressibleByArgument {}

extension Loader: ExpressibleByArgument {}

extension LinkedSDK: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }
}

extension Severity: ExpressibleByArgument {}

extension AddressOverride: ExpressibleByArgument {
    public init?(argument: String) {
        guard let override = try? AddressOverride(argument) else { return nil }
        self = override
    }
}

/// Where a command listens or is reached.
extension ListenAddress: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }

    public var defaultValueDescription: String { description }
}

/// An instant given on the command line in RFC 3339, for example `2026-11-21T12:00:00Z`.
///
/// A day, an hour or an offset that does not exist is refused, where Foundation counts on into the next one.
struct Instant: ExpressibleByArgument {
    let date: Date

    init?(argument: String) {
        guard let date = RFC3339.date(argument.utf8) else { return nil }
        self.date = date
    }
}

/// An instant given on the command line in RFC 3339, or a date, which is its midnight in UTC.
struct DayOrInstant: ExpressibleByArgument {
    let date: Date
    let text: String

    init?(argument: String) {
        guard let date = RFC3339.instantOrDay(argument) else { return nil }
        self.date = date
        text = argument
    }
}

/// A length of time given on the command line: `90s`, `15m`, `24h`, `7d`, or seconds as a plain number.
struct DurationOption: ExpressibleByArgument {
    let seconds: UInt32

    init?(argument: String) {
        var digits = Array(argument.utf8)[...]
        let units: [UInt8: UInt32] = [0x73: 1, 0x6D: 60, 0x68: 3600, 0x64: 86_400]
        let unit = digits.last.flatMap { units[$0] }
        if unit != nil { digits.removeLast() }
        guard digits.allSatisfy({ 0x30...0x39 ~= $0 }), let number = UInt32(String(decoding: digits, as: UTF8.self))
        else { return nil }
        let (seconds, isTooLong) = number.multipliedReportingOverflow(by: unit ?? 1)
        if isTooLong { return nil }
        self.seconds = seconds
    }
}

extension ArgumentHelp {
    /// Help with the name of the value.
    static func value(_ words: String, _ name: String) -> ArgumentHelp { ArgumentHelp(words, valueName: name) }
}
