// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

/// The text of `nscurl --ats-diagnostics`, as the stored outputs of the real tool have it.
///
/// What could not be determined is FAIL here, as nscurl has no third word, below a line that says so.
package enum NSCurlText {
    /// What `nscurl --ats-diagnostics` prints for one target.
    package static func render(_ report: TargetReport, url: String, verbose: Bool) -> String {
        var text = """
            Starting ATS Diagnostics

            Configuring ATS Info.plist keys and displaying the result of HTTPS loads to \(url).
            A test will "PASS" if URLSession:task:didCompleteWithError: returns a nil error.

            """
        if !verbose {
            text += "Use '--verbose' to view the ATS dictionaries used and to display the error received in "
            text += "URLSession:task:didCompleteWithError:.\n"
        }
        text += rule
        var section: String?
        for result in report.results {
            if result.configuration.section != section {
                if section != nil { text += rule }
                // The first title stands right above its test, every other has a blank line below it.
                text += "\n\(result.configuration.section)\n" + (section == nil ? "" : "\n")
                section = result.configuration.section
            }
            text += test(result, url: url, verbose: verbose)
        }
        return text + rule
    }

    private static func test(_ result: ConfigurationResult, url: String, verbose: Bool) -> String {
        var text = "---\n\(result.configuration.name)\n"
        if verbose {
            text += "ATS Dictionary:\n\(result.configuration.dictionary.propertyListValue.oldStyleDescription)\n"
        }
        if result.result == .undetermined, let cause = result.because.first {
            text += "\(undetermined)\(cause.message.terminalSafe) [\(cause.code)]\n"
        }
        text += "Result : \(result.result == .pass ? "PASS" : "FAIL")\n"
        if verbose, let error = result.error { text += "Error : \(describe(error, url: url))\n" }
        return text + "---\n\n"
    }

    /// An NSError as its `-description` has it; the keys of UserInfo differ from system to system.
    private static func describe(_ error: URLLoadError, url: String) -> String {
        var info: [String] = []
        if let stream = error.streamCode {
            info += ["_kCFStreamErrorCodeKey=\(stream)", "_kCFStreamErrorDomainKey=3"]
        }
        info += [
            "NSErrorFailingURLStringKey=\(url)", "NSErrorFailingURLKey=\(url)",
            "NSLocalizedDescription=\(error.message)",
        ]
        return
            "Error Domain=\(error.domain) Code=\(error.code) \"\(error.message)\" UserInfo={\(info.joined(separator: ", "))}"
    }

    /// What a row begins with that nscurl does not have: why FAIL is not known to be the server's.
    static let undetermined = "Undetermined : "

    private static let rule = String(repeating: "=", count: 80) + "\n"
}
