// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

// What the bytes of a line hold beside the numbers of errors: each property looks for one form.

extension Scan {
    /// Whether an error of a socket stands in the line: of CFStream, Network or a library upon them, not of a load of a URL.
    var isSocket: Bool {
        let words: [StaticString] = [
            "NSOSStatusErrorDomain Code=-98", "kCFStreamErrorDomainSSL Code=-98", "Domain: kCFStreamErrorDomainSSL",
            "SocketStream write error", "SocketStream read error", "TCP Conn 0x", "NWError", ".tls(-98",
            "Optional(-98", "waiting(-98", "GCDAsyncSocketErrorDomain", "SRWebSocketErrorDomain",
            "MCOErrorDomain", "(securetransport:", "Sync: Connection[", "CouchbaseLite WS ",
        ]
        return words.contains(where: contains)
    }

    /// Whether a process of device management or an error of its domains stands in the line: the system itself loads, and no app.
    var isManagement: Bool {
        let domains: [StaticString] = ["MCInstallationErrorDomain", "MCHTTPTransactionErrorDomain", "MCMDMErrorDomain"]
        return domains.contains(where: contains)
            || bytes.prefix(200).split(separator: 0x20).contains { word in
                let name = word.prefix(while: \.isASCIIAlphanumeric)
                let end = word.dropFirst(name.count).first
                return (end == UInt8(ascii: "[") || end == UInt8(ascii: ":"))
                    && Scan.managers.contains { name.elementsEqual($0.utf8) }
            }
    }

    private static let managers = ["mdmclient", "mdmd", "dmd", "profiled", "teslad", "remotemanagementd"]

    /// A TLS alert by number or by name, and whether the other side sent it.
    var alert: (number: UInt8, isReceived: Bool)? {
        for words: StaticString in ["SSL alert number ", "received alert ["] {
            if let number = digits(after: words), let alert = UInt8(exactly: number) { return (alert, true) }
        }
        // Wireshark does not say who sent it: only clients judge the certificate of a server.
        if let text = rest(after: "Level: Fatal, Description: ")?.prefix(40).prefix(while: { $0 != 0x29 }) {
            let folded = text.map { $0 == 0x20 ? UInt8(ascii: "_") : $0.asciiLowercased }
            if let number = Scan.alerts.first(where: { folded.elementsEqual($0.name.utf8) })?.number {
                return (number, ![42, 43, 45, 46, 48].contains(number))
            }
        }
        for (words, isReceived) in Scan.alertWords {
            // Words of a description are separated by blanks, those of a symbol by underscores.
            let ends = Array(isReceived == nil ? ":(,\" )'\\".utf8 : ":(,\")]'\\".utf8)
            guard var text = value(after: words, until: ends)?.prefix(40) else { continue }
            while text.last.map({ $0 == 0x20 || $0 == UInt8(ascii: ".") }) == true { text = text.dropLast() }
            let folded = text.map { $0 == 0x20 ? UInt8(ascii: "_") : $0.asciiLowercased }
            if let number = Scan.alerts.first(where: { folded.elementsEqual($0.name.utf8) })?.number {
                return (number, isReceived ?? true)
            }
        }
        return nil
    }

    /// nil: a symbol of the TLS library, which it has for alerts that it received.
    private static let alertWords: [(StaticString, Bool?)] = [
        ("read alert, level: fatal, description: ", true), ("write alert, level: fatal, description: ", false),
        ("SSLV3_ALERT_", nil), ("TLSV1_ALERT_", nil), ("TLSV13_ALERT_", nil), ("TLSV1_", nil),
        ("tlsv1 alert ", true), ("sslv3 alert ", true), ("tlsv13 alert ", true),
        // Java's words.
        ("Received fatal alert: ", true),
    ]

    private static let alerts: [(number: UInt8, name: String)] = (0...121).map {
        (number: $0, name: ConnectionCauses.alertName($0))
    }

    var socketError: Int? {
        let words: [StaticString] = [
            "SO_ERROR [", "errno = ", "NSPOSIXErrorDomain Code=", "NSPOSIXErrorDomain error ",
            "NSPOSIXErrorDomain ", "SocketException (", "POSIXErrorCode(rawValue: ", "NWError error ",
        ]
        if let found = words.lazy.compactMap({ digits(after: $0) }).first(where: { $0 > 0 }) { return found }
        guard contains("_kCFStreamErrorDomainKey=1,") || contains("_kCFStreamErrorDomainKey=1}") else { return nil }
        return digits(after: "_kCFStreamErrorCodeKey=").flatMap { $0 > 0 ? $0 : nil }
    }

