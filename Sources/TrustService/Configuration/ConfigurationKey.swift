// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Vocabulary

/// What is known of one key, for the environment and for `docs/configuration.md`.
struct ConfigurationEntry: Sendable {
    /// The path from the root, `[]` behind every array of objects: `apps[].ramp.percent`.
    var path: String
    /// Which values it takes: `whole number from 1 to 86400`.
    let meaning: String
    /// Makes the text of an environment variable a value; nil for objects, which have no variable.
    let fromText: (@Sendable (String) -> JSONValue)?
    /// The variable that may hold the secret itself instead of its file.
    let secret: String?
    var isRequired = false
    /// The default in Markdown, or nil.
    var fallback: String?
    /// What the key does, in one sentence.
    var sentence = ""

    /// The environment variable that sets it; nil for objects and for what is in arrays of objects.
    var variable: String? {
        fromText == nil || path.contains("[") ? nil : ConfigurationOverrides.variable(for: path)
    }
}

/// One key of an object of the configuration: its name, its values, its default, where the value goes, and what it means.
struct ConfigurationKey<Object: Sendable>: Sendable {
    /// A variable of the environment that holds the value itself instead of the file that the key names.
    struct Secret<Value>: Sendable {
        let variable: String
        let read: @Sendable (String, ConfigurationPlace) -> Value?
    }

    private var entry: ConfigurationEntry
    private let below: [ConfigurationEntry]
    /// The default of an object as the documentation shows it.
    private let fallback: @Sendable (Object) -> String?
    /// Reads the value into the object; nil if there is none, false if it is wrong.
    private let take: @Sendable (JSONValue?, ConfigurationPlace, inout Object) -> Bool?
    /// Notes what is wrong with the value in an object that a program made.
    let judge: @Sendable (Object, ConfigurationPlace) -> Void

    var name: String { entry.path }
    var isRequired: Bool { entry.isRequired }

    /// A key whose value goes where `store` puts it.
    init<Value>(
        _ name: String, _ form: ConfigurationForm<Value>, secret: Secret<Value>? = nil,
        fallback: @escaping @Sendable (Object) -> String? = { _ in nil },
        judge: @escaping @Sendable (Object, ConfigurationPlace) -> Void = { _, _ in },
        store: @escaping @Sendable (Value, inout Object) -> Void
    ) {
        entry = ConfigurationEntry(path: name, meaning: form.meaning, fromText: form.fromText, secret: secret?.variable)
        below = form.entries.map { child in
            var child = child
            child.path = "\(name)\(form.isArray ? "[]" : "").\(child.path)"
            return child
        }
        self.fallback = fallback
        self.judge = judge
        take = { json, place, object in
            let value: Value?
            if let secret, let text = place.reading.environment[secret.variable], !text.isEmpty {
                value = secret.read(text, ConfigurationPlace(path: secret.variable, reading: place.reading))
            } else if let json, json != .null {
                value = form.read(json, place)
            } else {
                return nil
            }
            if let value { store(value, &object) }
            return value != nil
        }
    }

    /// A key whose default is what the property of a new object has.
    init<Value>(
        _ name: String, _ form: ConfigurationForm<Value>, _ target: any WritableKeyPath<Object, Value> & Sendable
    ) {
        self.init(
            name, form, fallback: { form.show($0[keyPath: target]) }, judge: { form.judge($0[keyPath: target], $1) }
        ) { $1[keyPath: target] = $0 }
    }

    /// A key that may be left out.
    init<Value>(
        _ name: String, _ form: ConfigurationForm<Value>, _ target: any WritableKeyPath<Object, Value?> & Sendable,
        secret: Secret<Value>? = nil
    ) {
        let judge: @Sendable (Object, ConfigurationPlace) -> Void = { object, place in
            if let value = object[keyPath: target] { form.judge(value, place) }
        }
        self.init(name, form, secret: secret, judge: judge) { $1[keyPath: target] = $0 }
    }

    /// The key with the sentence that says what it does.
    func means(_ sentence: String) -> Self { with { $0.sentence = sentence } }

    /// The key with what counts if it is left out.
    func otherwise(_ fallback: String) -> Self { with { $0.fallback = fallback } }

    /// The key, which may not be left out.
    func required() -> Self { with { $0.isRequired = true } }

    private func with(_ change: (inout ConfigurationEntry) -> Void) -> Self {
        var key = self
        change(&key.entry)
        return key
    }

    /// What is known of the key and of those below it, given the object that holds the defaults.
    func entries(_ blank: Object) -> [ConfigurationEntry] {
        [with { $0.fallback = $0.fallback ?? fallback(blank).map { "`\($0)`" } }.entry] + below
    }

    /// Reads the value into the object; false if it is wrong, or missing though required.
    func read(_ json: JSONValue?, at place: ConfigurationPlace, into object: inout Object) -> Bool {
        if let isRead = take(json, place, &object) { return isRead }
        if isRequired { place.wrong("is missing") }
        return !isRequired
    }
}

/// Lists keys, each checked by itself.
@resultBuilder enum ConfigurationKeys<Object: Sendable> {
    static func buildExpression(_ key: ConfigurationKey<Object>) -> ConfigurationKey<Object> { key }
    static func buildBlock(_ keys: ConfigurationKey<Object>...) -> [ConfigurationKey<Object>] { keys }
}

/// The keys of one kind of object, and the rules across them.
struct ConfigurationTable<Object: Sendable>: Sendable {
    private let blank: Object
    private let keys: [ConfigurationKey<Object>]
    private let finish: @Sendable (inout Object, ConfigurationPlace) -> Void

    /// Describes an object.
    ///
    /// - Parameters:
    ///   - blank: holds the defaults.
    ///   - keys: every key, in the order of the documentation.
    ///   - finish: judges and completes what has been read, key by key.
    init(
        _ blank: Object, @ConfigurationKeys<Object> keys: () -> [ConfigurationKey<Object>],
        finish: @escaping @Sendable (inout Object, ConfigurationPlace) -> Void = { _, _ in }
    ) {
        self.blank = blank
        self.keys = keys()
        self.finish = finish
    }

    var entries: [ConfigurationEntry] { keys.flatMap { $0.entries(blank) } }

    /// Reads an object; nil if a key that is required is missing or wrong.
    func read(_ value: JSONValue, at place: ConfigurationPlace) -> Object? {
        guard let members = value.members else {
            place.wrong(place.path.isEmpty ? ConfigurationReader.shape : "must be an object")
            return nil
        }
        let known = Set(keys.map { UTF8Key($0.name) })
        var values: [UTF8Key: JSONValue] = [:]
        for member in members {
            let name = UTF8Key(member.name)
            if !known.contains(name) {
                let names = keys.map(\.name).sorted().joined(separator: ", ")
                place.member(member.name).wrong("is not a known key; the keys here are \(names)")
            } else if values.updateValue(member.value, forKey: name) != nil {
                place.member(member.name).wrong("is given twice; remove one of them")
            }
        }
        var object = blank
        var isComplete = true
        for key in keys {
            let isRead = key.read(values[UTF8Key(key.name)], at: place.member(key.name), into: &object)
            if key.isRequired, !isRead { isComplete = false }
        }
        guard isComplete else { return nil }
        finish(&object, place)
        return object
    }

    /// Notes what is wrong with an object that a program made.
    func judge(_ object: Object, at place: ConfigurationPlace) {
        for key in keys { key.judge(object, place.member(key.name)) }
        var object = object
        finish(&object, place)
    }
}
