// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import TestSupport
import Testing
import Vocabulary

@testable import ATSLint

/// Executables of a few hundred bytes, written byte by byte.
enum TinyMachO {
    static let list = """
        <?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict>\
        <key>application-identifier</key><string>TEAM123456.com.example.app</string>\
        <key>com.apple.developer.devicecheck.appattest-environment</key><string>production</string></dict></plist>
        """

    static func big(_ number: Int, _ size: Int = 4) -> [UInt8] {
        (0..<size).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    private static func little(_ number: Int) -> [UInt8] { big(number).reversed() }

    private static func text(_ text: String) -> [UInt8] { DER.value(0x0C, Array(text.utf8)) }

    /// The same entitlements in DER, with a boolean and a list beside them.
    static let encoded = DER.value(
        0x70,
        DER.value(0x02, [1])
            + DER.value(
                0xB0,
                DER.value(0x30, text("application-identifier") + text("TEAM123456.com.example.app"))
                    + DER.value(
                        0x30, text("com.apple.developer.devicecheck.appattest-environment") + text("production"))
                    + DER.value(0x30, text("get-task-allow") + DER.value(0x01, [0xFF]))
                    + DER.value(0x30, text("groups") + DER.value(0x30, text("a") + text("b")))))

    static func signature(list: String? = list, encoded: [UInt8]? = nil) -> [UInt8] {
        var blobs: [(type: Int, bytes: [UInt8])] = [(0, big(0xFADE_0C02) + big(12) + big(0))]
        if let list { blobs.append((5, big(0xFADE_7171) + big(8 + list.utf8.count) + Array(list.utf8))) }
        if let encoded { blobs.append((7, big(0xFADE_7172) + big(8 + encoded.count) + encoded)) }
        var index: [UInt8] = []
        var body: [UInt8] = []
        for blob in blobs {
            index += big(blob.type) + big(12 + blobs.count * 8 + body.count)
            body += blob.bytes
        }
        return big(0xFADE_0CC0) + big(12 + index.count + body.count) + big(blobs.count) + index + body
    }

    static func thin(_ signature: [UInt8], isWide: Bool = true) -> [UInt8] {
        let header = isWide ? 32 : 28
        let start = header + 24 + 16
        var bytes = little(isWide ? 0xFEED_FACF : 0xFEED_FACE) + little(0x0100_000C) + little(0) + little(2)
        bytes += little(2) + little(40) + little(0) + (isWide ? little(0) : [])
        bytes += little(0x1B) + little(24) + [UInt8](repeating: 7, count: 16)
        bytes += little(0x1D) + little(16) + little(start) + little(signature.count)
        return bytes + signature
    }

    static func fat(_ slices: [[UInt8]], isWide: Bool = false) -> [UInt8] {
        let size = isWide ? 32 : 20
        var bytes = big(isWide ? 0xCAFE_BABF : 0xCAFE_BABE) + big(slices.count)
        var place = 8 + slices.count * size
        for slice in slices {
            let width = isWide ? 8 : 4
            bytes += big(0x0100_000C) + big(0) + big(place, width) + big(slice.count, width) + big(0)
            if isWide { bytes += big(0) }
            place += slice.count
        }
        return bytes + slices.flatMap { $0 }
    }
}

@Suite struct CodeSignatureTests {
    static let files: [(String, [UInt8])] = [
        ("thin", TinyMachO.thin(TinyMachO.signature())),
        ("32 bits", TinyMachO.thin(TinyMachO.signature(), isWide: false)),
        ("DER alone", TinyMachO.thin(TinyMachO.signature(list: nil, encoded: TinyMachO.encoded))),
        ("both", TinyMachO.thin(TinyMachO.signature(encoded: TinyMachO.encoded))),
        (
            "fat, the first unsigned",
            TinyMachO.fat([TinyMachO.thin([UInt8](repeating: 0, count: 12)), TinyMachO.thin(TinyMachO.signature())])
        ),
        ("fat with wide offsets", TinyMachO.fat([TinyMachO.thin(TinyMachO.signature())], isWide: true)),
    ]

