// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Findings

/// What each code of App Transport Security means, and who does what about it.
package enum CauseExplanations {
    /// The causes why a load is blocked, refused or unanswered. What to do about most of them is in the table of ``Remediation``.
    package static let causes: [CodeExplanation] = [
        fixed("ats.cleartext.blocked", "a cleartext URL, and the policy requires TLS for its host", .server),
        .init(
            "ats.local.blocked",
            "the system lets no load reach addresses and local names",
            .developer,
            "load over https, or name the local host in NSExceptionDomains: iOS 9 knows no NSAllowsLocalNetworking"
        ),
        fixed(
            "ats.tls.version-too-low",
            "no version in common: the server negotiates an older one than allowed, or knows only newer ones than the system",
            .server
        ),
        fixed("ats.tls.no-common-suite", "the server negotiates or wants a suite that is not offered", .server),
        fixed("ats.tls.no-forward-secrecy", "only RSA key exchange, and forward secrecy is required", .server),
        fixed("ats.tls.no-common-group", "no group of the key exchange in common", .server),
        fixed(
            "ats.tls.handshake-failed",
            "the handshake failed for another reason: an alert, a broken message, a signature that does not match",
            .server
        ),
        fixed(
            "ats.tls.large-hello",
            "only a smaller hello is answered: the server, or something on the way, fails for one that comes in two TCP segments",
            .server
        ),
        fixed(
            "ats.tls.no-extended-master-secret",
            "FCP_v2.1 is required, and TLS 1.2 was negotiated without the extended master secret",
            .server
        ),
        fixed("ats.tls.client-certificate-required", "the server demands a client certificate", .developer),
        fixed("ats.trust.unknown-root", "the chain ends in a root that is in no store", .server),
        fixed("ats.trust.self-signed", "the leaf is self-signed", .server),
        fixed(
            "ats.trust.missing-intermediate",
            "the server did not send the certificate that issued its leaf",
            .server
        ),
        fixed("ats.trust.expired", "a certificate has expired", .server),
        fixed("ats.trust.not-yet-valid", "a certificate is not valid yet", .server),
        fixed("ats.trust.wrong-host", "the certificate names other hosts", .server),
        fixed(
            "ats.trust.no-subject-alternative-name",
            "the certificate has the name only as its common name, or nowhere",
            .server
        ),
        fixed(
            "ats.trust.weak-key",
            "an RSA key under 2048 bits, a curve under 256 or one that TLS does not know; the root's key counts too",
            .server
        ),
        fixed("ats.trust.weak-signature", "a certificate signed with a hash weaker than SHA-256", .server),
        fixed("ats.trust.validity-too-long", "the leaf is valid for more days than allowed", .server),
        fixed("ats.trust.wrong-key-usage", "the purpose or the place in the path does not fit", .server),
        fixed(
            "ats.trust.name-constraints",
            "a name on the path is outside of what an authority above it may issue for",
            .server
        ),
        fixed(
            "ats.trust.issuance",
            "`ats certificate` alone: no authority may issue such a certificate, although trust evaluation lets it through",
            .server
        ),
        fixed("ats.trust.revoked", "the certificate is revoked", .server),
        fixed(
            "ats.trust.needs-delegate",
            "the dictionary permits app code to accept this certificate; without it the load fails",
            .server
        ),
        fixed("ats.trust.pin-mismatch", "no pinned key in the chain", .developer),
        .init(
            "ats.trust.refused-by-delegate",
            "the app's own check refused the certificate",
            .developer,
            "look at what the delegate of the load compares"
        ),
        fixed(
            "ats.ct.missing",
            "too few signed certificate timestamps that verify, of known logs and enough operators",
            .server
        ),
        fixed("ats.http.redirect-blocked", "a redirect to a URL that the policy blocks", .server),
        fixed("ats.http.redirect-loop", "too many redirects", .server),
        fixed("ats.http.no-answer", "TLS was completed and no HTTP answer came", .server),
        .init(
            "ats.http.answer-too-large",
            "the answer is larger than the caller allows",
            .developer,
            "raise the limit of the load, or ask for less"
        ),
        .init(
            "ats.http.incomplete-answer",
            "the answer ended before its announced length",
            .server,
            "look for what closes the connection early: a crash, a timeout of a proxy, a wrong Content-Length"
        ),
        .init(
            "ats.http.request-body",
            "the request's body could not be sent: a second time, with another length than announced, or with a method that has none",
            .developer,
            "give a body that can be sent again, with its true length"
        ),
        fixed("ats.net.refused", "nothing listens, or the host cannot be reached", .server),
        fixed("ats.net.timeout", "no answer in time; says nothing about what is supported", .network),
        fixed("ats.net.reset", "the connection was reset", .network),
        fixed("ats.net.closed", "the connection was closed without an answer", .server),
        fixed("ats.net.not-tls", "the answer is not TLS", .server),
        fixed("ats.net.dns", "the name cannot be resolved", .server),
        .init(
            "ats.proxy.name-mismatch",
            "the hello in a tunnel asks for another host than the tunnel was opened to",
            .developer,
            "open the tunnel to the host that the hello names: only the host of CONNECT was judged"
        ),
        .init(
            "ats.proxy.forbidden-address",
            "the proxy does not connect there: itself, link-local, metadata",
            .nobody,
            "ask for such an address without the proxy"
        ),
    ]

    /// The rules that decide about a URL, remarks on the dictionary, and notes.
    package static let rules: [CodeExplanation] = [
        rule("ats.rule.default", "no key says otherwise"),
        rule("ats.rule.exception", "an entry of NSExceptionDomains decides"),
        rule("ats.rule.built-in", "an entry that the system registers decides"),
        rule("ats.rule.local", "the host is local"),
        rule("ats.rule.arbitrary-loads", "NSAllowsArbitraryLoads is YES"),
        .init(
            "ats.rule.arbitrary-loads-ignored",
            "NSAllowsArbitraryLoads does not count beside a sibling",
            .developer,
            "remove NSAllowsArbitraryLoads, or keep it for iOS 9 alone and say so"
        ),
        rule("ats.rule.media", "NSAllowsArbitraryLoadsForMedia decides"),
        rule("ats.rule.web-content", "NSAllowsArbitraryLoadsInWebContent decides"),
        rule("ats.rule.not-covered", "ATS does not apply to this loader"),
        rule("ats.rule.no-transport-security", "the system is older than ATS"),
        .init(
            "ats.dictionary.wrong-type",
            "a value of a wrong type, which counts as absent",
            .developer,
            "give the key a value of its type; ats lint --fix does it"
        ),
        .init(
            "ats.dictionary.bad-value",
            "a value that the system does not know",
            .developer,
            "write the value as Apple documents it, for example TLSv1.2"
        ),
        .init(
            "ats.dictionary.unknown-key",
            "a key that the system does not read",
            .developer,
            "correct the name or remove the key; ats lint names the one that was meant"
        ),
        .init(
            "ats.dictionary.nested",
            "a dictionary is wrapped one level too deep, so nothing inside is read",
            .developer,
            "move its contents up one level"
        ),
        .init(
            "ats.dictionary.more-remarks",
            "the dictionary has more remarks than are listed (10,000)",
            .developer,
            "correct those that are listed and run it again"
        ),
        .init(
            "ats.pins.empty",
            "a list of pins without a usable pin: every chain is refused",
            .developer,
            "add the pins, or remove the list"
        ),
        .init(
            "ats.note.entry-almost-matches",
            "an entry of NSExceptionDomains means the host and does not match it, and why",
            .developer,
            "write the entry as the note says"
        ),
        .init(
            "ats.note.subdomain-depth",
            "documentation and evaluator disagree on the depth of subdomains",
            .developer,
            "name the host itself instead of relying on NSIncludesSubdomains"
        ),
        note("ats.note.local-range-unverified", "that this range is local is known from field reports"),
        .init(
            "ats.note.stack-minimum",
            "ATS accepts an older version than the network stack of an app with this SDK speaks",
            .server,
            "enable a version that the stack speaks; no key of the dictionary helps"
        ),
        note(
            "ats.note.sdk-inferred",
            "what an app with an older SDK does on this system follows from Apple's words and was not measured"
        ),
        note("ats.note.tls13-unknown", "the system does not know TLSv1.3"),
        .init(
            "ats.note.ct-not-judged",
            "Certificate Transparency was not judged for want of a log list",
            .author,
            "give a list of logs with --ct-log-list"
        ),
        note("ats.note.ct-timestamp-refused", "a certificate timestamp does not count, and why; enough others do"),
        .init(
            "ats.note.intermediate-fetched",
            "a missing intermediate was fetched",
            .server,
            "send the intermediate: not every client fetches it"
        ),
        .init(
            "ats.note.staple-unusable",
            "the stapled OCSP response cannot be believed, and why",
            .server,
            "let the server fetch a new response, or switch stapling off"
        ),
        note("ats.note.key-possession-unproven", "nothing in the flight proves that the server holds its key"),
        .init(
            "ats.note.lifetime",
            "the certificate is longer than authorities may issue today, or its successor must be shorter, and from when",
            .server,
            "renew by a program: what authorities may issue gets shorter every year"
        ),
        .init(
            "ats.note.expires-soon",
            "a certificate of the path expires within the days that were asked for",
            .server,
            "renew the certificate before the day that the note names"
        ),
        note("ats.note.load-not-made", "the HTTPS load was not made, and why"),
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
