// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats

/// A kind of value: which values there are, how one is read from JSON, and how it is shown.
struct ConfigurationKind<Value> {
    /// The values, for the documentation: `whole number from 1 to 86400`.
    let meaning: String
    /// Makes the text of an environment variable a value.
    var fromText: @Sendable (String) -> JSONValue = { .string($0) }
    /// The variable that may contain the value itself instead of the file that the key names.
    var secret: (variable: String, read: (String, ConfigurationPlace) -> Value?)?
    /// Notes what is wrong with a value that a program made.
    var judge: (Value, ConfigurationPlace) -> Void = { _, _ in }
    /// A default as the documentation shows it; nil for nothing.
    var show: (Value) -> String? = { _ in nil }
    /// The value, or nil after its fault has been noted.
    let read: (JSONValue, ConfigurationPlace) -> Value?
}

extension ConfigurationKind {
    /// A value that JSON has as it is.
    ///
    /// - Parameters:
    ///   - reason: what it must be; nil if that is its meaning.
    ///   - isGood: whether a value is one of the kind.
    fileprivate static func plain(
        _ meaning: String, _ reason: String? = nil,
        fromText: @escaping @Sendable (String) -> JSONValue = { .string($0) },
        show: @escaping (Value) -> String? = { "\($0)" }, isGood: @escaping (Value) -> Bool = { _ in true },
        _ parse: @escaping (JSONValue) -> Value?
    ) -> Self {
        let reason = reason ?? "must be \(meaning)"
        return Self(
            meaning: meaning, fromText: fromText, judge: { if !isGood($0) { $1.wrong(reason) } }, show: show
        ) { json, place in
            if let value = parse(json), isGood(value) { return value }
            place.wrong(reason)
            return nil
        }
    }

    /// A text that is more than text.
    ///
    /// - Parameters:
    ///   - reason: what it must be.
    ///   - parse: nil if the text is not such a value.
    static func text(
        _ meaning: String, _ reason: String? = nil, show: @escaping (Value) -> String? = { "\($0)" },
        _ parse: @escaping (String) -> Value?
    ) -> Self {
        let reason = reason ?? "must be \(meaning)"
        return Self(
            meaning: meaning,
            judge: { if let text = $0 as? String, parse(text) == nil { $1.wrong(reason) } }, show: show
        ) { json, place in
            guard let text = ConfigurationKind<String>.string.read(json, place) else { return nil }
            let value = parse(text)
            if value == nil { place.wrong(reason) }
            return value
        }
    }

    /// The path of a file, whose text is read with it.
    ///
    /// - Parameters:
    ///   - fault: what is wrong with a value, also with one that a program made; nil if nothing is.
    ///   - parse: makes the path and the text a value.
    static func file(
        _ meaning: String, fault: @escaping (Value) -> String? = { _ in nil },
        _ parse: @escaping (String, String) throws(UnreadableFile) -> Value
    ) -> Self {
        Self(meaning: "path of \(meaning)", judge: { if let fault = fault($0) { $1.wrong(fault) } }) { json, place in
            guard let path = ConfigurationKind<String>.string.read(json, place),
                let text = place.contents(ofFile: path)
            else { return nil }
            do throws(UnreadableFile) {
                let value = try parse(path, text)
                if let fault = fault(value) { throw UnreadableFile(reason: fault) }
                return value
            } catch {
                place.wrong("\(path): \(error.reason)")
                return nil
            }
        }
    }

    /// The path of a file with a JSON array of objects.
    ///
    /// - Parameter reason: what the file must be.
    static func list<Element: ConfigurationObject>(
        _ blank: Element, in meaning: String, _ reason: String, unique: [ConfigurationKeys.Unique<Element>]
    ) -> Self where Value == [Element] {
        Self(meaning: "path of \(meaning)", judge: { ConfigurationKeys.judge($0, at: $1, unique) }) { json, place in
            guard let path = ConfigurationKind<String>.string.read(json, place),
                let text = place.contents(ofFile: path)
            else { return nil }
            guard let document = try? JSONReader.read(Array(text.utf8)), case .array = document else {
                place.wrong("\(path): \(reason)")
                return nil
            }
            return ConfigurationKeys.elements(document, at: place, blank, unique)
        }
    }

