// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// What one line, or several lines about one load, say about how it failed. Every part is bounded.
struct LogEvidence: Sendable {
    /// A certificate of a chain that the log prints.
    struct Certificate: Sendable, Equatable {
        let subject: [UInt8]
        let issuer: [UInt8]
    }

    /// The line that says most.
    struct Quote: Sendable {
        /// Lower says more.
        let rank: Int
        let text: String
        let line: Int
    }

    var place: LogPlace?
    var urlError: Int?
    var streamError: Int?
    var socketError: Int?
    /// The number of a DCError.
    var deviceError: Int?
    /// The status of an answer of App Check.
    var appCheckStatus: Int?
    /// The number of an error of AVFoundation or CoreMedia; 0 if the log has none.
    var playerError: Int?
    var isWebView = false
    /// Whether a socket of the app failed (CFStream, Network): ATS judges loads of URLs alone.
    private var isOfSocket = false
    var isSocket: Bool { isOfSocket && urlError == nil && playerError == nil }
    /// Whether device management loaded, and no app with code and a dictionary of its own.
    var isManagement = false
    /// A TLS alert, and whether the other side sent it.
    var alert: (number: UInt8, isReceived: Bool)?
    var sentence: LogSentence?
    /// Places in ``LogPhrase/all``, the most telling first.
    var phrases: [Int] = []
    /// The name of the interface, for example `utun6`.
    var interface: String?
    /// Whether the app had sent a certificate of its own.
    var hasSentCertificate = false
    /// Whether the load had sent or got bytes, and so had its handshake behind it.
    var hasTransferred = false
    var chain: [Certificate] = []
    var quote: Quote
    /// The numbers of the first and the last line, and how many there are.
    var line: Int
    var lastLine: Int
    var lines = 1
    var process: [UInt8]?
    var thread: [UInt8]?
    var task: [UInt8]?
    var connection: [UInt8]?

    /// What loads without the system's stack; nil for the system.
    var speaker: LogPhrase.Speaker? {
        guard urlError == nil, let first = phrases.first else { return nil }
        let speaker = LogPhrase.all[first].speaker
        return speaker == .system ? nil : speaker
    }

    /// Whether host and error are known, so that other lines are about other loads.
    var isComplete: Bool { place != nil && urlError != nil }

    /// Whether it is an error of a load whose host may stand on a line of its own: nothing else tells what it belongs to.
    var lacksHost: Bool {
        place == nil && task == nil && connection == nil && deviceError == nil && appCheckStatus == nil
            && (urlError != nil || socketError != nil || speaker != nil)
    }

    // MARK: - One line

    /// Nil if the line says nothing about a failure.
    init?(_ text: ArraySlice<UInt8>, _ found: LogLine, number: Int, hiding hide: (String) -> String) {
        let scan = Scan(bytes: text)
        // The file that configures the proxy is evaluated for each load, whatever becomes of the load.
        if scan.contains("nw_proxy_resolver") { return nil }
        let phrases = LogPhrase.found(in: text)
        line = number
        lastLine = number
        playerError = scan.playerError
        urlError =
            found.urlError.flatMap { ErrorNumber.url($0) == nil ? nil : $0 }
            // MailCore has a sentence of NSURLErrorDomain for sockets.
            ?? (scan.contains("MCOErrorDomain")
                ? nil : phrases.lazy.compactMap { LogPhrase.all[$0.phrase].urlError }.first)
            ?? (playerError == nil ? nil : scan.loadErrorOfPlayer)
        streamError = found.streamError
        sentence = found.sentence.flatMap { $0.codes.isEmpty ? nil : $0 }
        self.phrases = phrases.map(\.phrase)
        alert = scan.alert
        socketError = scan.socketError
        deviceError = scan.deviceError
        appCheckStatus = scan.appCheckStatus
        quote = Quote(rank: .max, text: "", line: number)
        guard
            urlError != nil || streamError != nil || sentence != nil || !phrases.isEmpty || alert != nil
                || socketError != nil || deviceError != nil || appCheckStatus != nil || playerError != nil
        else { return nil }
        quote = Quote(
            rank: rank,
            text: LogEvidence.quote(
                text, from: phrases.first { !LogPhrase.all[$0.phrase].codes.isEmpty }?.start ?? text.startIndex,
                hiding: hide),
            line: number)
        let namesOther = phrases.contains { LogPhrase.all[$0.phrase].namesOther }
        place = found.place ?? (found.isCutOff || namesOther ? nil : scan.place)
        task = found.task.map { Array($0.prefix { $0 != 0x22 && $0 != 0x27 }) }
        connection = scan.connection
        (process, thread) = scan.process
        isManagement =
            scan.isManagement
            || phrases.contains { phrase in
                SystemWords.management.contains { $0.hasSameBytes(as: LogPhrase.all[phrase.phrase].words) }
            }
        addDetails(scan)
    }

    /// What other things than lines say.
    init(place: LogPlace?, urlError: Int?, streamError: Int?, quote: String, line: Int, lines: Int) {
        self.place = place
        self.urlError = urlError
        self.streamError = streamError
        self.quote = Quote(rank: 0, text: quote, line: line)
        self.line = line
        self.lines = lines
        lastLine = line
    }

    /// What a description that goes on over several lines adds.
    mutating func addDetails(_ scan: Scan) {
        interface = interface ?? scan.interface
        isWebView = isWebView || scan.contains("WebPageProxy::didFail") || scan.contains("didFailProvisional")
        isOfSocket = isOfSocket || scan.isSocket
        let state =
            scan.digits(after: "SSLClientCertificateState=") ?? scan.digits(after: "ErrorClientCertificateStateKey=")
        hasSentCertificate = hasSentCertificate || state.map { $0 >= 2 } == true
        hasTransferred = hasTransferred || scan.hasTransferred
        for certificate in scan.certificates where chain.count < 8 && !chain.contains(certificate) {
            chain.append(certificate)
        }
    }

