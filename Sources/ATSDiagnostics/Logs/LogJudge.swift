// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import TLSModel
import Vocabulary

/// Says why a load failed, from all lines about it. Pure: evidence in, failure out.
enum LogJudge {
    /// Nil where the evidence is of no failure.
    static func failure(_ evidence: LogEvidence) -> LogFailure? {
        device(evidence) ?? cleartext(evidence) ?? words(evidence) ?? clientCertificate(evidence) ?? alert(evidence)
            ?? player(evidence) ?? numbers(evidence) ?? unsaid(evidence)
    }

    // MARK: - App Attest

    private static func device(_ evidence: LogEvidence) -> LogFailure? {
        let explanations = LogExplanations.deviceErrors
        let row = evidence.deviceError.flatMap { explanations.indices.contains($0) ? explanations[$0] : nil }
        if let row = row ?? evidence.appCheckStatus.flatMap(LogExplanations.appCheck) {
            return LogFailure(evidence, .appAttest, [row.code], "\(row.meaning).", fix: [row.action])
        }
        return evidence.deviceError.map {
            LogFailure(
                evidence, .appAttest, [.causeNotSaid],
                "com.apple.devicecheck.error \($0) is \(LogExplanations.undocumentedDeviceError).",
                fix: [LogExplanations.undocumentedDeviceAction])
        }
    }

    // MARK: - ATS

    private static func cleartext(_ evidence: LogEvidence) -> LogFailure? {
        guard evidence.urlError == -1022 || evidence.sentence?.isCleartext == true else { return nil }
        let host = evidence.host
        if let place = evidence.place, place.isSecure, !place.isGuessedSecure, evidence.sentence?.isCleartext != true {
            let isNear = IPAddress(host) != nil || LocalHosts.isLocalName(host)
            return LogFailure(
                evidence, .ats, [.httpRedirectBlocked, .cleartextBlocked] + (isNear ? [.localBlocked] : []),
                "The number is that of a cleartext load, and the URL is \(place.secureScheme): the server redirects to http"
                    + (isNear
                        ? ", or the system is iOS 9 or OS X 10.11, which block addresses and local names over https too."
                        : "."),
                fix: ["redirect to https: the check names where the server redirects to"])
        }
        let sentence =
            "ATS blocked a cleartext (\(evidence.place?.secureScheme == "wss" ? "ws" : "http")) load of \(host) before anything was sent."
        if let fault = LoadURL.addressFault(host) {
            return LogFailure(evidence, .ats, [.cleartextBlocked], sentence, fix: ["write the host in full: \(fault)"])
        }
        return LogFailure(
            evidence, .ats, [.cleartextBlocked], sentence,
            fix: [
                evidence.place.map { "load \($0.secureScheme)://\(host)/, and serve \($0.secureScheme) there" }
                    ?? "load https: find the http:// URL that the app loads, the log does not name it"
            ]
                + (evidence.isManagement ? [] : ["where the server cannot: \(permission(evidence.place?.host))"])
                + emulatorHint(evidence)
                + (evidence.isWebView
                    ? ["pages of any host, in a web view: \(ATSKey.arbitraryLoadsInWebContent) = YES"] : [])
                + (evidence.playerError == nil
                    ? [] : ["media of any host, in a player of AVFoundation: \(ATSKey.arbitraryLoadsForMedia) = YES"]))
    }

    /// The key that permits cleartext to a host, one that the systems obey for it.
    private static func permission(_ host: String?) -> String {
        func entry(_ key: String) -> String {
            "\(ATSKey.exceptionDomains) > \(key) > \(ATSKey.insecureHTTPLoads) = YES"
        }
        let local = "\(ATSKey.localNetworking) = YES"
        guard let host else { return "\(entry("HOST")), for an address or a name of the local network \(local)" }
        guard let address = IPAddress(host) else {
            return LocalHosts.isLocalName(host) ? "\(local), or \(entry(host))" : entry(host)
        }
        if LocalHosts.isDirect(address) { return "\(local), and no entry for it in \(ATSKey.exceptionDomains)" }
        return entry(LocalHosts.isShared(address) ? LocalHosts.sharedRange : host)
            + "; entries name addresses from iOS 17 and macOS 14 on"
    }