    @Test(arguments: files) func readsEntitlements(_ name: String, _ bytes: [UInt8]) throws {
        let claim = try #require(CodeSignature.entitlement(bytes, name: "A"))
        #expect(claim.environment == "production")
        #expect(claim.applicationIdentifier == "TEAM123456.com.example.app")
        #expect(claim.source == "A")
    }

    @Test(arguments: files) func survivesTruncationAndDamage(_ name: String, _ bytes: [UInt8]) {
        // Where the form in DER stands last, what is before it is whole.
        let end = name == "both" ? bytes.count - TinyMachO.encoded.count - 8 : bytes.count
        for count in 0..<end {
            #expect(CodeSignature.entitlement(Array(bytes[..<count]), name: "A")?.environment == nil)
        }
        for index in bytes.indices {
            for value: UInt8 in [0x00, 0x7F, 0x80, 0xFF] {
                var damaged = bytes
                damaged[index] = value
                _ = CodeSignature.entitlement(damaged, name: "A")
            }
        }
    }

    @Test func bounds() {
        let nested = (0..<2_000).reduce([UInt8]()) { inner, _ in DER.sequence(inner) }
        func list(_ value: [UInt8]) -> [UInt8] {
            DER.value(0x70, [0x02, 0x01, 0x01] + DER.value(0xB0, DER.sequence([0x0C, 0x01, 0x61] + value)))
        }
        #expect(EncodedEntitlements.read(list([0x30, 0x00])) != nil)
        #expect(EncodedEntitlements.read(list(nested)) == nil)
        let many = TinyMachO.big(0xCAFE_BABE) + TinyMachO.big(0x7FFF_FFFF)
        #expect(CodeSignature.entitlement(many, name: "A") == nil)
    }

    @Test(arguments: ["A.app/", "A.app/Contents/"]) func findsTheExecutableOfAnApp(_ home: String) throws {
        let folder = try TemporaryDirectory()
        let binary = home.hasSuffix("Contents/") ? home + "MacOS/" : home
        let list = """
            <plist><dict><key>CFBundleIdentifier</key><string>com.example.app</string>\
            <key>CFBundleExecutable</key><string>A</string></dict></plist>
            """
        let profile = "<?xml?><plist><dict><key>Entitlements</key><dict></dict></dict></plist>"
        try FileManager.default.createDirectory(atPath: folder.path(binary), withIntermediateDirectories: true)
        try Data(list.utf8).write(to: URL(fileURLWithPath: folder.path(home + "Info.plist")))
        try Data(profile.utf8).write(to: URL(fileURLWithPath: folder.path(home + "embedded.mobileprovision")))
        #expect(try InfoPlistSearch.search(folder.path("A.app")).lists.first?.attest?.environment == nil)
        try Data(TinyMachO.thin(TinyMachO.signature())).write(to: URL(fileURLWithPath: folder.path(binary + "A")))
        let found = try #require(try InfoPlistSearch.search(folder.path("A.app")).lists.first?.attest)
        #expect(found.environment == "production")
        #expect(found.source.hasSuffix(binary + "A"))
    }

    @Test(arguments: ["../A", "..", "/etc/hostname", ""]) func staysInsideTheBundle(_ name: String) throws {
        let folder = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: folder.path("A.app"), withIntermediateDirectories: true)
        let list = "<plist><dict><key>CFBundleExecutable</key><string>\(name)</string></dict></plist>"
        try Data(list.utf8).write(to: URL(fileURLWithPath: folder.path("A.app/Info.plist")))
        try Data(TinyMachO.thin(TinyMachO.signature())).write(to: URL(fileURLWithPath: folder.path("A")))
        #expect(try InfoPlistSearch.search(folder.path("A.app")).lists.first?.attest == nil)
    }
}
