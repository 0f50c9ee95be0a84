// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Findings

/// What each code of App Transport Security means, and who does what about it.
package enum CauseExplanations {
    /// The causes why a load is blocked, refused or unanswered. What to do about most of them is in the table of ``Remediation``.
    package static let causes: [CodeExplanation] = [
        fixed(.cleartextBlocked, "a cleartext URL, and the policy requires TLS for its host", .server),
        .init(
            .localBlocked,
            "the system lets no load reach addresses and local names",
            .developer,
            "load over https, or name the local host in NSExceptionDomains: iOS 9 knows no NSAllowsLocalNetworking"
        ),
        fixed(
            .tlsVersionTooLow,
            "no version in common: the server negotiates an older one than allowed, or knows only newer ones than the system",
            .server
        ),
        fixed(.tlsNoCommonSuite, "the server negotiates or wants a suite that is not offered", .server),
        fixed(.tlsNoForwardSecrecy, "only RSA key exchange, and forward secrecy is required", .server),
        fixed(
            .tlsNoCommonSignature,
            "the server's key signs the handshake only with algorithms that are not offered",
            .server
        ),
        fixed(.tlsNoCommonGroup, "no group of the key exchange in common", .server),
        fixed(
            .tlsHandshakeFailed,
            "the handshake failed for another reason: an alert, a broken message, a signature that does not match",
            .server
        ),
        fixed(
            .tlsLargeHello,
            "only a smaller hello is answered: the server, or something on the way, fails for one that comes in two TCP segments",
            .server
        ),
        fixed(
            .tlsNoExtendedMasterSecret,
            "FCP_v2.1 is required, and TLS 1.2 was negotiated without the extended master secret",
            .server
        ),
        fixed(.tlsClientCertificateRequired, "the server demands a client certificate", .developer),
        fixed(.trustUnknownRoot, "the chain ends in a root that is in no store", .server),
        fixed(.trustSelfSigned, "the leaf is self-signed", .server),
        fixed(
            .trustMissingIntermediate,
            "the server did not send the certificate that issued its leaf",
            .server
        ),
        fixed(.trustExpired, "a certificate has expired", .server),
        fixed(.trustNotYetValid, "a certificate is not valid yet", .server),
        fixed(.trustWrongHost, "the certificate names other hosts", .server),
        fixed(
            .trustNoSubjectAlternativeName,
            "the certificate has the name only as its common name, or nowhere",
            .server
        ),
        fixed(
            .trustWeakKey,
            "an RSA key under 2048 bits, a curve under 256 or one that TLS does not know; the root's key counts too",
            .server
        ),
        fixed(.trustWeakSignature, "a certificate signed with a hash weaker than SHA-256", .server),
        fixed(.trustValidityTooLong, "the leaf is valid for more days than allowed", .server),
        fixed(.trustWrongKeyUsage, "the purpose or the place in the path does not fit", .server),
        fixed(
            .trustNameConstraints,
            "a name on the path is outside of what an authority above it may issue for",
            .server
        ),
        fixed(
            .trustIssuance,
            "`ats certificate` alone: no authority may issue such a certificate, although trust evaluation lets it through",
            .server
        ),
        fixed(.trustRevoked, "the certificate is revoked", .server),
        fixed(
            .trustNeedsDelegate,
            "the dictionary permits app code to accept this certificate; without it the load fails",
            .server
        ),
        fixed(.trustPinMismatch, "no pinned key in the chain", .developer),
        .init(
            .trustRefusedByDelegate,
            "the app's own check refused the certificate",
            .developer,
            "look at what the delegate of the load compares"
        ),
        fixed(
            .ctMissing,
            "too few signed certificate timestamps that verify, of known logs and enough operators",
            .server
        ),
        fixed(.httpRedirectBlocked, "a redirect to a URL that the policy blocks", .server),
        fixed(.httpRedirectLoop, "too many redirects", .server),
        fixed(.httpNoAnswer, "TLS was completed and no HTTP answer came", .server),
        .init(
            .httpAnswerTooLarge,
            "the answer is larger than the caller allows",
            .developer,
            "raise the limit of the load, or ask for less"
        ),
        .init(
            .httpIncompleteAnswer,
            "the answer ended before its announced length",
            .server,
            "look for what closes the connection early: a crash, a timeout of a proxy, a wrong Content-Length"
        ),
        .init(
            .httpRequestBody,
            "the request's body could not be sent: a second time, with another length than announced, or with a method that has none",
            .developer,
            "give a body that can be sent again, with its true length"
        ),
        fixed(.netRefused, "nothing listens, or the host cannot be reached", .server),
        fixed(.netTimeout, "no answer in time; says nothing about what is supported", .network),
        fixed(.netReset, "the connection was reset", .network),
        fixed(.netClosed, "the connection was closed without an answer", .server),
        fixed(.netNotTLS, "the answer is not TLS", .server),
        fixed(.netDNS, "the name cannot be resolved", .server),
        .init(
            .proxyNameMismatch,
            "the hello in a tunnel asks for another host than the tunnel was opened to",
            .developer,
            "open the tunnel to the host that the hello names: only the host of CONNECT was judged"
        ),
        .init(
            .proxyForbiddenAddress,
            "the proxy does not connect there: itself, link-local, metadata",
            .nobody,
            "ask for such an address without the proxy"
        ),
    ]

    /// The rules that decide about a URL, remarks on the dictionary, and notes.
    package static let rules: [CodeExplanation] = [
        rule(.ruleDefault, "no key says otherwise"),
        rule(.ruleException, "an entry of NSExceptionDomains decides"),
        rule(.ruleBuiltIn, "an entry that the system registers decides"),
        rule(.ruleLocal, "the host is local"),
        rule(.ruleArbitraryLoads, "NSAllowsArbitraryLoads is YES"),
        .init(
            .ruleArbitraryLoadsIgnored,
            "NSAllowsArbitraryLoads does not count beside a sibling",
            .developer,
            "remove NSAllowsArbitraryLoads, or keep it for iOS 9 alone and say so"
        ),
        rule(.ruleMedia, "NSAllowsArbitraryLoadsForMedia decides"),
        rule(.ruleWebContent, "NSAllowsArbitraryLoadsInWebContent decides"),
        rule(.ruleNotCovered, "ATS does not apply to this loader"),
        rule(.ruleNoTransportSecurity, "the system is older than ATS"),
        .init(
            .dictionaryWrongType,
            "a value of a wrong type, which counts as absent",
            .developer,
            "give the key a value of its type; ats lint --fix does it"
        ),
        .init(
            .dictionaryBadValue,
            "a value that the system does not know",
            .developer,
            "write the value as Apple documents it, for example TLSv1.2"
        ),
        .init(
            .dictionaryUnknownKey,
            "a key that the system does not read",
            .developer,
            "correct the name or remove the key; ats lint names the one that was meant"
        ),
        .init(
            .dictionaryNested,
            "a dictionary is wrapped one level too deep, so nothing inside is read",
            .developer,
            "move its contents up one level"
        ),
        .init(
            .dictionaryMoreRemarks,
            "the dictionary has more remarks than are listed (10,000)",
            .developer,
            "correct those that are listed and run it again"
        ),
        .init(
            .pinsEmpty,
            "a list of pins without a usable pin: every chain is refused",
            .developer,
            "add the pins, or remove the list"
        ),
        .init(
            .noteEntryAlmostMatches,
            "an entry of NSExceptionDomains means the host and does not match it, and why",
            .developer,
            "write the entry as the note says"
        ),
        .init(
            .noteSubdomainDepth,
            "documentation and evaluator disagree on the depth of subdomains",
            .developer,
            "name the host itself instead of relying on NSIncludesSubdomains"
        ),
        note(.noteLocalRangeUnverified, "that this range is local is known from field reports"),
        .init(
            .noteStackMinimum,
            "ATS accepts an older version than the network stack of an app with this SDK speaks",
            .server,
            "enable a version that the stack speaks; no key of the dictionary helps"
        ),
        note(
            .noteSDKInferred,
            "what an app with an older SDK does on this system follows from Apple's words and was not measured"
        ),
        note(.noteTLS13Unknown, "the system does not know TLSv1.3"),
        .init(
            .noteCTNotJudged,
            "Certificate Transparency was not judged for want of a log list",
            .author,
            "give a list of logs with --ct-log-list"
        ),
        note(.noteCTTimestampRefused, "a certificate timestamp does not count, and why; enough others do"),
        .init(
            .noteIntermediateFetched,
            "a missing intermediate was fetched",
            .server,
            "send the intermediate: not every client fetches it"
        ),
        .init(
            .noteStapleUnusable,
            "the stapled OCSP response cannot be believed, and why",
            .server,
            "let the server fetch a new response, or switch stapling off"
        ),
        note(.noteKeyPossessionUnproven, "nothing in the flight proves that the server holds its key"),
        .init(
            .noteLifetime,
            "the certificate is longer than authorities may issue today, or its successor must be shorter, and from when",
            .server,
            "renew by a program: what authorities may issue gets shorter every year"
        ),
        .init(
            .noteExpiresSoon,
            "a certificate of the path expires within the days that were asked for",
            .server,
            "renew the certificate before the day that the note names"
        ),
        note(.noteLoadNotMade, "the HTTPS load was not made, and why"),
    ]

    private static func fixed(_ code: Code, _ meaning: String, _ actor: CodeExplanation.Actor) -> CodeExplanation {
        CodeExplanation(code, meaning, actor, Remediation(for: Cause(code, ""))?.server ?? "")
    }

    private static func rule(_ code: Code, _ meaning: String) -> CodeExplanation {
        CodeExplanation(code, meaning, .nobody, "nothing: it names the rule that decided")
    }

    private static func note(_ code: Code, _ meaning: String) -> CodeExplanation {
        CodeExplanation(code, meaning, .nobody, "nothing: it says how far the answer can be relied on")
    }
}