    // MARK: - Words that name a cause

    private static func words(_ evidence: LogEvidence) -> LogFailure? {
        let system = evidence.speaker == nil
        if let sentence = evidence.sentence, sentence.codes.count == 1, let code = sentence.codes.first {
            return LogFailure(
                evidence, .ats, sentence.codes,
                "ATS\(sentence.isHardened ? " with FCP_v2.1" : "") refused \(evidence.host): \(meaning(code)).")
        }
        let phrases = evidence.phrases.map { LogPhrase.all[$0] }
        // A load of the system is not judged by words of another library that stand in the same line.
        guard let phrase = phrases.first(where: { $0.saysWhy && (!system || $0.speaker == .system) }),
            let code = phrase.codes.first
        else { return nil }
        let host = evidence.host
        // A reset alone does not say when it came.
        let saysWhen =
            evidence.urlError == -1005 || evidence.streamError != nil
            || phrase.words.hasSameBytes(as: SystemWords.reset)
        if code == .netReset, system, saysWhen { return cut(evidence, phrase.codes) }
        if let sentence = phrase.sentence {
            return LogFailure(
                evidence, kind(code, phrase.speaker), phrase.codes,
                sentence.replacing("<host>", with: sentence.hasPrefix("<host>") ? evidence.subject : host),
                fix: phrase.fix.map { [$0] } ?? [])
        }
        switch (code, kind(code, phrase.speaker)) {
        case (.tlsHandshakeFailed, .notApple) where evidence.alert != nil || evidence.specific != nil: return nil
        // curl's number for what came of an alert that it names.
        case (.netReset, .network) where evidence.alert?.isReceived == true: return nil
        case (.cleartextOwnRule, _), (.netLocalNetwork, _), (.netSandbox, _), (.netOffline, _):
            return LogFailure(evidence, kind(code, phrase.speaker), [code], "\(meaning(code).uppercasedFirst).")
        case (_, .appAttest):
            return LogFailure(
                evidence, .appAttest, phrase.codes, "\(meaning(code)).",
                fix: LogExplanations.explanation(of: code).map { [$0.action] } ?? [])
        case (_, .notApple):
            let action: String? =
                phrase.codes.count == 1 ? LogExplanations.action(of: code, at: evidence.place?.host) : nil
            let speaker = evidence.speaker ?? phrase.speaker
            let advice: String? = phrase.codes.contains(where: anchors.contains) ? speaker.advice : speaker.other
            return LogFailure(
                evidence, .notApple, phrase.codes,
                "\(speaker.rawValue) does TLS with a library of its own and refused \(host): \(meaning(code)). It does not use ATS.",
                fix: [action, advice].compactMap(\.self))
        case (_, .trust):
            return trust(evidence, reasons(phrases) ?? [phrase.codes])
        case (let code, let kind):
            return LogFailure(evidence, kind, phrase.codes, "\(said(code, evidence)).")
        }
    }

    /// Everything that Security says is wrong with a chain, what decides first; nil unless it names several things, each for certain.
    private static func reasons(_ phrases: [LogPhrase]) -> [[Code]]? {
        var named: [Code] = []
        for phrase in phrases where phrase.speaker == .system && phrase.sentence == nil && phrase.codes.count == 1 {
            for code in phrase.codes where kind(code, .system) == .trust && !named.contains(code) { named.append(code) }
        }
        // Without an intermediate no root is found either.
        if named.contains(.trustMissingIntermediate) { named.removeAll { $0 == .trustUnknownRoot } }
        guard named.count > 1 else { return nil }
        return (anchors.filter(named.contains) + named.filter { !anchors.contains($0) }).map { [$0] }
    }

