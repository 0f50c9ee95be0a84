// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats

/// What another verifier said about one object.
struct VerifierAnswer: Sendable {
    enum Verdict: String, Sendable {
        case accepted, refused
        /// The verifier does not judge such objects.
        case unsupported
        /// No answer, one that cannot be read, or a failure that the verifier does not call a refusal.
        case crashed
        case tooSlow = "too-slow"
    }

    let verdict: Verdict
    /// Its own words, or ours where it had none.
    let words: String
    /// Whether the verifier's line has a verdict, known or not.
    private(set) var isItsOwn = false

    init(_ verdict: Verdict, _ words: String) {
        self.verdict = verdict
        self.words = words
    }

    /// Reads one line of JSON; what is none is `crashed`, and not its own.
    init(reading line: [UInt8]) {
        var limits = JSONReader.Limits.outside
        limits.depth = 8
        guard let answer = try? JSONReader.read(line, limits: limits), let text = answer.member("verdict")?.text else {
            self.init(.crashed, "the answer is not JSON with a verdict")
            return
        }
        let words = answer.member("reason")?.text ?? ""
        switch Verdict(rawValue: text) {
        case .tooSlow?, nil: self.init(.crashed, "the verdict is '\(text)'")
        case let verdict?: self.init(verdict, words)
        }
        isItsOwn = true
    }
}
