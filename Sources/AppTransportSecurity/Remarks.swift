// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings

/// Collects what a dictionary holds that has no effect, while it is read.
struct Remarks {
    private(set) var causes: [Cause] = []

    mutating func add(_ code: Code, _ message: String) {
        causes.append(Cause(code, message, citation: .security("SecProtocolConfiguration.m")))
    }

    mutating func flag(_ members: [String: PropertyListValue], _ key: String, _ prefix: String = "")
        -> ATSDictionary.Flag
    {
        guard let value = members[key] else { return .absent }
        guard let flag = value.asAppleBoolean else {
            add("ats.dictionary.wrong-type", "\(prefix)\(key) is \(value.kind), not a boolean: it counts as absent.")
            return .wrongType(value.kind)
        }
        switch value {
        case .integer(let number) where number != 0 && number != 1:
            add(
                "ats.dictionary.wrong-type",
                "\(prefix)\(key) is the number \(number), which counts as NO: only 1 is YES."
            )
        case .real(let number) where number != 0 && number != 1:
            add(
                "ats.dictionary.wrong-type",
                "\(prefix)\(key) is the number \(number), which counts as NO: only 1 is YES."
            )
        default: break
        }
        return .value(flag)
    }

    mutating func version(_ members: [String: PropertyListValue], _ key: String, _ prefix: String) -> TLSVersionName? {
        guard let value = members[key] else { return nil }
        guard case .string(let text) = value else {
            add(
                "ats.dictionary.wrong-type",
                "\(prefix)\(key) is \(value.kind), not a string: TLSv1.2 stays the minimum."
            )
            return nil
        }
        guard let version = TLSVersionName(rawValue: text) else {
            add(
                "ats.dictionary.bad-value",
                "\(prefix)\(key) is \"\(text)\", which is none of TLSv1.0, TLSv1.1, TLSv1.2, TLSv1.3: TLSv1.2 stays the minimum."
            )
            return nil
        }
        return version
    }

    mutating func hardening(_ members: [String: PropertyListValue], _ key: String, _ prefix: String = "")
        -> HardeningLevel?
    {
        guard let value = members[key] else { return nil }
        guard case .string(let text) = value, let level = HardeningLevel(rawValue: text) else {
            add("ats.dictionary.bad-value", "\(prefix)\(key) is none of none, FCP_v2.1, recommended: it has no effect.")
            return nil
        }
        return level
    }
}