    // MARK: - Client certificates

    private static func clientCertificate(_ evidence: LogEvidence) -> LogFailure? {
        let host = evidence.host
        if evidence.urlError == -1206, evidence.hasSentCertificate {
            return LogFailure(
                evidence, .tls, [.tlsClientCertificateRequired],
                "The app sent \(host) a certificate of its own: then CFNetwork makes -1206 of a status 403, by which the server refuses the request itself.",
                fix: ["find what the server refuses, by its log, or answer with another status than 403"])
        }
        if evidence.urlError == -1206 {
            return LogFailure(
                evidence, .tls, [.tlsClientCertificateRequired],
                "\(evidence.subject) asked for a client certificate. CFNetwork makes -1206 also of a 403: then the server only asks for one, and refuses the request itself.",
                fix: [
                    "look for a 403 in the server's log: if there is one, find what it refuses, and answer with another status than 403",
                    "if there is none, the handshake needs it: give the app a certificate of a CA that the server accepts",
                ])
        }
        let alert = evidence.alert.flatMap { $0.isReceived ? $0.number : nil }
        let codes = alert.map(ConnectionCauses.codes(ofAlert:)) ?? evidence.specific ?? []
        if alert != nil, codes == [.tlsClientCertificateRequired] {
            return LogFailure(
                evidence, .tls, codes,
                "\(evidence.subject) demands a client certificate and got none (alert certificate_required).")
        }
        let isRejection = codes.contains(.tlsClientCertificateRejected)
        guard evidence.urlError == -1205 || isRejection else { return nil }
        let isSent = evidence.urlError == -1205 || evidence.hasSentCertificate
        let name = alert.map { " (alert \(ConnectionCauses.alertName($0)), \($0))" } ?? ""
        let reason =
            switch alert {
            case 48: ": it does not know the CA that issued it"
            case 45: ": it has expired"
            case 44: ": it is revoked"
            case 49: ": whom it names has no access"
            default: ""
            }
        let doubt = isSent ? "." : ". If the app sent none, the TLS log of the server says what it means."
        return LogFailure(
            evidence, .tls, isSent ? [.tlsClientCertificateRejected] : codes,
            "\(evidence.subject) refuses the certificate that the app sent as its own\(name)\(reason)\(doubt)",
            fix: LogExplanations.explanation(of: .tlsClientCertificateRejected).map { [$0.action] } ?? [])
    }

    // MARK: - Alerts

    private static func alert(_ evidence: LogEvidence) -> LogFailure? {
        guard let alert = evidence.alert else { return nil }
        let host = evidence.host
        let name = "alert \(ConnectionCauses.alertName(alert.number)), \(alert.number)"
        guard alert.isReceived else {
            // The client says what it refuses.
            switch alert.number {
            case 45: return trust(evidence, [.trustExpired])
            case 44: return trust(evidence, [.trustRevoked])
            case 48: return trust(evidence, [.trustUnknownRoot, .trustSelfSigned, .trustMissingIntermediate])
            case 42, 43, 46:
                return trust(evidence, evidence.specific.flatMap(ofTrust) ?? RefusalNumbers.trust)
            case 0, 90: return numbers(evidence)
            default:
                return LogFailure(
                    evidence, .tls, evidence.specific ?? [.tlsHandshakeFailed],
                    "The app's side ended the handshake with \(host) (\(name)).")
            }
        }
        let codes: [Code]
        let what: String
        switch alert.number {
        case 0: return cut(evidence, [.netClosed])
        case 40:
            codes = ErrorNumber.stream(-9824)?.codes ?? []
            what = "found no version, cipher suite, group or signature in common with the app"
        case 70: (codes, what) = ([.tlsVersionTooLow], "speaks none of the TLS versions that the app offers")
        case 71: (codes, what) = ([.tlsNoCommonSuite], "finds what the app offers too weak")
        case 120:
            (codes, what) = (
                [.tlsHandshakeFailed], "speaks none of the application protocols that the app offers (ALPN)"
            )
        default: (codes, what) = ([.tlsHandshakeFailed], AlertMeaning(alert.number)?.words ?? "ended the handshake")
        }
        return LogFailure(
            evidence, .tls, codes, "\(evidence.subject) \(what) (\(name)).",
            fix: AlertMeaning(alert.number)?.action.map { [$0] } ?? [])
    }

