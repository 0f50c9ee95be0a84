// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// A random Info.plist: every key, wrong types, near misses, siblings, ranges, names of other scripts, build variables and pins.
package struct GeneratedList: CustomStringConvertible, Sendable {
    package indirect enum Value: Sendable {
        case raw(String)
        case dictionary([(key: String, value: Value)])
        case array([Value])
    }

    package var root: Value

    private static let globals = [
        "NSAllowsArbitraryLoads", "NSAllowsArbitraryLoads", "NSAllowsArbitraryLoadsForMedia",
        "NSAllowsArbitraryLoadsInWebContent", "NSAllowsLocalNetworking", "NSAllowsLocalNetworking",
        "NSAllowArbitraryLoads", " NSAllowsArbitraryLoadsInMedia", "NSAllowsArbitraryLoadsInMedia", "Unheard",
        "NSExceptionRequiresForwardSecrecy", "NSAllowsLocalNetworkin", "NSRequiresNIAPTLSPackageVersion",
    ]
    private static let subKeys = [
        "NSIncludesSubdomains", "NSIncludesSubdomains", "NSExceptionAllowsInsecureHTTPLoads",
        "NSExceptionAllowsInsecureHTTPLoads", "NSExceptionMinimumTLSVersion", "NSExceptionMinimumTLSVersion",
        "NSExceptionRequiresForwardSecrecy", "NSRequiresCertificateTransparency", "NSExceptionAllowInsecureHTTPLoads",
        "NSTemporaryExceptionAllowsInsecureHTTPLoads", "NSThirdPartyExceptionMinimumTLSVersion",
        "NSTemporaryExceptionAllowsInsecureHTTPSLoads", "NSAllowsArbitraryLoads",
        "NSExceptionRequiresNIAPTLSPackageVersion",
        "NSExceptionRequiresForwardSecrecy ",
    ]
    private static let hosts = [
        "example.com", "api.example.com", "a.b.example.com", "www.example.com", "Example.com", "*.example.com",
        ".example.com", "example.com.", "example.com:443", "https://example.com/x", " example.com",
        "m\u{FC}nchen.example",
        "xn--mnchen-3ya.example", "localhost", "localhost:8080", "intranet", "nas.local", "NAS.local", "com", "co.uk",
        "127.0.0.1", "127.0.0.0/8", "127.0.0.1:80", "10.0.0.0/8", "10.0.0.1/8", "10.1.2.3", "192.168.20.15:9100",
        "100.64.0.1", "100.64.0.0/10", "100.64.0.0/33", "198.051.100.5", "203.0.113.0/24", "203.0.113.9",
        "2001:db8::5", "2001:DB8::5", "2001:db8:0::5", "2001:db8::/32", "$(API_HOST)", "${HOST}.example.com",
        "$(HOST):80", "NSAllowsArbitraryLoads", "NSAllowArbitraryLoads", "apple.com", "www.apple.com", "a..b", "ts.net",
        "8080.api.example.com",
    ]
    private static let pin = "r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E="
    private static let pins = [
        pin, pin, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "sha256/\(pin)", "not base64", "", "AAAA", "$(PIN)",
    ]

    private static func flag(_ random: inout SplitMix) -> Value {
        let values = [
            "<true/>", "<true/>", "<true/>", "<true/>", "<false/>", "<false/>", "<false/>", "<integer>1</integer>",
            "<integer>0</integer>", "<integer>2</integer>", "<real>1.0</real>", "<real>0.5</real>",
            "<string>YES</string>",
            "<string>NO</string>", "<string>$(FLAG)</string>", "<string>TLSv1.0</string>", "<array/>", "<dict/>",
        ]
        return .raw(values[random.below(values.count)])
    }

    private static func version(_ random: inout SplitMix) -> Value {
        let values = [
            "TLSv1.0", "TLSv1.1", "TLSv1.2", "TLSv1.3", "1.0", "1.3", "TLSV1.2", "SSLv3.0", "DTLSv1.2", "$(TLS)",
            "none",
            "FCP_v2.1", "recommended",
        ]
        if random.below(12) == 0 { return .raw("<real>1.2</real>") }
        return .raw("<string>\(values[random.below(values.count)])</string>")
    }

    private static func value(of key: String, _ random: inout SplitMix) -> Value {
        if key.hasSuffix("PackageVersion") {
            return .raw("<string>\(["none", "FCP_v2.1", "recommended", "FCP"][random.below(4)])</string>")
        }
        return key.hasSuffix("MinimumTLSVersion") ? version(&random) : flag(&random)
    }

    private static func some(_ keys: [String], of: Int, _ random: inout SplitMix) -> [(key: String, value: Value)] {
        var members: [(key: String, value: Value)] = []
        for key in keys where random.below(of) == 0 && !members.contains(where: { $0.key == key }) {
            members.append((key, value(of: key, &random)))
        }
        return members
    }

    /// - Parameter favored: hosts that two lists of three have an entry for.
    package init(_ random: inout SplitMix, favoring favored: [String] = []) {
        var ats = Self.some(Self.globals, of: 7, &random)
        var entries: [(key: String, value: Value)] = []
        for host in Self.hosts where random.below(14) == 0 {
            let isOdd = random.below(12) == 0 || host.hasPrefix("NS")
            entries.append((host, isOdd ? Self.flag(&random) : .dictionary(Self.some(Self.subKeys, of: 5, &random))))
        }
        for host in favored where random.below(3) > 0 && !entries.contains(where: { $0.key == host }) {
            entries.append((host, .dictionary(Self.some(Self.subKeys, of: 4, &random))))
        }
        if !entries.isEmpty { ats.append(("NSExceptionDomains", .dictionary(entries))) }
        if random.below(3) == 0 {
            var pinned: [(key: String, value: Value)] = []
            for host in Self.hosts where random.below(24) == 0 {
                var entry: [(key: String, value: Value)] = []
                for list in ["NSPinnedCAIdentities", "NSPinnedLeafIdentities"] where random.below(2) == 0 {
                    let elements = (0..<random.below(3)).map { _ -> Value in
                        if random.below(6) == 0 { return .dictionary([]) }
                        let text = Self.pins[random.below(Self.pins.count)]
                        return .dictionary([("SPKI-SHA256-BASE64", .raw("<string>\(text)</string>"))])
                    }
                    entry.append((list, .array(elements)))
                }
                if random.below(2) == 0 { entry.append(("NSIncludesSubdomains", Self.flag(&random))) }
                pinned.append((host, .dictionary(entry)))
            }
            ats.append(("NSPinnedDomains", .dictionary(pinned)))
        }
        var members: [(key: String, value: Value)] = []
        let minimum = ["", "", "9.0", "10.0", "12.0", "12.2", "13.0", "15.0", "16.0", "17.0", "18.0", "26.0", "26.4"]
        let number = minimum[random.below(minimum.count)]
        if !number.isEmpty { members.append(("MinimumOSVersion", .raw("<string>\(number)</string>"))) }
        let sdk = ["", "", "16.4", "18.5", "26.0"][random.below(5)]
        if !sdk.isEmpty { members.append(("DTSDKName", .raw("<string>iphoneos\(sdk)</string>"))) }
        if random.below(10) == 0 { members.append(("NSAllowArbitraryLoads", Self.flag(&random))) }
        if random.below(10) == 0 { members.append(("NSAllowsLocalNetworking", Self.flag(&random))) }
        members.append(("NSAppTransportSecurity", .dictionary(ats)))
        root = .dictionary(members)
    }

    package var description: String { "<plist>\(GeneratedList.xml(root))</plist>" }

    private static func xml(_ value: Value) -> String {
        switch value {
        case .raw(let text): text
        case .dictionary(let members):
            "<dict>" + members.map { "\n<key>\($0.key)</key>" + xml($0.value) }.joined() + "\n</dict>"
        case .array(let elements): "<array>" + elements.map(xml).joined() + "</array>"
        }
    }

    /// The smallest list of which something still holds that holds of this one, found by removing one member after the other.
    package func smallest(where holds: (GeneratedList) throws -> Bool) rethrows -> GeneratedList {
        var search = SmallerLists(list: self)
        while let smaller = search.next { search.take(smaller, try holds(smaller)) }
        return search.list
    }

    /// The same where the answer is waited for.
    package func smallest(where holds: (GeneratedList) async -> Bool) async -> GeneratedList {
        var search = SmallerLists(list: self)
        while let smaller = search.next { search.take(smaller, await holds(smaller)) }
        return search.list
    }

    private struct SmallerLists {
        var list: GeneratedList
        var path = 0

        var next: GeneratedList? {
            guard let root = GeneratedList.removing(path, from: list.root) else { return nil }
            var smaller = list
            smaller.root = root
            return smaller
        }

        mutating func take(_ smaller: GeneratedList, _ holds: Bool) {
            if holds { list = smaller } else { path += 1 }
        }
    }

    /// The value without its member number `index`, counted depth first; nil if there are fewer.
    private static func removing(_ index: Int, from value: Value) -> Value? {
        var left = index
        func walk(_ value: Value) -> Value? {
            switch value {
            case .raw: return nil
            case .dictionary(var members):
                for (place, member) in members.enumerated() {
                    if left == 0 {
                        members.remove(at: place)
                        return .dictionary(members)
                    }
                    left -= 1
                    if let smaller = walk(member.value) {
                        members[place].value = smaller
                        return .dictionary(members)
                    }
                }
                return nil
            case .array(var elements):
                for (place, element) in elements.enumerated() {
                    if left == 0 {
                        elements.remove(at: place)
                        return .array(elements)
                    }
                    left -= 1
                    if let smaller = walk(element) {
                        elements[place] = smaller
                        return .array(elements)
                    }
                }
                return nil
            }
        }
        return walk(value)
    }
}
