// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Vocabulary

/// One key of the configuration as the environment and `docs/configuration.md` know it.
struct ConfigurationEntry: Sendable {
    /// The path from the root, with `[]` after each array of objects: `apps[].ramp.percent`.
    var path: String
    /// Which values it takes: `whole number from 1 to 86400`.
    let meaning: String
    /// Makes the text of an environment variable a value; nil for objects, which have no variable.
    var fromText: (@Sendable (String) -> JSONValue)?
    /// The variable that may contain the secret itself instead of its file.
    var secret: String?
    var isRequired = false
    /// The default in Markdown, or nil.
    let fallback: String?
    let sentence: String

    /// The environment variable that sets it; nil for objects and for what is in arrays of objects.
    var variable: String? {
        fromText == nil || path.contains("[") ? nil : ConfigurationOverrides.variable(for: path)
    }
}

protocol ConfigurationObject {
    /// Hands over every key with the property that has its value, then checks the rules across keys. Keys come in the order of the documentation.
    mutating func visit(_ keys: ConfigurationKeys)
}

/// Visits the keys of one object: to read them from a document, to judge an object that a program made, or to list them.
final class ConfigurationKeys {
    private enum Task {
        case list, judge
        case read([UTF8Key: JSONValue])
    }

    /// A member that no two objects of an array may have in common.
    typealias Unique<Element> = (name: String, value: (Element) -> String, reason: String)

    private let task: Task
    let place: ConfigurationPlace
    /// What was visited, if the keys are listed.
    private var entries: [ConfigurationEntry] = []
    /// Whether the properties have their values, so that rules across keys can be checked: not while keys are listed, or if one that is required
    /// is missing or wrong.
    private(set) var isComplete = true

    private init(_ task: Task, _ place: ConfigurationPlace) { (self.task, self.place) = (task, place) }

    // MARK: - What is done with an object

    /// The keys of an object and of those below it. The object has the defaults.
    static func entries(_ visit: (ConfigurationKeys) -> Void) -> [ConfigurationEntry] {
        let nothing = ConfigurationReading(environment: [:]) { _ throws(UnreadableFile) in [] }
        let keys = ConfigurationKeys(.list, ConfigurationPlace(path: "", reading: nothing))
        keys.isComplete = false
        visit(keys)
        return keys.entries
    }

    /// Notes what is wrong with an object that a program made.
    static func judge(at place: ConfigurationPlace, _ visit: (ConfigurationKeys) -> Void) {
        visit(ConfigurationKeys(.judge, place))
    }

    /// Reads an object; false if a key that is required is missing or wrong.
    static func read(_ json: JSONValue, at place: ConfigurationPlace, _ visit: (ConfigurationKeys) -> Void) -> Bool {
        guard let members = json.members else {
            place.wrong(place.path.isEmpty ? ConfigurationReader.shape : "must be an object")
            return false
        }
        let names = entries(visit).map(\.path).filter { !$0.contains(".") }
        let known = Set(names.map { UTF8Key($0) })
        var values: [UTF8Key: JSONValue] = [:]
        for member in members {
            let name = UTF8Key(member.name)
            if !known.contains(name) {
                place.member(member.name).wrong(
                    "is not a known key; the keys here are \(names.sorted().joined(separator: ", "))")
            } else if values.updateValue(member.value, forKey: name) != nil {
                place.member(member.name).wrong("is given twice; remove one of them")
            }
        }
        let keys = ConfigurationKeys(.read(values), place)
        visit(keys)
        return keys.isComplete
    }

    /// The objects of an array that are complete; nil for something else.
    static func elements<Element: ConfigurationObject>(
        _ json: JSONValue, at place: ConfigurationPlace, _ blank: Element, _ unique: [Unique<Element>]
    ) -> [Element]? {
        guard case .array(let elements) = json else {
            place.wrong("must be an array")
            return nil
        }
        var seen = Set<[String]>()
        return elements.enumerated().compactMap { index, json in
            var element = blank
            guard read(json, at: place.element(index), { element.visit($0) }) else { return nil }
            noteTwins(of: element, unique, &seen, place.element(index))
            return element
        }
    }

    /// Notes what is wrong with the objects of an array that a program made.
    static func judge<Element: ConfigurationObject>(
        _ elements: [Element], at place: ConfigurationPlace, _ unique: [Unique<Element>]
    ) {
        var seen = Set<[String]>()
        for (index, element) in elements.enumerated() {
            var copy = element
            judge(at: place.element(index)) { copy.visit($0) }
            noteTwins(of: element, unique, &seen, place.element(index))
        }
    }

