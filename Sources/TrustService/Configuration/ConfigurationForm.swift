// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Vocabulary

/// A kind of value: which values there are, how one is read from JSON, and how it is shown.
struct ConfigurationForm<Value>: Sendable {
    /// The values, for the documentation: `whole number from 1 to 86400`.
    let meaning: String
    /// Makes the text of an environment variable a value; nil for objects.
    var fromText: (@Sendable (String) -> JSONValue)? = { .string($0) }
    /// The keys of the objects, with paths below this value.
    var entries: [ConfigurationEntry] = []
    var isArray = false
    /// Notes what is wrong with a value that a program made.
    var judge: @Sendable (Value, ConfigurationPlace) -> Void = { _, _ in }
    /// A default as the documentation shows it; nil for nothing.
    let show: @Sendable (Value) -> String?
    /// The value, or nil after its fault has been noted.
    let read: @Sendable (JSONValue, ConfigurationPlace) -> Value?
}

extension ConfigurationForm {
    /// A text that is more than text.
    ///
    /// - Parameters:
    ///   - reason: what it must be.
    ///   - parse: nil if the text is not such a value.
    static func text(
        _ meaning: String, _ reason: String, show: @escaping @Sendable (Value) -> String? = { "\($0)" },
        _ parse: @escaping @Sendable (String) -> Value?
    ) -> Self {
        Self(
            meaning: meaning,
            judge: { value, place in
                if let text = value as? String, parse(text) == nil { place.wrong(reason) }
            },
            show: show
        ) { json, place in
            guard let text = ConfigurationForm<String>.string.read(json, place) else { return nil }
            guard let value = parse(text) else {
                place.wrong(reason)
                return nil
            }
            return value
        }
    }

    /// The path of a file, whose text is read with it.
    ///
    /// - Parameter parse: is given the path, the text and the place, at which it notes what is wrong.
    static func file(
        _ meaning: String, _ parse: @escaping @Sendable (String, String, ConfigurationPlace) -> Value?
    ) -> Self {
        Self(meaning: "path of \(meaning)", show: { _ in nil }) { json, place in
            guard let path = ConfigurationForm<String>.string.read(json, place),
                let text = place.contents(ofFile: path)
            else { return nil }
            return parse(path, text, place)
        }
    }

    /// An object with a table of its own.
    static func object(_ table: ConfigurationTable<Value>) -> Self where Value: Sendable {
        Self(
            meaning: "object", fromText: nil, entries: table.entries, judge: { table.judge($0, at: $1) },
            show: { _ in nil }
        ) { table.read($0, at: $1) }
    }

    /// The same JSON, made into another value; `change` notes what is wrong.
    func map<Other>(
        show: @escaping @Sendable (Other) -> String? = { _ in nil },
        _ change: @escaping @Sendable (Value, ConfigurationPlace) -> Other?
    ) -> ConfigurationForm<Other> {
        ConfigurationForm<Other>(meaning: meaning, fromText: fromText, entries: entries, isArray: isArray, show: show) {
            json, place in read(json, place).flatMap { change($0, place) }
        }
    }

    /// An array.
    ///
    /// - Parameter emptiness: what is wrong with an empty one; nil if it is allowed.
    static func array<Element>(
        of form: ConfigurationForm<Element>, ifEmpty emptiness: String? = nil,
        unique: [ConfigurationForm<Element>.Uniqueness] = []
    ) -> Self where Value == [Element] {
        let fromText = form.fromText.map { make in
            { @Sendable (text: String) -> JSONValue in
                .array(text.utf8.split(separator: UInt8(ascii: ",")).map { make(String(Substring($0))) })
            }
        }
        return Self(
            meaning: form.fromText == nil ? "array of objects" : "array, each element: \(form.meaning)",
            fromText: fromText,
            entries: form.entries,
            isArray: true,
            judge: { values, place in
                if values.isEmpty, let emptiness { place.wrong(emptiness) }
                var seen = Set<[String]>()
                for (index, value) in values.enumerated() {
                    form.judge(value, place.element(index))
                    Self.noteTwins(of: value, unique, &seen, place.element(index))
                }
            },
            show: { $0.isEmpty ? nil : $0.compactMap(form.show).joined(separator: ", ") }
        ) { json, place in
            guard case .array(let elements) = json else {
                place.wrong("must be an array")
                return nil
            }
            if elements.isEmpty, let emptiness { place.wrong(emptiness) }
            var seen = Set<[String]>()
            return elements.enumerated().compactMap { index, element in
                let place = place.element(index)
                guard let value = form.read(element, place) else { return nil }
                Self.noteTwins(of: value, unique, &seen, place)
                return value
            }
        }
    }