    // MARK: - Numbers

    private static func numbers(_ evidence: LogEvidence) -> LogFailure? {
        if let stream = evidence.streamError, cutNumbers.contains(stream) {
            return cut(evidence, ErrorNumber.stream(stream)?.codes ?? [])
        }
        if evidence.urlError == -1005 { return cut(evidence, ErrorNumber.url(-1005)?.codes ?? []) }
        let socket = evidence.socketError.flatMap(ErrorNumber.posix)?.codes
        let named =
            LogMeaning.codes(
                urlError: evidence.urlError, streamError: evidence.streamError, sentence: evidence.sentence) ?? socket
        let isJudged = evidence.phrases.contains { LogPhrase.all[$0].saysSystemJudged }
        // Under ATS other rules than those of trust have the same number.
        let trusted = isJudged && evidence.isSocket ? named.flatMap(ofTrust) : nil
        let codes = trusted ?? named ?? (isJudged ? RefusalNumbers.trust : [])
        if let socket, let code = socket.first, evidence.streamError == nil,
            evidence.urlError == nil || code == .netSandbox
        {
            return LogFailure(
                evidence, kind(code, .system), socket,
                "\(said(code, evidence)) (errno \(evidence.socketError ?? 0)).",
                fix: (LogExplanations.explanation(of: code).map { [$0.action] } ?? [])
                    + (evidence.socketError == 65
                        ? [
                            "for a host of the local network: since iOS 14 and macOS 15 a denied Local Network privacy looks the same"
                        ] : localHints(evidence, code)))
        }
        guard let first = codes.first else { return other(evidence) }
        // What a device says before the user was asked, and after a refusal.
        if first == .netOffline, isLocal(evidence), !isLoopback(evidence) {
            return LogFailure(
                evidence, .network, [.netLocalNetwork, .netOffline],
                "\(evidence.host) is in the local network: since iOS 14 and macOS 15 the system says so where the app may not use that, or was not asked yet; else the device has no network.",
                fix: [.netLocalNetwork, .netOffline].compactMap { LogExplanations.explanation(of: $0)?.action })
        }
        if evidence.hasSentCertificate, CauseTable.current[first]?.stage == .handshake {
            return LogFailure(
                evidence, .tls, [.tlsClientCertificateRejected] + codes.filter { $0 != .tlsClientCertificateRejected },
                "The app sent a certificate of its own, and \(evidence.host) ended the handshake after it: it has expired, is revoked, or comes from a CA that the server does not accept.",
                fix: LogExplanations.explanation(of: .tlsClientCertificateRejected).map { [$0.action] } ?? [])
        }
        // A number of trust, or a judge of trust: the chain may say more.
        if CauseTable.current[first]?.stage == .trust { return trust(evidence, codes) }
        let name = evidence.streamError.flatMap(ErrorNumber.stream) ?? evidence.urlError.flatMap(ErrorNumber.url)
        // What is left where nothing else fits says less than the number's own words.
        let isPlain = codes.count == 1 && first != .tlsHandshakeFailed
        let sentence =
            isPlain
            ? "\(said(first, evidence))." : name?.said ?? "\(meaning(first).uppercasedFirst)."
        let action = codes.count == 1 ? LogExplanations.explanation(of: first)?.action : nil
        let isVague = evidence.streamError == nil && codes.count > 4
        let hints = isVague ? [vagueHint] : localHints(evidence, first)
        return LogFailure(
            evidence, kind(first, .system), codes, sentence, fix: ([action].compactMap(\.self) + hints))
    }

