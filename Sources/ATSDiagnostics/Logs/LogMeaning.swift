// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// What error numbers mean. Where one number has several causes all of them are named: the log does not say which.
enum LogMeaning {
    /// The causes of what a line said; nil for numbers that have nothing to do with ATS or TLS.
    static func codes(urlError: Int?, streamError: Int?, sentence: LogSentence?) -> [Code]? {
        if let sentence { return sentence.codes }
        // -1005 and the like come with numbers of the socket layer; a number of TLS is in its own range.
        if let codes = streamError.flatMap(ErrorNumber.stream)?.codes, !codes.isEmpty { return codes }
        let codes = urlError.flatMap(ErrorNumber.url)?.codes ?? []
        return codes.isEmpty ? nil : codes
    }
}