    /// Notes the members that an element has in common with one before it, though it must not.
    private static func noteTwins<Element>(
        of value: Element, _ unique: [ConfigurationForm<Element>.Uniqueness], _ seen: inout Set<[String]>,
        _ place: ConfigurationPlace
    ) {
        for rule in unique where !seen.insert([rule.name, rule.value(value)]).inserted {
            place.member(rule.name).wrong(rule.reason)
        }
    }

    /// A member that no two elements of an array may have in common.
    struct Uniqueness: Sendable {
        let name: String
        let value: @Sendable (Value) -> String
        let reason: String
    }
}

extension ConfigurationForm where Value: RawRepresentable & CaseIterable & Sendable, Value.RawValue == String {
    /// One of a few words.
    static var choice: Self {
        let words = Value.allCases.map(\.rawValue).joined(separator: ", ")
        return Self(meaning: "one of \(words)", show: { $0.rawValue }) { json, place in
            if let value = json.text.flatMap({ Value(rawValue: $0) }) { return value }
            place.wrong("must be one of \(words)")
            return nil
        }
    }
}

extension ConfigurationForm<String> {
    /// Any text but the empty one.
    static var string: Self {
        let reason = "must be a string that is not empty"
        return Self(meaning: "string", judge: { if $0.isEmpty { $1.wrong(reason) } }, show: { $0.isEmpty ? nil : $0 }) {
            json, place in
            if let text = json.text, !text.isEmpty { return text }
            place.wrong(reason)
            return nil
        }
    }
}

extension ConfigurationForm<Int> {
    static func integer(_ range: ClosedRange<Int>) -> Self {
        let meaning = "whole number from \(range.lowerBound) to \(range.upperBound)"
        return Self(
            meaning: meaning, fromText: { Int($0).map(JSONValue.integer) ?? .string($0) },
            judge: { if !range.contains($0) { $1.wrong("must be a \(meaning)") } }, show: { "\($0)" }
        ) { json, place in
            if case .integer(let number) = json, range.contains(number) { return number }
            place.wrong("must be a \(meaning)")
            return nil
        }
    }
}

extension ConfigurationForm<Double> {
    /// Without a fraction that is zero.
    private static func text(_ number: Double) -> String { Int(exactly: number).map { "\($0)" } ?? "\(number)" }

    static func number(_ range: ClosedRange<Double>) -> Self {
        let meaning = "number from \(text(range.lowerBound)) to \(text(range.upperBound))"
        return Self(
            meaning: meaning, fromText: { Double($0).map(JSONValue.number) ?? .string($0) },
            judge: { if !range.contains($0) { $1.wrong("must be a \(meaning)") } }, show: { "\($0)" }
        ) { json, place in
            switch json {
            case .integer(let whole) where range.contains(Double(whole)): return Double(whole)
            case .number(let number) where range.contains(number): return number
            default:
                place.wrong("must be a \(meaning)")
                return nil
            }
        }
    }
}

extension ConfigurationForm<Bool> {
    static var flag: Self {
        Self(meaning: "true or false", fromText: { Bool($0).map(JSONValue.bool) ?? .string($0) }, show: { "\($0)" }) {
            json,
            place in
            if case .bool(let flag) = json { return flag }
            place.wrong("must be true or false")
            return nil
        }
    }
}

extension ConfigurationForm<Duration> {
    /// Whole seconds.
    static func seconds(_ range: ClosedRange<Int>) -> Self {
        let seconds = ConfigurationForm<Int>.integer(range)
        var form = seconds.map(show: { "\($0.components.seconds)" }) { number, _ in Duration.seconds(number) }
        form.judge = { duration, place in
            let whole = duration.components.attoseconds == 0 ? Int(exactly: duration.components.seconds) : nil
            // A fraction is as wrong as what is out of range.
            seconds.judge(whole ?? range.lowerBound - 1, place)
        }
        return form
    }
}