    /// How much the line says: sentences that name a cause before those that name a judge, and words before numbers.
    private var rank: Int {
        if deviceError != nil || appCheckStatus != nil { return 0 }
        if let first = phrases.first(where: { LogPhrase.all[$0].saysWhy }) { return 1 + first }
        if sentence != nil { return 1000 }
        if alert != nil { return 1001 }
        if let first = phrases.first(where: { LogPhrase.all[$0].codes.isEmpty }) { return 1002 + first }
        return urlError == -1022 ? 3000 : streamError != nil ? 3001 : urlError != nil ? 3002 : 3003
    }

    /// The part of a line that says it: the whole of a short one.
    private static func quote(
        _ text: ArraySlice<UInt8>, from start: Int, hiding hide: (String) -> String
    ) -> String {
        let limit = 160
        let whole = text.drop { $0 <= 0x20 }
        guard whole.count > limit else { return hide(String(decoding: whole, as: UTF8.self).trimmed()) }
        var before = Array(hide(String(decoding: whole[..<max(start, whole.startIndex)], as: UTF8.self)).utf8)[...]
        let isCut = before.count > 40
        if isCut {
            // Words are not cut, unless there is no blank.
            let near = before.suffix(40)
            before = near.firstIndex(of: 0x20).map { near[$0...].dropFirst() } ?? near
        }
        let after = whole.dropFirst(max(0, start - whole.startIndex)).prefix(limit - before.count)
        let part = String(decoding: before + after, as: UTF8.self)
        return (isCut ? "..." : "") + part.trimmed() + "..."
    }

    // MARK: - Several lines

    /// Whether both name the same task, or the same connection of a process.
    func isSameLoad(as other: LogEvidence) -> Bool {
        guard process == nil || other.process == nil || process == other.process else { return false }
        if let task, let otherTask = other.task { return task == otherTask }
        return connection != nil && connection == other.connection && !isComplete && !conflicts(with: other)
    }

    /// Whether an earlier line may be about the same load as this one, which names neither its task nor its connection.
    func mayFollow(_ earlier: LogEvidence, within reach: Int) -> Bool {
        guard line - earlier.lastLine <= reach, task == nil || earlier.task == nil,
            connection == nil || earlier.connection == nil,
            process == nil || earlier.process == nil || process == earlier.process, !conflicts(with: earlier)
        else { return false }
        if earlier.isComplete { return urlError == earlier.urlError && place?.host == earlier.place?.host }
        return true
    }

    /// Whether both cannot be about one load.
    private func conflicts(with earlier: LogEvidence) -> Bool {
        func differ<Value: Equatable>(_ left: Value?, _ right: Value?) -> Bool {
            left != nil && right != nil && left != right
        }
        if differ(place?.host, earlier.place?.host) || differ(urlError, earlier.urlError) { return true }
        if differ(streamError, earlier.streamError) || speaker?.family != earlier.speaker?.family {
            return true
        }
        if (deviceError == nil && appCheckStatus == nil)
            != (earlier.deviceError == nil && earlier.appCheckStatus == nil)
        {
            return true
        }
        // ATS blocks cleartext before anything is sent: there is no connection to speak of.
        let cleartext = [self, earlier].filter { $0.urlError == -1022 || $0.sentence?.isCleartext == true }
        if cleartext.count == 1 { return true }
        // A number of TLS belongs to an error that TLS can bring about.
        guard let number = urlError ?? earlier.urlError, (streamError ?? earlier.streamError) != nil else {
            return false
        }
        return !(-1206 ... -1200 ~= number || number == -1005 || number == -1001)
    }

    func joined(with other: LogEvidence) -> LogEvidence {
        var joined = self
        joined.place = place.flatMap { $0.isGuessedSecure ? other.place ?? $0 : $0 } ?? other.place
        joined.urlError = urlError ?? other.urlError
        joined.streamError = streamError ?? other.streamError
        joined.socketError = socketError ?? other.socketError
        joined.deviceError = deviceError ?? other.deviceError
        joined.appCheckStatus = appCheckStatus ?? other.appCheckStatus
        joined.playerError =
            playerError.flatMap { $0 == 0 ? other.playerError : $0 } ?? playerError ?? other.playerError
        joined.alert = alert ?? other.alert
        joined.sentence = sentence ?? other.sentence
        joined.phrases = Array((phrases + other.phrases.filter { !phrases.contains($0) }).sorted().prefix(16))
        joined.interface = interface ?? other.interface
        joined.hasTransferred = hasTransferred || other.hasTransferred
        joined.hasSentCertificate = hasSentCertificate || other.hasSentCertificate
        joined.isWebView = isWebView || other.isWebView
        joined.isOfSocket = isOfSocket || other.isOfSocket
        joined.isManagement = isManagement || other.isManagement
        joined.chain = Array((chain + other.chain.filter { !chain.contains($0) }).prefix(8))
        joined.quote = other.quote.rank < quote.rank ? other.quote : quote
        joined.line = min(line, other.line)
        joined.lastLine = max(lastLine, other.lastLine)
        joined.lines += other.lines
        joined.process = process ?? other.process
        joined.thread = thread ?? other.thread
        joined.task = task ?? other.task
        joined.connection = connection ?? other.connection
        return joined
    }
}
