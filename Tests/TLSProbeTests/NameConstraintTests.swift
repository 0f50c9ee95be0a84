// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TLSModel
import TestSupport
import Testing

@testable import TLSProbe

/// Name constraints of every kind, over every name of a certificate.
struct NameConstraintTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let limits: [String]
        let names: String
        var subject = "/CN=outside.example"
        /// What the violation says; nil where the names are allowed.
        let says: String?

        init(_ limits: String..., names: String, subject: String = "/CN=outside.example", says: String?) {
            self.limits = limits
            self.names = names
            self.subject = subject
            self.says = says
        }

        var testDescription: String { "\(limits) over \(names) and \(subject)" }
    }

    static let rows = [
        // A common name is never counted: it stands outside of every subtree here.
        Row("permitted;DNS:a.example", names: "DNS:a.example", says: nil),
        Row("permitted;DNS:a.example", names: "DNS:www.a.example", says: nil),
        Row("permitted;DNS:a.example", names: "DNS:A.Example", says: nil),
        Row("permitted;DNS:a.example", names: "DNS:ba.example", says: "do not permit the name ba.example"),
        Row("permitted;DNS:a.example", names: "DNS:a.example,DNS:b.example", says: "do not permit the name b.example"),
        Row("permitted;DNS:a.example", "permitted;DNS:b.example", names: "DNS:a.example,DNS:b.example", says: nil),
        Row("excluded;DNS:b.example", names: "DNS:a.example,DNS:www.b.example", says: "exclude the name www.b.example"),
        Row(
            "permitted;DNS:a.example", "excluded;DNS:b.a.example", names: "DNS:b.a.example",
            says: "exclude the name b.a.example"),
        // A wildcard covers what it could be matched with (CVE-2025-61727).
        Row("excluded;DNS:b.a.example", names: "DNS:*.a.example", says: "exclude the name *.a.example"),
        Row("excluded;DNS:c.b.a.example", names: "DNS:*.a.example", says: nil),
        Row("permitted;DNS:b.a.example", names: "DNS:*.a.example", says: "do not permit the name *.a.example"),
        Row("permitted;DNS:a.example", names: "DNS:*.a.example", says: nil),
        // A leading dot means what is below.
        Row("permitted;DNS:.a.example", names: "DNS:www.a.example", says: nil),
        Row("permitted;DNS:.a.example", names: "DNS:a.example", says: "do not permit the name a.example"),
        Row("excluded;DNS:.a.example", names: "DNS:a.example", says: nil),
        // Nothing can be said of what is no name.
        Row(
            "permitted;DNS:a.example", names: "DNS:w..a.example", says: "cannot be compared with the name w..a.example"),
        Row("permitted;DNS:*.a.example", names: "DNS:www.a.example", says: "cannot be read"),
        // One kind says nothing of another.
        Row("permitted;DNS:a.example", names: "DNS:a.example,IP:192.0.2.1", says: nil),
        Row("permitted;IP:192.0.2.0/255.255.255.0", names: "IP:192.0.2.1,DNS:a.example", says: nil),
        Row("permitted;IP:192.0.2.0/255.255.255.0", names: "IP:192.0.3.1", says: "do not permit the address 192.0.3.1"),
        Row("excluded;IP:192.0.2.0/255.255.255.0", names: "IP:192.0.2.255", says: "exclude the address 192.0.2.255"),
        Row("permitted;IP:192.0.2.0/255.255.255.0", names: "IP:2001:db8::1", says: "do not permit the address"),
        Row("permitted;IP:2001:db8::/ffff:ffff::", names: "IP:2001:db8:1::1", says: nil),
        Row("excluded;IP:0.0.0.0/0.0.0.0", names: "IP:192.0.2.1", says: "exclude the address 192.0.2.1"),
        Row("permitted;IP:192.0.2.0/255.0.255.0", names: "IP:192.0.2.1", says: "cannot be read"),
        Row("permitted;email:a.example", names: "email:me@a.example", says: nil),
        Row("permitted;email:a.example", names: "email:me@www.a.example", says: "do not permit the mail address"),
        Row("permitted;email:.a.example", names: "email:me@www.a.example", says: nil),
        Row("permitted;email:me@a.example", names: "email:you@a.example", says: "do not permit the mail address you"),
        Row("permitted;email:Me@a.example", names: "email:Me@A.example", says: nil),
        // The mail address of a subject counts where there are no alternative names.
        Row(
            "permitted;email:a.example", names: "", subject: "/CN=x/emailAddress=me@b.example",
            says: "do not permit the mail address"),
        Row("permitted;email:a.example", names: "DNS:a.example", subject: "/CN=x/emailAddress=me@b.example", says: nil),
        Row("permitted;URI:a.example", names: "URI:https://a.example/x", says: nil),
        Row("permitted;URI:.a.example", names: "URI:https://me@www.a.example:8443/x", says: nil),
        Row("excluded;URI:a.example", names: "URI:https://a.example", says: "exclude the URI https://a.example"),
        Row("excluded;URI:a.example", names: "URI:https://192.0.2.1/", says: "cannot be compared with the URI"),
        Row("excluded;URI:a.example", names: "URI:urn:x", says: "cannot be compared with the URI"),
        Row("permitted;dirName:here", names: "DNS:a.example", subject: "/O=Here/CN=x", says: nil),
        Row("permitted;dirName:here", names: "DNS:a.example", subject: "/O=hERE/CN=x", says: nil),
        Row(
            "permitted;dirName:here", names: "DNS:a.example", subject: "/O=There/CN=x",
            says: "do not permit the distinguished name"),
        Row(
            "excluded;dirName:here", names: "DNS:a.example", subject: "/O=Here/CN=x",
            says: "exclude the distinguished name"),
        Row("permitted;otherName:1.2.3.4;UTF8:x", names: "DNS:a.example", says: nil),
        Row("permitted;otherName:1.2.3.4;UTF8:x", names: "otherName:1.2.3.4;UTF8:x", says: "cannot be compared with"),
    ]

    @Test(arguments: rows)
    func constraints(_ row: Row) async throws {
        let certification = try TestCertification()
        let root = try certification.root()
        let limits = row.limits.joined(separator: ",")
        let authority = try certification.issue(
            "authority", subject: "/CN=Bound", issuer: root,
            extensions: TestCertification.authority + ["nameConstraints=critical,\(limits)", "[here]", "O=Here"])
        let leaf = try certification.issue(
            "leaf", subject: row.subject, issuer: authority,
            extensions: row.names.isEmpty ? ["extendedKeyUsage=serverAuth"] : ["subjectAltName=\(row.names)"])
        let store = try TrustAnchors(pem: root.der, kind: .installed, store: "test")
        let facts = await ChainBuilder(anchors: store).build(presented: [leaf.der, authority.der])
        #expect(facts.anchor != nil)
        if let says = row.says {
            #expect(facts.violations.count == 1, "\(facts.violations)")
            #expect(
                facts.violations.first?.sentence.contains(says) == true
                    && facts.violations.first?.rule == .names, "\(facts.violations)")
        } else {
            #expect(facts.violations.isEmpty, "\(facts.violations)")
        }
    }

    @Test(
        "The constraints of a root hold, and those of an authority hold for the authorities below it, self-issued ones left out"
    )
    func everyPlace() async throws {
        let certification = try TestCertification()
        let limit = ["nameConstraints=critical,permitted;DNS:a.example"]
        let root = try certification.issue("root", subject: "/CN=Root", extensions: TestCertification.authority + limit)
        let store = try TrustAnchors(pem: root.der, kind: .installed, store: "test")
        for (subject, name, isAllowed) in [
            ("/CN=Middle", "a.example", true), ("/CN=Middle", "b.example", false), ("/CN=Root", "b.example", true),
        ] {
            let file = "middle-\(subject.dropFirst(4))-\(name)"
            let middle = try certification.issue(
                file, subject: subject, issuer: root,
                extensions: TestCertification.authority + ["subjectAltName=DNS:\(name)"])
            let leaf = try certification.issue(
                "leaf-" + file, subject: "/CN=x", issuer: middle, extensions: ["subjectAltName=DNS:a.example"])
            let facts = await ChainBuilder(anchors: store).build(presented: [leaf.der, middle.der])
            #expect(facts.violations.isEmpty == isAllowed, "\(subject) \(name): \(facts.violations)")
        }
    }
}