    /// Those of trust evaluation; nil if there is none.
    private static func ofTrust(_ codes: [Code]) -> [Code]? {
        let codes = codes.filter { CauseTable.current[$0]?.stage == .trust }
        return codes.isEmpty ? nil : codes
    }

    private static let vagueHint =
        "print the whole error with its userInfo, or give the lines of the console around it: the stream code in them (-98xx) says which"

    /// What keeps a device from a host of the local network although nothing is wrong with the server.
    private static func localHints(_ evidence: LogEvidence, _ code: Code) -> [String] {
        guard let host = evidence.place?.host,
            [.netRefused, .netTimeout, .netDNS, .netOffline, .netReset].contains(code)
        else { return [] }
        if isLoopback(evidence) {
            return [
                "on a device \(host) is the device itself: give the app the address of the computer; only the Simulator shares it"
            ]
        }
        let hint = emulatorHint(evidence)
        if !hint.isEmpty { return hint }
        guard isLocal(evidence) else { return [] }
        return [
            "device and server must be in the same network, the server must listen on that address and not on localhost only, and the user must allow the app in Settings > Privacy & Security > Local Network (since iOS 14 and macOS 15)"
        ]
    }

    /// An address that only Android's emulator has.
    private static func emulatorHint(_ evidence: LogEvidence) -> [String] {
        guard evidence.place?.host.hasSameBytes(as: "10.0.2.2") == true else { return [] }
        return [
            "10.0.2.2 is the computer only in Android's emulator: localhost in the Simulator, the computer's address on a device"
        ]
    }

    private static func isLoopback(_ evidence: LogEvidence) -> Bool {
        guard let host = evidence.place?.host else { return false }
        return ["localhost", "127.0.0.1", "::1"].contains(where: host.hasSameBytes)
    }

    /// Whether ATS asks nothing of the host: an address or name of the local network.
    private static func isLocal(_ evidence: LogEvidence) -> Bool {
        guard let host = evidence.place?.host else { return false }
        return IPAddress(host).map { LocalHosts.isDirect($0) } ?? LocalHosts.isLocalName(host)
    }

    private static let cutNumbers: Set<Int> = [-9816, -9805, -9806, -9844, -9852]

    /// The errors of a load that the app itself ended.
    static let cancellations: Set<Int> = [-999, -1012]

    /// An NSURLError that is no cause of ours.
    private static func other(_ evidence: LogEvidence) -> LogFailure? {
        guard let row = evidence.urlError.flatMap(ErrorNumber.url) else { return nil }
        if cancellations.contains(row.number) {
            return LogFailure(
                evidence, .network, [.trustRefusedByDelegate, .httpNoAnswer],
                "\(row.name): the app itself ended the load of \(evidence.host): its own check of the certificate or of its pins, or code that cancels.",
                fix: [
                    "pins of the app (Alamofire, AFNetworking, TrustKit, a delegate): compare them with the server's certificate; one that was renewed has another",
                    "if the app cancels loads that it no longer needs, nothing is wrong",
                ])
        }
        return LogFailure(evidence, .network, [.httpNoAnswer], row.said)
    }

    // MARK: - What hides the error

    /// A number of a player, if the log does not give the error of the load too.
    private static func player(_ evidence: LogEvidence) -> LogFailure? {
        guard let number = evidence.playerError, evidence.urlError == nil, evidence.streamError == nil,
            evidence.socketError.flatMap(ErrorNumber.posix) == nil
        else { return nil }
        guard let row = ErrorNumber.player(number) else {
            let name = number == 0 ? "" : " with \(number), a number that Apple does not document"
            return LogFailure(
                evidence, .network, [.causeNotSaid],
                "The player failed\(name): NSUnderlyingError and AVPlayerItem.errorLog() say more.")
        }
        return LogFailure(evidence, .network, row.codes, row.said)
    }