    /// The number of a DCError, documented or not, by its domain, whatever words stand between, or by its name.
    var deviceError: Int? {
        if let rest = rest(after: "com.apple.devicecheck.error") ?? rest(after: "DCErrorDomain") {
            let near = rest.prefix(24)
            if let first = near.firstIndex(where: { 0x30...0x39 ~= $0 }), near[..<first].last != UInt8(ascii: "-") {
                let digits = rest[first...].prefix(4).prefix { 0x30...0x39 ~= $0 }
                return digits.count < 4 ? digits.reduce(0) { $0 &* 10 &+ Int($1 & 0x0F) } : nil
            }
            // React Native writes the number before the domain.
            let names: [StaticString] = ["\"code\":\"", "\"code\": \"", "\"code\":", "\"code\": "]
            if let number = names.lazy.compactMap({ digits(after: $0) }).first { return number }
        }
        for words: StaticString in ["DCErrorCode", "DCError.", "DCError"] {
            guard let name = rest(after: words)?.prefix(while: \.isASCIIAlphanumeric).asciiLowercased, !name.isEmpty
            else {
                continue
            }
            let number = LogExplanations.deviceErrorNames.firstIndex {
                name.starts(with: $0.utf8.asciiLowercased)
            }
            if let number { return number }
        }
        // Apple's own sentences for the five.
        let sentences: [StaticString] = [
            "such as the failure to generate a token", "DeviceCheck is not available on this device",
            "your app provides data that isn", "failed attempt to use the App Attest key",
            "failed attempt to contact the App Attest service",
        ]
        if let number = sentences.firstIndex(where: contains) { return number }
        // App Check's client for a device whose `isSupported` is false.
        return contains("is not supported on current platform and OS version") ? 1 : nil
    }

    /// The status with which App Check answered, or that of the answer which its client's words stand for.
    var appCheckStatus: Int? {
        // Google's gateway in front of App Check: the request gets no further, whatever the proof.
        if contains("firebaseappcheck") || contains("App Check API"),
            contains(" are blocked") || contains("has not been used in project") || contains("API key not valid")
        {
            return 400
        }
        let names: [StaticString] = ["firebaseappcheck", "appCheck", "AppCheck", "app_check", "App Check"]
        if names.contains(where: contains) {
            let words: [StaticString] = [
                "status code: ", "status code ", "statusCode: ", "statusCode=", "\"code\": ", "\"code\":", "HTTP ",
                "throttled due to ",
            ]
            let status = words.lazy.compactMap { digits(after: $0) }.first {
                LogExplanations.appCheck(status: $0) != nil
            }
            if let status { return status }
            // The client pauses after a refusal.
            if contains("Too many attempts") || contains("too-many-requests") { return 403 }
        }
        if contains("App not registered") { return 400 }
        if contains("App attestation failed") || contains("App Attestation failed") { return 403 }
        // Google's SDKs for backends, which have not judged the token yet.
        if contains("AppCheck"), contains("Error fetching Json Web Keys") { return 503 }
        let invalid: [StaticString] = [
            "App Check token is invalid", "Invalid appcheck token", "AppCheck token was rejected",
            "Failed to validate AppCheck token", "App check failed: invalid_token", "\"app\":\"INVALID\"",
            "app: \"INVALID\"",
        ]
        return invalid.contains(where: contains) ? 401 : nil
    }

    /// The number of an error of AVFoundation or CoreMedia that says most; 0 if the domain is named without one.
    var playerError: Int? {
        guard contains("AVFoundationErrorDomain") || contains("CoreMediaErrorDomain") else { return nil }
        let numbers = negatives.filter { $0 < -9999 }
        return numbers.first { ErrorNumber.player($0)?.codes == [.httpMedia] }
            ?? numbers.first { ErrorNumber.player($0) == nil } ?? numbers.first ?? 0
    }

    /// In a line with a ``playerError``, the error of the load that AVFoundation shows as an OSStatus or in its sentence:
    /// `An unknown error occurred (-1022)`.
    var loadErrorOfPlayer: Int? { negatives.first { $0 > -2000 && ErrorNumber.url($0) != nil } }

    /// Numbers of four or five digits with a minus that stand alone, at most 16.
    private var negatives: [Int] {
        let found = bytes.indices.compactMap { index in
            bytes[..<index].last?.isASCIIAlphanumeric == true ? nil : negative(at: index, digits: 4...5)
        }
        return Array(found.prefix(16))
    }

    /// The digits after some words, at most four.
    func digits(after words: StaticString) -> Int? {
        guard let digits = rest(after: words)?.prefix(5).prefix(while: { 0x30...0x39 ~= $0 }), 1...4 ~= digits.count
        else {
            return nil
        }
        return digits.reduce(0) { $0 &* 10 &+ Int($1 & 0x0F) }
    }