    private static func noteTwins<Element>(
        of element: Element, _ unique: [Unique<Element>], _ seen: inout Set<[String]>, _ place: ConfigurationPlace
    ) {
        for rule in unique where !seen.insert([rule.name, rule.value(element)]).inserted {
            place.member(rule.name).wrong(rule.reason)
        }
    }

    // MARK: - Keys

    /// A key whose default is what its property has.
    func callAsFunction<Value>(
        _ name: String, _ target: inout Value, _ kind: ConfigurationKind<Value>, isRequired: Bool = false,
        otherwise: String? = nil, _ sentence: String
    ) {
        var value: Value? = target
        self(
            name, &value, kind, isRequired: isRequired, otherwise: otherwise ?? kind.show(target).map { "`\($0)`" },
            sentence)
        if let value { target = value }
    }

    /// A key that may be left out.
    ///
    /// - Parameter otherwise: the default in Markdown.
    func callAsFunction<Value>(
        _ name: String, _ target: inout Value?, _ kind: ConfigurationKind<Value>, isRequired: Bool = false,
        otherwise: String? = nil, _ sentence: String
    ) {
        switch task {
        case .list:
            entries.append(
                ConfigurationEntry(
                    path: name, meaning: kind.meaning, fromText: kind.fromText, secret: kind.secret?.variable,
                    isRequired: isRequired, fallback: otherwise, sentence: sentence))
        case .judge: if let target { kind.judge(target, place.member(name)) }
        case .read(let values):
            let (place, value) = (place.member(name), ConfigurationKeys.given(name, values))
            var result: Value?
            if let secret = kind.secret, let text = place.reading.environment[secret.variable], !text.isEmpty {
                result = secret.read(text, ConfigurationPlace(path: secret.variable, reading: place.reading))
            } else if let value {
                result = kind.read(value, place)
            } else if isRequired {
                place.wrong("is missing")
            }
            if let result { target = result } else if isRequired { isComplete = false }
        }
    }

    /// An object that is always there.
    func object(_ name: String, _ sentence: String, _ visit: (ConfigurationKeys) -> Void) {
        _ = nested(name, isSet: true, nil, sentence, visit)
    }

    /// An object that may be left out.
    func object<Object: ConfigurationObject>(
        _ name: String, _ target: inout Object?, _ blank: Object, otherwise: String? = nil, _ sentence: String
    ) {
        var object = target ?? blank
        if nested(name, isSet: target != nil, otherwise, sentence, { object.visit($0) }) { target = object }
    }

    /// Whether an object was read, and is complete.
    private func nested(
        _ name: String, isSet: Bool, _ fallback: String?, _ sentence: String, _ visit: (ConfigurationKeys) -> Void
    ) -> Bool {
        switch task {
        case .list: list(name, "object", fallback, sentence, below: ".", visit)
        case .judge: if isSet { visit(ConfigurationKeys(.judge, place.member(name))) }
        case .read(let values):
            guard let value = ConfigurationKeys.given(name, values) else { return false }
            return ConfigurationKeys.read(value, at: place.member(name), visit)
        }
        return false
    }

    func objects<Element: ConfigurationObject>(
        _ name: String, _ target: inout [Element], _ blank: Element, unique: [Unique<Element>], _ sentence: String
    ) {
        switch task {
        case .list:
            var blank = blank
            list(name, "array of objects", nil, sentence, below: "[].") { blank.visit($0) }
        case .judge: ConfigurationKeys.judge(target, at: place.member(name), unique)
        case .read(let values):
            guard let value = ConfigurationKeys.given(name, values) else { return }
            target = ConfigurationKeys.elements(value, at: place.member(name), blank, unique) ?? target
        }
    }

    private func list(
        _ name: String, _ meaning: String, _ fallback: String?, _ sentence: String, below mark: String,
        _ visit: (ConfigurationKeys) -> Void
    ) {
        entries.append(ConfigurationEntry(path: name, meaning: meaning, fallback: fallback, sentence: sentence))
        for var child in ConfigurationKeys.entries(visit) {
            child.path = name + mark + child.path
            entries.append(child)
        }
    }

    private static func given(_ name: String, _ values: [UTF8Key: JSONValue]) -> JSONValue? {
        values[UTF8Key(name)].flatMap { $0 == .null ? nil : $0 }
    }
}