    /// Words that say only that a load failed.
    private static func unsaid(_ evidence: LogEvidence) -> LogFailure? {
        guard
            let phrase = evidence.phrases.lazy.map({ LogPhrase.all[$0] }).first(where: { $0.codes == [.causeNotSaid] }),
            let sentence = phrase.sentence
        else { return nil }
        return LogFailure(evidence, .network, phrase.codes, sentence)
    }

    /// A connection that ended in the handshake: first what is in between.
    private static func cut(_ evidence: LogEvidence, _ codes: [Code]) -> LogFailure? {
        let host = evidence.host
        let interface = evidence.interface ?? ""
        let way: String
        var fix = [
            "try without VPN, proxy and content filter, and from another network: the first suspect is what is in between"
        ]
        if ["utun", "ipsec", "ppp", "tun", "tap"].contains(where: interface.hasPrefix) {
            way = " It went through \(interface), a VPN or a filter: that is the first suspect, not the server."
            fix = ["try without the VPN or filter behind \(interface)"]
        } else if interface.hasPrefix("pdp_ip") {
            way = " It went over the cellular network (\(interface)): a box of the carrier is the first suspect."
            fix = ["try over Wi-Fi: what works there is cut by the carrier's network"]
        } else if isLoopback(evidence) {
            way = " That is the device itself: the server there ended it."
            fix = [
                "look at the server on the device: the system suspends an app, and its server with it, in the background"
            ]
        } else {
            way = " The first suspect is the network between: VPN, proxy, firewall; then the server."
        }
        let isLate = evidence.urlError == -1005 || evidence.hasTransferred
        let verb = codes.count == 1 && codes.first == .netReset ? "reset" : "cut"
        let isPlain = evidence.place.map { !$0.isSecure } == true
        fix.append(
            isLate || isPlain
                ? "look in the server's log whether it closed the connection: a timeout for idle connections, a crash; if the log has lines of quic_ or h3, also with HTTP/3 switched off"
                : "look in the server's log whether the ClientHello arrived; a box that drops ClientHellos larger than one segment does this too"
        )
        let isHandshake = !isLate && !isPlain && !evidence.isSocket
        if isHandshake {
            fix.append(
                "ask the server itself: one that has no version or suite in common with what ATS offers may close without an alert, and then an exception helps"
            )
        }
        var failure = LogFailure(
            evidence, .network, isLate ? codes.filter { $0 != .tlsLargeHello } : codes,
            "The connection to \(host) was \(verb)\(isPlain ? "" : isLate ? " after the TLS handshake" : " during the TLS handshake").\(way)",
            fix: fix)
        failure.exceptionMayHelp = isHandshake
        return failure
    }

    // MARK: - Trust

    private static func trust(_ evidence: LogEvidence, _ candidates: [Code]) -> LogFailure {
        trust(evidence, [candidates])
    }

