// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// What the keys of NSAppTransportSecurity mean, and those that are mixed up with them, in one sentence each.
package enum KeyExplanations {
    /// The key, the type of its value, and what it does.
    package static let all: [(key: String, type: String, meaning: String)] = current + legacy

    /// The names of 2015.
    private static let legacy = LegacyKeys.names.map { name in
        let start = name.hasPrefix("NSTemporary") ? "NSTemporaryException" : "NSThirdPartyException"
        let now = name.replacing(start, with: "NSException")
        return (
            key: name, type: "in the entry of a host, a name of 2015",
            meaning:
                "\(now) under an older name: \(LegacyKeys.history); write \(now)"
        )
    }

    private static let current: [(key: String, type: String, meaning: String)] = [
        (
            ATSKey.dictionary, "dictionary, at the top of Info.plist",
            "the rules of App Transport Security for the app; without it https, TLS 1.2 and forward secrecy are required of every host"
        ),
        (
            ATSKey.arbitraryLoads, "boolean",
            "YES switches ATS off for hosts without an entry in NSExceptionDomains; from iOS 10 on it counts for nothing where one of the three newer global keys is present, whatever its value; App Review asks why"
        ),
        (
            ATSKey.arbitraryLoadsForMedia, "boolean",
            "YES switches ATS off for media that AVFoundation loads (iOS 10); App Review asks why"
        ),
        (
            ATSKey.arbitraryLoadsInMedia, "boolean, a name of 2016",
            "\(ATSKey.arbitraryLoadsForMedia) had this name until \(ATSKey.arbitraryLoadsInMediaEnd); Apple's published evaluator does not read it; write \(ATSKey.arbitraryLoadsForMedia)"
        ),
        (
            ATSKey.arbitraryLoadsInWebContent, "boolean",
            "YES switches ATS off for what web views load (iOS 10); URLSession is not affected; App Review asks why"
        ),
        (
            ATSKey.localNetworking, "boolean",
            "YES lets local hosts load without TLS (names without a dot, .local names, local addresses; not 100.64.0.0/10); its presence cancels NSAllowsArbitraryLoads; the privacy of the local network is another matter: NSLocalNetworkUsageDescription"
        ),
        (
            ATSKey.exceptionDomains, "dictionary",
            "the hosts for which other rules hold, each with a dictionary: the host in lower case, without scheme and port; addresses and ranges from iOS 17 on; the global keys do not count for them"
        ),
        (
            ATSKey.pinnedDomains, "dictionary",
            "the hosts whose certificates must have one of the given public keys (iOS 14)"
        ),
        (
            ATSKey.requiresNIAP, "string: none, FCP_v2.1, recommended",
            "asks for the TLS of a NIAP package for all hosts (26.4)"
        ),
        (
            ATSKey.includesSubdomains, "boolean, in the entry of a host",
            "YES extends the entry to the names below the host"
        ),
        (
            ATSKey.insecureHTTPLoads, "boolean, in the entry of a host",
            "YES allows http, and lets the app's own code accept a certificate that trust evaluation refuses; alone it makes no certificate good; App Review asks why"
        ),
        (
            ATSKey.minimumTLSVersion, "string, in the entry of a host: TLSv1.0 to TLSv1.3",
            "the oldest version of TLS; any other spelling counts for nothing and leaves 1.2; App Review asks why if it is below 1.2"
        ),
        (ATSKey.forwardSecrecy, "boolean, in the entry of a host", "NO also accepts RSA key exchange"),
        (ATSKey.certificateTransparency, "boolean, in the entry of a host", "obsolete: current systems do not read it"),
        (
            ATSKey.exceptionNIAP, "string, in the entry of a host",
            "another NIAP package than the app's for this host (26.4)"
        ),
        (
            ATSKey.pinnedAuthorities, "array, in NSPinnedDomains",
            "public keys of CAs, each as \(ATSKey.pin): one must be in the chain above the leaf"
        ),
        (
            ATSKey.pinnedLeaves, "array, in NSPinnedDomains",
            "public keys of the server's own certificate, each as \(ATSKey.pin); give a spare one, or a lost key locks the app out"
        ),
        (
            ATSKey.pin, "string, in a dictionary of a list of identities",
            "SHA-256 of the public key (SubjectPublicKeyInfo in DER) as base64 of 32 bytes, without sha256/ in front; `sealward ats pins HOST` writes it"
        ),
        (
            "NSBonjourServices", "array of strings, at the top of Info.plist",
            "the Bonjour services that the app looks for, as _http._tcp: without it the system refuses the search with -65555 (iOS 14); no part of ATS"
        ),
        (
            "com.apple.security.network.client", "boolean, in the entitlements of a Mac app",
            "YES lets a sandboxed app connect to servers; without it each load fails, often with -1003; no part of ATS"
        ),
        (
            "NSLocalNetworkUsageDescription", "string, at the top of Info.plist",
            "what the app does on the local network: the system shows it when it asks the user (iOS 14, macOS 15); no part of ATS, but without consent local loads fail with -1009"
        ),
    ]
}
