// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Testing
import Vocabulary

/// Sections 1 and 2 of the ATS facts: who needs TLS, and which rule said so.
@Suite("URL decisions")
struct DecisionTableTests {
    static let precedence: [Row] = [
        Row("http://example.com/", "{}", required: true, .default),
        Row(
            "http://example.com/", #"{"NSAllowsArbitraryLoads":true}"#, required: false, .global,
            "NSAllowsArbitraryLoads"),
        Row(
            "http://example.com/", #"{"NSAllowsArbitraryLoads":1}"#, required: false, .global, "NSAllowsArbitraryLoads"),
        Row("http://example.com/", #"{"NSAllowsArbitraryLoads":2}"#, required: true, .default),
        Row("http://example.com/", #"{"NSAllowsArbitraryLoads":"YES"}"#, required: true, .default),
        Row("http://example.com/", #"{"NSAllowsArbitraryLoads":false}"#, required: true, .default),
        // A sibling that is present switches NSAllowsArbitraryLoads off, whatever the sibling's value; a string is not present.
        Row(
            "http://example.com/", #"{"NSAllowsArbitraryLoads":true,"NSAllowsArbitraryLoadsInWebContent":false}"#,
            required: true, .global, "NSAllowsArbitraryLoadsInWebContent"),
        Row(
            "http://example.com/", #"{"NSAllowsArbitraryLoads":true,"NSAllowsArbitraryLoadsForMedia":false}"#,
            required: true, .global, "NSAllowsArbitraryLoadsForMedia"),
        Row(
            "http://example.com/", #"{"NSAllowsArbitraryLoads":true,"NSAllowsLocalNetworking":true}"#, required: true,
            .global, "NSAllowsLocalNetworking"),
        Row(
            "http://example.com/", #"{"NSAllowsArbitraryLoads":true,"NSAllowsLocalNetworking":"YES"}"#, required: false,
            .global, "NSAllowsArbitraryLoads"),
        // iOS 9 and OS X 10.11 obey only NSAllowsArbitraryLoads.
        Row(
            "http://example.com/", #"{"NSAllowsArbitraryLoads":true,"NSAllowsArbitraryLoadsInWebContent":true}"#,
            "ios9", required: false, .global, "NSAllowsArbitraryLoads"),
        Row(
            "http://x.com/", #"{"NSAllowsArbitraryLoadsInWebContent":true}"#, "ios9", required: true, .default,
            loader: .web),
        Row(
            "http://x.com/", #"{"NSAllowsArbitraryLoads":true,"NSAllowsLocalNetworking":false}"#, "macos10.11",
            required: false, .global, "NSAllowsArbitraryLoads"),
        // The keys for one loader.
        Row(
            "http://x.com/", #"{"NSAllowsArbitraryLoadsInWebContent":true}"#, required: false, .global,
            "NSAllowsArbitraryLoadsInWebContent", loader: .web),
        Row("http://x.com/", #"{"NSAllowsArbitraryLoadsInWebContent":true}"#, required: true, .default),
        Row(
            "http://x.com/", #"{"NSAllowsArbitraryLoadsForMedia":true}"#, required: false, .global,
            "NSAllowsArbitraryLoadsForMedia", loader: .media),
        Row("http://x.com/", #"{"NSAllowsArbitraryLoadsForMedia":true}"#, required: true, .default, loader: .web),
        // The first name of the media key is read by nobody.
        Row("http://x.com/", #"{"NSAllowsArbitraryLoadsInMedia":true}"#, required: true, .default, loader: .media),
        // An entry beats every global key, an empty one too.
        Row(
            "http://example.com/", #"{"NSAllowsArbitraryLoads":true,"NSExceptionDomains":{"example.com":{}}}"#,
            required: true, .exception, "NSExceptionDomains.example.com"),
        Row(
            "http://example.com/",
            #"{"NSExceptionDomains":{"example.com":{"NSExceptionAllowsInsecureHTTPLoads":true}}}"#, required: false,
            .exception, "NSExceptionDomains.example.com"),
        Row(
            "http://x.com/", #"{"NSAllowsArbitraryLoadsInWebContent":true,"NSExceptionDomains":{"x.com":{}}}"#,
            required: true, .exception, "NSExceptionDomains.x.com", loader: .web),
        // Broken dictionaries have their defaults.
        Row("http://x.com/", #"{"NSExceptionDomains":[]}"#, required: true, .default),
        Row("http://x.com/", #"{"NSExceptionDomains":{"x.com":true}}"#, required: true, .default),
        Row("http://x.com/", #"[]"#, required: true, .default),
        // Legacy keys have no effect.
        Row(
            "http://x.com/", #"{"NSExceptionDomains":{"x.com":{"NSTemporaryExceptionAllowsInsecureHTTPLoads":true}}}"#,
            required: true, .exception, "NSExceptionDomains.x.com"),
        Row(
            "http://x.com/", #"{"NSExceptionDomains":{"x.com":{"NSThirdPartyExceptionAllowsInsecureHTTPLoads":true}}}"#,
            required: true, .exception, "NSExceptionDomains.x.com"),
        // The first systems obeyed them.
        Row(
            "http://x.com/", #"{"NSExceptionDomains":{"x.com":{"NSTemporaryExceptionAllowsInsecureHTTPLoads":true}}}"#,
            "ios9", required: false, .exception, "NSExceptionDomains.x.com"),
        Row(
            "http://x.com/", #"{"NSExceptionDomains":{"x.com":{"NSThirdPartyExceptionAllowsInsecureHTTPLoads":true}}}"#,
            "macos10.11", required: false, .exception, "NSExceptionDomains.x.com"),
        // What CFNetwork does not load.
        Row("http://x.com/", "{}", required: false, .notCovered, loader: .lowLevel),
        Row("http://x.com/", "{}", required: false, .notCovered, loader: .dotnetManaged),
        Row("http://x.com/", "{}", required: true, .default, loader: .dotnetCFNetwork),
        Row("http://x.com/", "{}", required: true, .default, loader: .dotnetNSURLSession),
    ]

    static let insecureParent =
        #"{"NSExceptionDomains":{"example.com":{"NSIncludesSubdomains":true,"NSExceptionAllowsInsecureHTTPLoads":true}}}"#

    static let names: [Row] = [
        Row("http://a.example.com/", insecureParent, required: false, .exception, "NSExceptionDomains.example.com"),
        Row("http://c.b.a.example.com/", insecureParent, required: false, .exception, "NSExceptionDomains.example.com"),
        Row("http://notexample.com/", insecureParent, required: true, .default),
        Row("http://EXAMPLE.com:8080/", insecureParent, required: false, .exception, "NSExceptionDomains.example.com"),
        Row("http://example.com./", insecureParent, required: true, .default),
        Row(
            "http://a.example.com/",
            #"{"NSExceptionDomains":{"example.com":{"NSExceptionAllowsInsecureHTTPLoads":true}}}"#, required: true,
            .default),
        // An ancestor without subdomains is skipped, not a stopper.
        Row(
            "http://c.b.example.com/",
            #"""
            {"NSExceptionDomains":{"b.example.com":{},
             "example.com":{"NSIncludesSubdomains":true,"NSExceptionAllowsInsecureHTTPLoads":true}}}
            """#,
            required: false,
            .exception,
            "NSExceptionDomains.example.com"
        ),
        // The most specific one that may speak wins; nothing is merged.
        Row(
            "http://c.b.example.com/",
            #"""
            {"NSExceptionDomains":{"b.example.com":{"NSIncludesSubdomains":true},
             "example.com":{"NSIncludesSubdomains":true,"NSExceptionAllowsInsecureHTTPLoads":true}}}
            """#,
            required: true,
            .exception,
            "NSExceptionDomains.b.example.com"
        ),
        // Keys that never match: upper case, a port, a wildcard, a URL.
        Row(
            "http://example.com/",
            #"{"NSExceptionDomains":{"Example.com":{"NSExceptionAllowsInsecureHTTPLoads":true}}}"#, required: true,
            .default),
        Row(
            "http://example.com:80/",
            #"{"NSExceptionDomains":{"example.com:80":{"NSExceptionAllowsInsecureHTTPLoads":true}}}"#, required: true,
            .default),
        Row(
            "http://a.example.com/",
            #"{"NSExceptionDomains":{"*.example.com":{"NSExceptionAllowsInsecureHTTPLoads":true}}}"#, required: true,
            .default),
        Row(
            "http://example.com/",
            #"{"NSExceptionDomains":{"http://example.com":{"NSExceptionAllowsInsecureHTTPLoads":true}}}"#,
            required: true, .default),
        // Built-in entries, and the app's own in their place.
        Row("http://www.apple.com/", "{}", required: false, .builtIn, "NSExceptionDomains.apple.com"),
        Row(
            "http://www.apple.com/", #"{"NSExceptionDomains":{"apple.com":{"NSIncludesSubdomains":true}}}"#,
            required: true, .exception, "NSExceptionDomains.apple.com"),
        Row("http://www.apple.com/", "{}", "published", required: true, .default),
    ]

    static let local: [Row] = [
        Row("http://localhost/", "{}", required: false, .local),
        Row("http://printer.local/", "{}", required: false, .local),
        Row("http://printer.local./", "{}", required: false, .local),
        Row("http://intranet/", "{}", required: false, .local),
        Row("http://127.0.0.1/", "{}", required: false, .local),
        Row("http://[::1]/", "{}", required: false, .local),
        Row("http://[fe80::1]/", "{}", required: false, .local),
        Row("http://203.0.113.1/", "{}", required: true, .default),
        Row("http://[fe00::1]/", "{}", required: true, .default),
        Row("http://[2001:db8::1]/", "{}", required: true, .default),
        Row("http://192.168.1.5/", "{}", required: false, .local),
        Row("http://100.64.0.1/", "{}", required: true, .default),
        Row("http://203.0.113.1/", "{}", "ios10", required: false, .local),
        Row("http://203.0.113.1/", "{}", "ios16", required: false, .local),
        Row("http://203.0.113.1/", "{}", "ios17", required: true, .default),
        Row("http://localhost/", "{}", "ios9", required: true, .default),
        Row("http://127.0.0.1/", "{}", "macos10.11", required: true, .default),
        Row(
            "http://127.0.0.1/", #"{"NSAllowsArbitraryLoads":true}"#, "ios9", required: false, .global,
            "NSAllowsArbitraryLoads"),
        Row(
            "http://127.0.0.1/", #"{"NSExceptionDomains":{"127.0.0.1":{"NSExceptionAllowsInsecureHTTPLoads":true}}}"#,
            "ios9", required: true, .default),
        Row(
            "http://localhost/", #"{"NSAllowsLocalNetworking":true}"#, required: false, .local,
            "NSAllowsLocalNetworking"),
        Row("http://localhost/", #"{"NSAllowsLocalNetworking":false}"#, required: true, .default),
        Row("http://localhost/", #"{"NSAllowsLocalNetworking":"NO"}"#, required: false, .local),
        Row(
            "http://myhost.local/",
            #"{"NSExceptionDomains":{"myhost.local":{"NSExceptionAllowsInsecureHTTPLoads":false}}}"#, required: true,
            .exception, "NSExceptionDomains.myhost.local"),
    ]

    static let ranges = #"""
        {"NSExceptionDomains":{
          "198.51.100.0/24":{"NSExceptionAllowsInsecureHTTPLoads":true},
          "198.51.100.96/27":{"NSExceptionAllowsInsecureHTTPLoads":false},
          "198.51.100.101":{"NSExceptionAllowsInsecureHTTPLoads":true},
          "2001:db8::/32":{"NSExceptionAllowsInsecureHTTPLoads":true},
          "2001:db8::/64":{"NSExceptionAllowsInsecureHTTPLoads":false},
          "10/8":{"NSExceptionAllowsInsecureHTTPLoads":false},
          "0.0.0.0/1":{"NSExceptionAllowsInsecureHTTPLoads":false},
          "198.51.100.0/33":{"NSExceptionAllowsInsecureHTTPLoads":true}}}
        """#

    static let addresses: [Row] = [
        Row("http://198.51.100.7/", ranges, required: false, .exception, "NSExceptionDomains.198.51.100.0/24"),
        Row("http://198.51.100.100/", ranges, required: true, .exception, "NSExceptionDomains.198.51.100.96/27"),
        Row("http://198.51.100.101/", ranges, required: false, .exception, "NSExceptionDomains.198.51.100.101"),
        Row("http://[2001:db8:1::1]/", ranges, required: false, .exception, "NSExceptionDomains.2001:db8::/32"),
        Row("http://[2001:db8::5]/", ranges, required: true, .exception, "NSExceptionDomains.2001:db8::/64"),
        Row("http://10.1.2.3/", ranges, required: true, .exception, "NSExceptionDomains.10/8"),
        Row("http://127.0.0.1/", ranges, required: true, .exception, "NSExceptionDomains.0.0.0.0/1"),
        Row("http://198.51.100.7/", ranges, "ios16", required: false, .local),
    ]

    @Test("precedence of keys", arguments: DecisionTableTests.precedence)
    func keysPrecede(row: Row) throws { try check(row) }

    @Test("matching of names", arguments: DecisionTableTests.names)
    func namesMatch(row: Row) throws { try check(row) }

    @Test("local hosts", arguments: DecisionTableTests.local)
    func localHosts(row: Row) throws { try check(row) }

    /// iOS 9 and OS X 10.11 let nothing reach addresses and local names, over TLS neither.
    @Test(
        "what the first systems keep out of reach",
        arguments: [
            ("https://127.0.0.1/", "{}", true), ("https://203.0.113.1/", "{}", true),
            ("https://[2001:db8::1]/", "{}", true),
            ("https://printer.local/", "{}", true), ("https://intranet/", "{}", true),
            ("https://example.com/", "{}", false),
            ("https://127.0.0.1/", #"{"NSAllowsArbitraryLoads":true}"#, false),
            ("https://printer.local/", #"{"NSAllowsArbitraryLoads":true}"#, false),
            ("https://printer.local/", #"{"NSExceptionDomains":{"printer.local":{}}}"#, false),
            ("https://127.0.0.1/", #"{"NSExceptionDomains":{"127.0.0.1":{}}}"#, true),
            ("https://127.0.0.1/", #"{"NSAllowsLocalNetworking":true}"#, true),
        ]
    )
    func outOfReach(_ url: String, _ json: String, _ isBlocked: Bool) throws {
        for os in ["ios9", "macos10.11"] {
            let decision = try decide(url, json, os: os)
            #expect(decision.verdict == (isBlocked ? .blocked : .dependsOnServer), "\(os)")
            #expect((decision.error?.code == -1022) == isBlocked)
            #expect((decision.because.first?.code == "ats.local.blocked") == isBlocked)
        }
        for os in ["ios10", "macos10.12", "macos26", "published"] {
            #expect(try decide(url, json, os: os).verdict == .dependsOnServer, "\(os)")
        }
    }

    @Test("addresses and ranges", arguments: DecisionTableTests.addresses)
    func addressRanges(row: Row) throws { try check(row) }

    private func check(_ row: Row) throws {
        let decision = try decide(row.url, row.json, os: row.os, loader: row.loader)
        #expect(decision.tlsRequired == row.required)
        #expect(decision.rule == DecidingRule(row.source, key: row.key))
        #expect(decision.verdict == (row.required ? .blocked : .allowed))
        #expect((decision.error?.code == -1022) == row.required)
        #expect(decision.because.first?.code == "ats.cleartext.blocked" || !row.required)
    }
}