    /// - Parameter reasons: the candidates for what decides, and then what is wrong besides.
    private static func trust(_ evidence: LogEvidence, _ reasons: [[Code]]) -> LogFailure {
        let host = evidence.host
        let decisive = reasons.first ?? []
        let besides = reasons.dropFirst().compactMap(\.first)
        // The likeliest first: most chains that are refused end in no root that the device trusts.
        let candidates = anchors.filter(decisive.contains) + decisive.filter { !anchors.contains($0) }
        let phrases = evidence.phrases.map { LogPhrase.all[$0].words }
        let isSystemTrust = phrases.contains { $0.hasSameBytes(as: SystemWords.systemTrust) }
        let judge =
            isSystemTrust
            ? "ATS itself refused the chain of \(host) (\"system trust\"), after the app's own code had accepted it."
            : phrases.contains { $0.hasSameBytes(as: SystemWords.strict) }
                ? "The strict evaluation refused the certificate of \(host): strict means the rules of ATS on top of the default evaluation, which this chain may pass."
                : evidence.streamError == -9802
                    ? "The evaluation under ATS refused the certificate of \(host) or its chain."
                    : "Trust evaluation refused the certificate of \(host) or its chain."
        var codes = candidates
        var chain = ""
        if let leaf = evidence.chain.first, let last = evidence.chain.last {
            func name(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self).terminalSafe }
            let isOpen = Set(candidates).isSuperset(of: [.trustUnknownRoot, .trustSelfSigned])
            if leaf.subject == leaf.issuer {
                chain = " Its subject is its issuer (\(name(leaf.subject))): it is self-signed."
                if isOpen { codes = [.trustSelfSigned] }
            } else if last.subject == last.issuer {
                chain =
                    " The chain that was sent ends in its own root, \(name(last.subject)): the device must trust it."
                if isOpen { codes = [.trustUnknownRoot] + candidates.filter { !anchors.contains($0) } }
            } else if evidence.chain.count == 1 {
                chain = " The server sent one certificate, and not that of its issuer, \(name(leaf.issuer))."
                if isOpen { codes = [.trustMissingIntermediate, .trustUnknownRoot] }
            } else {
                chain =
                    " The chain that was sent ends below \(name(last.issuer)): the device must have that root, trust it, and it must not have expired."
                if isOpen {
                    codes =
                        [.trustUnknownRoot, .trustExpired]
                        + candidates.filter { !anchors.contains($0) && $0 != .trustExpired }
                }
            }
        }
        let first = codes.first ?? .trustUnknownRoot
        let cause =
            (codes.count == 1 ? " \(meaning(first).uppercasedFirst)." : "")
            + (besides.isEmpty ? "" : " Besides, \(besides.map(meaning).joined(separator: ", and ")).")
        var fix: [String] = []
        func action(_ code: Code) -> String? { LogExplanations.action(of: code, at: evidence.place?.host) }
        let isAnchorOpen = codes.contains(where: anchors.contains)
        if codes.count == 1 || !isAnchorOpen, let action = action(first) { fix.append(action) }
        fix += besides.compactMap(action)
        if codes.count > 1 {
            fix.append("look at the certificates that the server sends: the check names the requirement that they miss")
        }
        if isAnchorOpen {
            fix.append(
                "a root of your own: \(AppTrust.installing)"
            )
        }
        if evidence.isManagement {
            if isAnchorOpen {
                fix.append(
                    "device management itself loads this, so no delegate and no exception of ATS counts: the device must trust the root before it asks the server (a profile of its own that is installed first, or anchor_certs in Automated Device Enrollment)"
                )
            }
        } else if evidence.isSocket, anchors.contains(first) {
            fix.append(
                "if the app's code is to accept it, its own setting is enough (the verify block of Network, kCFStreamSSLValidatesCertificateChain of CFStream, or that of the library): ATS asks nothing of sockets"
            )
        } else if isLocal(evidence), evidence.urlError != -1200, anchors.contains(first) {
            fix.append("if the app's code is to accept it, its delegate is enough: ATS asks nothing of a local host")
        } else if isSystemTrust || anchors.contains(first) {
            let both = "its delegate and \(permission(evidence.place?.host))"
            // Under the rules of ATS the number is -1200; these are those of plain trust, where the dictionary lets code decide.
            let isPlainTrust = !isSystemTrust && evidence.urlError.map { (-1204 ... -1201).contains($0) } ?? false
            fix.append(
                isPlainTrust
                    ? "if the app's code is to accept it, its delegate is enough where the dictionary permits that, as the number suggests; if it does not, \(both)"
                    : "if the app's code is to accept it, \(both): neither helps alone")
        }
        return LogFailure(evidence, .trust, codes, judge + chain + cause, fix: fix)
    }

    private static let anchors: [Code] = [.trustUnknownRoot, .trustSelfSigned, .trustMissingIntermediate]

    // MARK: - Shared

    /// What a code means for the host, if the log names one.
    private static func said(_ code: Code, _ evidence: LogEvidence) -> String {
        evidence.place.map { "\($0.host): \(meaning(code))" } ?? meaning(code).uppercasedFirst
    }

    private static func meaning(_ code: Code) -> String {
        LogExplanations.explanation(of: code)?.meaning ?? code.rawValue
    }

    private static func kind(_ code: Code, _ speaker: LogPhrase.Speaker) -> LogFailure.Kind {
        switch code {
        case .netLocalNetwork: return .localNetwork
        case .netSandbox: return .sandbox
        case .netOffline, .httpWebRule, .httpMedia: return .network
        case .cleartextBlocked: return .ats
        case .cleartextOwnRule: return speaker == .system ? .network : .notApple
        case .trustRefusedByDelegate where speaker == .system: return .network
        case _ where code.rawValue.utf8.starts(with: "attest.".utf8): return .appAttest
        default: break
        }
        switch CauseTable.current[code]?.stage {
        case .network, .http, .proxy: return .network
        case .trust: return speaker == .system ? .trust : .notApple
        default: return speaker == .system ? .tls : .notApple
        }
    }
}

