// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// The rules of the linter.
public enum RuleCatalog {
    /// Every rule, in the order of the ids.
    public static let all: [Rule] = [
        ats001, ats002, ats003, ats004, ats005, ats006, ats007, ats008, ats009, ats010,
        ats011, ats012, ats013, ats014, ats015, ats016, ats017, ats018, ats019, ats020,
        ats021, ats022, ats023, ats024, ats025, ats026, ats027, ats028, ats029, ats030,
        ats031, ats032, ats033, ats034, ats035, ats036, ats037, ats038, ats039, ats040,
        ats041, ats042, ats043, ats044, ats045, ats046, ats047, ats048, ats050, ats051, ats052, ats053, ats054, ats055,
        ats056, ats057,
    ]

    /// The rule with an id, in any case of letters.
    public static func rule(_ id: String) -> Rule? {
        let wanted = id.uppercased()
        return all.first { $0.id == wanted }
    }
}
