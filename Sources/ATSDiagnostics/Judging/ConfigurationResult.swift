// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppTransportSecurity
public import Vocabulary

/// How one configuration ended for one target.
public struct ConfigurationResult: Sendable {
    /// PASS and FAIL are nscurl's words; UNDETERMINED says that no TLS conversation was completed or no HTTP answer came.
    public enum Result: String, Sendable {
        /// The load succeeds.
        case pass = "PASS"
        /// The load fails.
        case fail = "FAIL"
        /// The server could not be asked.
        case undetermined = "UNDETERMINED"
    }

    /// What was judged.
    public let configuration: DiagnosticConfiguration
    /// The SDK that the app is linked on, as far as this row is concerned; nil for `published`.
    public let sdk: LinkedSDK?
    /// How it went.
    public let result: Result
    /// What an app would get; nil if the load completed.
    public let error: URLLoadError?
    /// What the console of the system shows for the error, as far as a source has it.
    public let console: [ConsoleLine]
    /// Why it did not pass, first cause first; empty if it did.
    public let because: [Cause]
    /// What else was noticed; never a verdict.
    public let notes: [Cause]
}