extension LogEvidence {
    /// The host for a sentence.
    fileprivate var host: String { place?.host ?? "the server" }

    /// The host at the beginning of a sentence.
    fileprivate var subject: String { place?.host ?? "The server" }

    /// The causes of the number of the stream, if it is one that says something.
    fileprivate var specific: [Code]? {
        streamError.flatMap(ErrorNumber.stream).flatMap { $0.codes.isEmpty ? nil : $0.codes }
    }
}

extension LogPhrase.Speaker {
    /// How such a library is made to trust what the system trusts.
    fileprivate var advice: String {
        switch self {
        case .system: ""
        case .dart:
            "a root of your own goes into the SecurityContext of HttpClient; packages like cupertino_http load with the system's stack, then ATS counts"
        case .dotNet: "with NSUrlSessionHandler the system loads, then ATS counts"
        case .unity: "a root of your own goes into a CertificateHandler of UnityWebRequest"
        case .chromium:
            "a root of your own goes into the keychain as always trusted, or into the verify procedure of the session"
        case .node: "a root of your own goes into NODE_EXTRA_CA_CERTS"
        case .curl, .openSSL:
            "a root of your own is given with --cacert (curl), -CAfile (openssl) or SSL_CERT_FILE; \(Self.asked)"
        case .schannel:
            "a root of your own goes into the Trusted Root Certification Authorities of Windows; \(Self.asked)"
        case .nss: "a root of your own goes into the certificates of Firefox, or into the database of NSS"
        case .qt: "a root of your own goes into the QSslConfiguration (setCaCertificates)"
        case .mbedTLS:
            "a root of your own goes into the bundle that the program brings (Godot: Network > TLS > Certificate Bundle Override)"
        case .rust:
            "a root of your own is added to the client (add_root_certificate), or it uses rustls-platform-verifier, which asks the system"
        case .go: "a root of your own goes into RootCAs of tls.Config"
        case .grpc:
            "a root of your own goes into the trust roots of its own TLS configuration (trustRoots of grpc-swift and NIOSSL, the PEM roots of gRPC's call options); with Network as its transport the roots of the device count"
        case .ktor: "the Darwin engine loads with the system's stack, then ATS counts"
        case .android:
            "a root of your own goes into Android's network security configuration; for iOS give the lines of its console"
        }
    }

    /// What helps where no root is missing; nil if that is for the server alone.
    fileprivate var other: String? {
        switch self {
        case .curl, .openSSL, .schannel: Self.asked
        case .dotNet: advice
        default: nil
        }
    }

    private static let asked =
        "what an app of Apple's systems does with the server: `sealward ats check https://HOST/`"
}

extension ErrorNumber {
    /// The name and what it means, as a sentence.
    var said: String {
        let text = "\(name): \(meaning.isEmpty ? sentence : meaning)"
        return text + (text.hasSuffix(".") ? "" : ".")
    }
}

extension String {
    var uppercasedFirst: String { prefix(1).uppercased() + dropFirst() }
}
