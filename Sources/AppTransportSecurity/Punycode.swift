// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The ASCII form of a label of another script: RFC 3492, with the parameters of RFC 5891.
enum Punycode {
    /// `xn--` and the encoded label; nil where the label has over 63 scalars or over 1024 bytes, or a number overflows.
    static func ascii(_ label: some StringProtocol) -> String? {
        // Composing sorts combining marks, which takes quadratic time in a run of them.
        guard label.utf8.count <= 1024 else { return nil }
        let scalars = label.precomposedStringWithCanonicalMapping.unicodeScalars.map(\.value)
        guard scalars.count <= 63 else { return nil }
        var output = scalars.filter { $0 < 0x80 }
        var handled = output.count
        let basic = handled
        if basic > 0 { output.append(0x2D) }
        var bias: UInt32 = 72
        var delta: UInt32 = 0
        var next: UInt32 = 0x80
        while handled < scalars.count {
            guard let smallest = scalars.filter({ $0 >= next }).min() else { return nil }
            let (step, overflow) = (smallest - next).multipliedReportingOverflow(by: UInt32(handled + 1))
            guard !overflow, delta <= UInt32.max - step else { return nil }
            delta += step
            next = smallest
            for scalar in scalars {
                if scalar < next { delta &+= 1 }
                guard scalar == next else { continue }
                output += digits(delta, bias)
                bias = adapted(delta, UInt32(handled + 1), isFirst: handled == basic)
                delta = 0
                handled += 1
            }
            delta &+= 1
            next += 1
        }
        return "xn--" + String(String.UnicodeScalarView(output.compactMap(Unicode.Scalar.init)))
    }

    /// A generalized variable-length integer, RFC 3492 3.3.
    private static func digits(_ delta: UInt32, _ bias: UInt32) -> [UInt32] {
        var output: [UInt32] = []
        var rest = delta
        var position: UInt32 = 36
        while true {
            let threshold = position <= bias ? 1 : min(26, position - bias)
            if rest < threshold { break }
            output.append(digit(threshold + (rest - threshold) % (36 - threshold)))
            rest = (rest - threshold) / (36 - threshold)
            position += 36
        }
        return output + [digit(rest)]
    }

    private static func digit(_ value: UInt32) -> UInt32 { value < 26 ? value + 0x61 : value - 26 + 0x30 }

    private static func adapted(_ delta: UInt32, _ count: UInt32, isFirst: Bool) -> UInt32 {
        var delta = isFirst ? delta / 700 : delta / 2
        delta += delta / count
        var bias: UInt32 = 0
        while delta > 455 {
            delta /= 35
            bias += 36
        }
        return bias + 36 * delta / (delta + 38)
    }
}
