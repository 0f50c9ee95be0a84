// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// What a ratio has to keep to.
public enum Bound: Sendable {
    case atLeast(Double)
    case atMost(Double)
    /// Reported beside the others; nothing is required.
    case none
}

/// Prints one figure in the form that `Benchmarks/tools/bench` collects into its table, and says whether it keeps to its bound.
@discardableResult
public func figure(_ name: String, _ ratio: Double, _ bound: Bound) -> Bool {
    let (text, holds): (String, Bool) =
        switch bound {
        case .atLeast(let limit): ("at least \(limit)", ratio >= limit)
        case .atMost(let limit): ("at most \(limit)", ratio <= limit)
        case .none: ("-", true)
        }
    let rounded = (ratio * 1000).rounded() / 1000
    print("figure: \(name) | \(rounded) | \(text) | \(holds ? "ok" : "MISSED")")
    return holds
}