    /// An array.
    ///
    /// - Parameter emptiness: what is wrong with an empty one; nil if it is allowed.
    static func array<Element>(of kind: ConfigurationKind<Element>, ifEmpty emptiness: String? = nil) -> Self
    where Value == [Element] {
        let fromText = kind.fromText
        return Self(
            meaning: "array, each element: \(kind.meaning)",
            fromText: { .array($0.utf8.split(separator: UInt8(ascii: ",")).map { fromText(String(Substring($0))) }) },
            judge: { values, place in
                if values.isEmpty, let emptiness { place.wrong(emptiness) }
                for (index, value) in values.enumerated() { kind.judge(value, place.element(index)) }
            },
            show: { $0.isEmpty ? nil : $0.compactMap(kind.show).joined(separator: ", ") }
        ) { json, place in
            guard case .array(let elements) = json else {
                place.wrong("must be an array")
                return nil
            }
            if elements.isEmpty, let emptiness { place.wrong(emptiness) }
            return elements.enumerated().compactMap { kind.read($1, place.element($0)) }
        }
    }
}

extension ConfigurationKind where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    static var choice: Self {
        let words = Value.allCases.map(\.rawValue).joined(separator: ", ")
        return plain("one of \(words)", show: \.rawValue) { $0.text.flatMap { Value(rawValue: $0) } }
    }
}

extension ConfigurationKind<String> {
    /// Any text but the empty one.
    static var string: Self {
        plain(
            "string", "must be a string that is not empty", show: { $0.isEmpty ? nil : $0 }, isGood: { !$0.isEmpty },
            \.text)
    }
}

extension ConfigurationKind<Int> {
    static func integer(_ range: ClosedRange<Int>) -> Self {
        let meaning = "whole number from \(range.lowerBound) to \(range.upperBound)"
        return plain(
            meaning, "must be a \(meaning)", fromText: { Int($0).map(JSONValue.integer) ?? .string($0) },
            isGood: range.contains, \.integer)
    }
}

extension ConfigurationKind<Double> {
    /// Without a fraction that is zero.
    private static func text(_ number: Double) -> String { Int(exactly: number).map { "\($0)" } ?? "\(number)" }

    static func number(_ range: ClosedRange<Double>) -> Self {
        let meaning = "number from \(text(range.lowerBound)) to \(text(range.upperBound))"
        return plain(
            meaning, "must be a \(meaning)", fromText: { Double($0).map(JSONValue.number) ?? .string($0) },
            isGood: range.contains
        ) { json in
            switch json {
            case .integer(let whole): Double(whole)
            case .number(let number): number
            default: nil
            }
        }
    }
}

extension ConfigurationKind<Bool> {
    static var flag: Self {
        plain("true or false", fromText: { Bool($0).map(JSONValue.bool) ?? .string($0) }) { json in
            if case .bool(let flag) = json { flag } else { nil }
        }
    }

    static var onOff: Self {
        plain("one of on, off", show: { $0 ? "on" : "off" }) { $0.text.flatMap { ["on": true, "off": false][$0] } }
    }
}

extension ConfigurationKind<Duration> {
    static func seconds(_ range: ClosedRange<Int>) -> Self {
        let seconds = ConfigurationKind<Int>.integer(range)
        return plain(
            seconds.meaning, "must be a \(seconds.meaning)", fromText: seconds.fromText,
            show: { "\($0.components.seconds)" },
            isGood: { $0.components.attoseconds == 0 && range.contains(Int(exactly: $0.components.seconds) ?? -1) }
        ) { $0.integer.flatMap { range.contains($0) ? .seconds($0) : nil } }
    }
}
