// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import PropertyLists
package import Vocabulary

/// Something in a dictionary that has no effect, or another one than it seems.
package struct Remark: Sendable, Equatable {
    package enum Subject: Sendable, Equatable {
        /// The dictionary itself or one of its global keys.
        case dictionary
        /// The entry of NSExceptionDomains with this key.
        case exception(String)
        /// The entry of NSPinnedDomains with this key.
        case pins(String)
    }

    package let subject: Subject
    package let cause: Cause
    /// Whether it says that a key of 2015 has no effect, which systems of that time contradict.
    package var isAboutLegacyKey = false
}

struct Remarks {
    /// The most remarks of one dictionary.
    private static let limit = 10_000

    private(set) var all: [Remark] = []
    private var isFull = false
    var subject = Remark.Subject.dictionary

    mutating func add(_ code: Code, isAboutLegacyKey: Bool = false, _ message: @autoclosure () -> String) {
        guard all.count < Self.limit else {
            if !isFull {
                subject = .dictionary
                append(.dictionaryMoreRemarks, "Only the first \(Self.limit) remarks are listed.")
            }
            isFull = true
            return
        }
        append(code, message(), isAboutLegacyKey)
    }

    private mutating func append(_ code: Code, _ message: String, _ isAboutLegacyKey: Bool = false) {
        all.append(
            Remark(
                subject: subject,
                cause: Cause(code, message, citation: .security("SecProtocolConfiguration.m"), kind: .note),
                isAboutLegacyKey: isAboutLegacyKey))
    }

    mutating func unknownKeys(_ members: [String: PropertyListValue], known: [String], _ prefix: String = "") {
        for key in members.keys.sorted() where !known.contains(key) {
            // The document of 2016 and the published evaluator contradict each other: both are named.
            let claim =
                prefix.isEmpty && key.hasSameBytes(as: ATSKey.arbitraryLoadsInMedia)
                ? " \(ATSKey.arbitraryLoadsForMedia) had this name until \(ATSKey.arbitraryLoadsInMediaEnd); Apple's document of that time says that on iOS 10 "
                    + "\(ATSKey.arbitraryLoads) does not count beside it, which no published evaluator does." : ""
            add(
                .dictionaryUnknownKey, isAboutLegacyKey: !prefix.isEmpty && LegacyKeys.names.contains(key),
                "The key \(prefix)\(key) is not one that the system reads; it has no effect.\(claim)")
        }
    }

    mutating func flag(_ members: [String: PropertyListValue], _ key: String, _ prefix: String = "") -> Bool? {
        guard let value = members[key] else { return nil }
        guard let flag = value.asAppleBoolean else {
            add(.dictionaryWrongType, "\(prefix)\(key) is \(value.kind), not a boolean: it counts as absent.")
            return nil
        }
        switch value {
        case .integer(let number) where number != 0 && number != 1:
            add(.dictionaryWrongType, "\(prefix)\(key) is the number \(number), which counts as NO: only 1 is YES.")
        case .real(let number) where number != 0 && number != 1:
            add(.dictionaryWrongType, "\(prefix)\(key) is the number \(number), which counts as NO: only 1 is YES.")
        default: break
        }
        return flag
    }

    mutating func version(_ members: [String: PropertyListValue], _ key: String, _ prefix: String) -> TLSVersionName? {
        guard let value = members[key] else { return nil }
        guard case .string(let text) = value else {
            add(.dictionaryWrongType, "\(prefix)\(key) is \(value.kind), not a string: TLSv1.2 stays the minimum.")
            return nil
        }
        guard let version = TLSVersionName(rawValue: text) else {
            add(
                .dictionaryBadValue,
                TLSVersionName.isDatagram(text)
                    ? "\(prefix)\(key): \(TLSVersionName.datagramSentence(text))."
                    : "\(prefix)\(key) is \"\(text)\", not TLSv1.0, TLSv1.1, TLSv1.2 or TLSv1.3: TLSv1.2 stays the minimum."
            )
            return nil
        }
        return version
    }

    mutating func hardening(
        _ members: [String: PropertyListValue], _ key: String, _ prefix: String = ""
    )
        -> HardeningLevel?
    {
        guard let value = members[key] else { return nil }
        guard case .string(let text) = value, let level = HardeningLevel(rawValue: text) else {
            add(.dictionaryBadValue, "\(prefix)\(key) is not none, FCP_v2.1 or recommended; it has no effect.")
            return nil
        }
        return level
    }
}