    /// What the system calls the connection: the number at its front.
    var connection: [UInt8]? {
        let words: [StaticString] = ["Connection ", "TIC TCP Conn Failed [", "TIC SSL Trust Error [", "[C"]
        for words in words {
            guard let digits = rest(after: words)?.prefix(10).prefix(while: { 0x30...0x39 ~= $0 }), !digits.isEmpty
            else {
                continue
            }
            return Array(digits)
        }
        return nil
    }

    /// The number of the process and of its thread, as `Name[12:ab3]`, `Name[12]` or in the columns of `log show`.
    var process: (process: [UInt8]?, thread: [UInt8]?) {
        let head = bytes.prefix(200)
        var before: UInt8 = 0
        for (index, byte) in zip(head.indices, head) {
            defer { before = byte }
            guard byte == UInt8(ascii: "[") else { continue }
            let digits = head[index...].dropFirst().prefix { 0x30...0x39 ~= $0 }
            guard !digits.isEmpty, let end = head[digits.endIndex...].first else { continue }
            if end == UInt8(ascii: "]"), before.isASCIIAlphanumeric || before == UInt8(ascii: ")") {
                return (Array(digits), nil)
            }
            guard end == UInt8(ascii: ":") else { continue }
            let thread = head[digits.endIndex...].dropFirst().prefix(while: \.isASCIIAlphanumeric)
            // An address of memory is no thread: `[1:0x1c017b900]` is a connection.
            guard !thread.isEmpty, !thread.starts(with: "0x".utf8), head[thread.endIndex...].first == UInt8(ascii: "]")
            else { continue }
            return (Array(digits), Array(thread))
        }
        // Date, time, thread, type, activity, process.
        let columns = head.split(separator: 0x20, maxSplits: 6)
        guard columns.count > 6, columns[2].starts(with: "0x".utf8), columns[4].starts(with: "0x".utf8) else {
            return (nil, nil)
        }
        return (Array(columns[5]), Array(columns[2]))
    }

    /// Whether a load that failed had sent or got bytes, as in `load failed, 431/0 bytes`.
    var hasTransferred: Bool {
        guard let rest = rest(after: "load failed, ") else { return false }
        let counts = rest.prefix(48).prefix { $0 == 0x2F || (0x30...0x39).contains($0) }
        return counts.contains(0x2F) && counts.contains { (0x31...0x39).contains($0) }
            && rest.dropFirst(counts.count).starts(with: " bytes".utf8)
    }

    /// The network interface, as in `interface: utun6`.
    var interface: String? {
        guard let name = rest(after: "interface: ")?.prefix(16).prefix(while: { $0.isASCIIAlphanumeric || $0 == 0x5F }),
            !name.isEmpty
        else { return nil }
        return String(decoding: name, as: UTF8.self)
    }

    /// The certificates of a chain, as `<cert(0x7f8b) s: SUBJECT i: ISSUER>`.
    var certificates: [LogEvidence.Certificate] {
        var found: [LogEvidence.Certificate] = []
        var text = bytes
        while found.count < 16, let rest = Scan(bytes: text).rest(after: "<cert(") {
            text = rest
            guard let subject = Scan(bytes: rest.prefix(600)).rest(after: " s: "),
                let issuer = Scan(bytes: subject).rest(after: " i: "),
                let end = issuer.firstIndex(of: UInt8(ascii: ">"))
            else { continue }
            found.append(
                LogEvidence.Certificate(
                    subject: Array(subject.prefix(max(0, subject.count - issuer.count - 4)).prefix(120)),
                    issuer: Array(issuer[..<end].prefix(120))))
        }
        return found
    }

    /// The host that a line names in other words than the system's own members.
    var place: LogPlace? {
        // Of two addresses the second is what was loaded, and it may be none of the web.
        if let url = value(after: "insecure content from ", until: Array(" \"'".utf8)) {
            return LogPlace(url: url.last == UInt8(ascii: ".") ? url.dropLast() : url)
        }
        // Chromium names the page first too.
        let schemes: [StaticString] =
            contains("Mixed Content: ") ? ["http://", "ws://"] : ["https://", "http://", "wss://", "ws://"]
        for words in schemes {
            var text = bytes
            // The first may be that of a manual.
            for _ in 0..<4 {
                guard let url = Scan(bytes: text).value(after: words, until: Array(" \"',;)}>]".utf8)) else { break }
                text = text[url.endIndex...]
                // An address at the end of a sentence, or before a colon.
                let end = url.prefix(2000).lastIndex { !".:".utf8.contains($0) } ?? url.startIndex
                let whole = Array("\(words)".utf8) + url[...end]
                // A bundle of React Native is where the script is, not what it loads.
                if !Scan(bytes: url).namesBundle, let place = Scan.place(ofLoad: whole[...]) { return place }
            }
        }
        for words in Scan.hostWords {
            // The first byte of a typographic mark ends a name too.
            guard let host = value(after: words, until: Array(" \"',;)}>](".utf8) + [0xE2]) else { continue }
            if let place = Scan.place(host) { return place }
        }
        // Typographic quotation marks, in whatever language stands around them.
        if let quoted = rest(after: "\u{201C}") ?? rest(after: "\u{201E}") ?? rest(after: "\u{AB}") {
            // In French a blank of several bytes stands inside of them.
            let name = quoted.prefix(260).drop { $0 >= 0x80 || $0 <= 0x20 }.prefix { 0x21...0x7E ~= $0 }
            if let place = Scan.place(name) { return place }
        }
        return placeOfConnection
    }

