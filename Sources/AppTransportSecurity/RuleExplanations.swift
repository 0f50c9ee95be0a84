// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// What the rules that decide about a URL and the notes beside a verdict mean.
package enum RuleExplanations {
    /// The rules that decide about a URL, remarks on the dictionary, and notes.
    package static let all: [CodeExplanation] = [
        rule(.ruleDefault, "no key says otherwise"),
        rule(.ruleException, "an entry of NSExceptionDomains decides"),
        rule(.ruleBuiltIn, "an entry that the system registers decides"),
        rule(.ruleLocal, "the host is local"),
        rule(.ruleArbitraryLoads, "NSAllowsArbitraryLoads is YES"),
        .init(
            .ruleArbitraryLoadsIgnored, "NSAllowsArbitraryLoads does not count, because a newer global key is present",
            .developer, "remove NSAllowsArbitraryLoads, or keep it only for iOS 9 and say so"),
        rule(.ruleMedia, "NSAllowsArbitraryLoadsForMedia decides"),
        rule(.ruleWebContent, "NSAllowsArbitraryLoadsInWebContent decides"),
        rule(.ruleNotCovered, "ATS does not apply to this loader"),
        rule(.ruleNoTransportSecurity, "the system, or the SDK of the app, is older than ATS"),
        .init(
            .dictionaryWrongType, "a value of a wrong type, which counts as absent", .developer,
            "give the key a value of its type; ats lint --fix does it"),
        .init(
            .dictionaryBadValue, "a value that the system does not recognize", .developer,
            "write the value as Apple documents it, for example TLSv1.2"),
        .init(
            .dictionaryUnknownKey, "a key that the system does not read", .developer,
            "correct the name or remove the key; ats lint names the one that was meant"),
        .init(
            .dictionaryNested, "a dictionary is wrapped one level too deep, so nothing inside is read", .developer,
            "move its contents up one level"),
        .init(
            .dictionaryMoreRemarks, "the dictionary has more remarks than are listed (10,000)", .developer,
            "correct those that are listed and run it again"),
        .init(
            .pinsEmpty, "a list of pins without a usable pin: every chain is refused", .developer,
            "add the pins, or remove the list"),
        .init(
            .noteEntryAlmostMatches,
            "an entry of NSExceptionDomains is meant for the host but does not match it, and why", .developer,
            "write the entry as the note says"),
        .init(
            .noteSubdomainDepth, "documentation and evaluator disagree on the depth of subdomains", .developer,
            "name the host itself instead of relying on NSIncludesSubdomains"),
        note(.noteLocalRangeUnverified, "only field reports say that this range is local"),
        .init(
            .noteStackMinimum, "ATS accepts a version that is too old for the network stack of an app with this SDK",
            .server, "enable a version that the stack speaks; no key of the dictionary helps"),
        note(
            .noteSDKInferred,
            "what an app with an older SDK does on this system is inferred from Apple's words, not measured"),
        note(.noteTLS13Unknown, "the system does not support TLSv1.3"),
        note(
            .noteTLS13Minimum,
            "whether loads with a minimum of TLSv1.3 succeed on the system is disputed; here they fail"),
        .init(
            .noteCTNotJudged, "Certificate Transparency was not judged because no log list was given", .author,
            "pass a log list with --ct-log-list"),
        .init(
            .noteCTListOld, "the list of Certificate Transparency logs is 60 days old or older", .author,
            "pass a newer list with --ct-log-list"),
        note(.noteCTTimestampRefused, "a certificate timestamp does not count, and why; enough others do"),
        .init(
            .noteIntermediateFetched, "a missing intermediate was fetched", .server,
            "send the intermediate: not every client fetches it"),
        .init(
            .noteStapleUnusable, "the stapled OCSP response cannot be trusted, and why", .server,
            "let the server fetch a new response, or turn stapling off"),
        .init(
            .noteClientCertificateRequested, "the server asks for a client certificate, and may go on without one",
            .server,
            "do not ask for one where apps load that have none; a 403 becomes -1206"),
        .init(
            .notePurposeExempt,
            "the certificate does not name serverAuth as its purpose, which passes only because its root is one that a user installed",
            .server,
            "reissue the certificate with serverAuth: anchors that the app brings are not exempt"),
        .init(
            .noteAppAnchor,
            "the chain ends in an anchor that the app brings, which ATS refuses in some reports and not in others",
            .developer,
            "permit the app's own evaluation with NSExceptionAllowsInsecureHTTPLoads in the host's entry, or install the root"
        ),
        .init(
            .noteValidityExempt,
            "the certificate is valid for more days than Apple's documents allow, which passes only because the user trusts it itself",
            .server,
            "get a certificate that is valid for at most 825 days: below a root that is installed the limit holds"),
        .init(
            .noteWildcardBelowTop,
            "the certificate has a wildcard directly below a top-level name; one report says that it was refused whole",
            .server,
            "name the hosts, without such a wildcard"),
        note(.noteKeyPossessionUnproven, "nothing in the handshake proves that the server has its private key"),
        .init(
            .noteLifetime,
            "the certificate is valid for longer than CAs may issue today, or its successor must be shorter, and from when",
            .server, "automate renewal: the lifetime that CAs may issue gets shorter step by step"),
        .init(
            .noteExpiresSoon, "a certificate of the path expires within the given number of days", .server,
            "renew the certificate before the day that the note names"),
        .init(
            .notePinnedKeys, "which key that the app pins ends when, and what comes after it", .developer,
            "ship an app that pins the next key before the day that the note names"),
        note(.noteLoadNotMade, "the HTTPS load was not made, and why"),
    ]

    private static func rule(_ code: Code, _ meaning: String) -> CodeExplanation {
        CodeExplanation(code, meaning, .nobody, "nothing: it names the rule that decided")
    }

    private static func note(_ code: Code, _ meaning: String) -> CodeExplanation {
        CodeExplanation(code, meaning, .nobody, "nothing: it says how far the answer can be relied on")
    }
}