    /// The host that Network names behind the number of a connection: `[C1.1 192.0.2.1:8000 in_progress`.
    var placeOfConnection: LogPlace? {
        guard let path = rest(after: "[C"), let blank = path.prefix(24).firstIndex(of: 0x20),
            !path[..<blank].contains(0x5D)
        else { return nil }
        return Scan.place(path[blank...].dropFirst().prefix { $0 > 0x20 && $0 != 0x5D })
    }

    /// The host of a line that says no more: it belongs to the error that is printed above or below it.
    var placeOfError: LogPlace? {
        guard bytes.count <= 2000 else { return nil }
        // Most lines have no address.
        for words in contains("://") ? Scan.addressWords : [] {
            guard let url = value(after: words, until: Array(" \"')".utf8)), let place = Scan.place(ofLoad: url) else {
                continue
            }
            let rest = bytes[url.endIndex...].drop { $0 <= 0x20 || "\"')".utf8.contains($0) }
            if rest.isEmpty || rest.starts(with: "failed".utf8) { return place }
        }
        for words: StaticString in ["refused (", "see inner exception. ("] {
            if let host = value(after: words, until: Array(")".utf8)), let place = Scan.place(host) { return place }
        }
        return nil
    }

    /// What stands before the address of a request, as apps and libraries print it.
    private static let addressWords: [StaticString] = [
        "uri: ", "Uri: ", "URI: ", "url: ", "Url: ", "URL: ", "uri=", "url=", "GET ", "POST ", "PUT ", "HEAD ",
        "PATCH ", "DELETE ", "quest to ", "\u{2551}  ",
    ]

    /// Whether the address of a bundle of React Native stands in the line.
    var namesBundle: Bool { contains(".bundle?") }

    /// The host of an address, unless that is a manual's.
    private static func place(ofLoad url: ArraySlice<UInt8>) -> LogPlace? {
        guard let place = LogPlace(url: url), !manuals.contains(where: { place.host.hasSuffix($0) }) else { return nil }
        return place
    }

    /// A host with or without a port; nil for redacted ones, and for a word without a dot that is not localhost.
    private static func place(_ host: ArraySlice<UInt8>) -> LogPlace? {
        let isName =
            host.contains(UInt8(ascii: ".")) || host.contains(UInt8(ascii: ":")) || host.starts(with: "localhost".utf8)
        guard isName, !host.contains(where: { "#/@%?=".utf8.contains($0) }) else { return nil }
        let isEnd = host.last.map(".:".utf8.contains) == true && !host.suffix(2).elementsEqual("::".utf8)
        return LogPlace(host: isEnd ? host.dropLast() : host)
    }

    /// Addresses of documentation, which messages quote.
    private static let manuals = [
        "developer.apple.com", "support.apple.com", "aka.ms", "go.microsoft.com", "firebaseappcheck.googleapis.com",
        "console.developers.google.com", "curl.haxx.se", "curl.se", "capacitorjs.com", "reactnative.dev",
        "docs.expo.dev",
    ]

    private static let hostWords: [StaticString] = [
        "address = ", "host lookup: '", "resolve host: ", "resolve host ", "ENOTFOUND ", "ECONNREFUSED ", "EAI_AGAIN ",
        "Failed to connect to ", "connect to host ", "Pin not found for ", "validation failed for ",
        "proxy's certificate for ", "host: \"",
        "pretending to be \"", "伪装成\"", "伪装成 \"", "in connection to ",
        // wget, curl and openssl.
        "* Connected to ", "-connect ", "cannot verify ", "requested host name \u{2018}", "host address \u{2018}",
        "certificate of \u{2018}",
        "Connecting to ",
        "connect to ", "TLS connection to ", "SSL connection to ", "communication to ", "(sni: ",
        "verification error for ",
        "(Host: ", "(host='", "host: ", "hostname: ", "traffic to ", "altnames: Host: ", "for host ",
        "not known (", "disallowed by platform: ",
        "refused (", "established, see inner exception. (",
    ]
}
