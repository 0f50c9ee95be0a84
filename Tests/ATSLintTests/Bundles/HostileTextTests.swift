// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import PropertyLists
import TestSupport
import Testing
import Vocabulary

@testable import ATSLint

/// Texts and references of property lists that cost more than their bytes.
@Suite struct HostileTextTests {
    private static let marks = String(repeating: "\u{301}\u{316}", count: 200)

    private func refusal(_ bytes: [UInt8]) -> String? {
        do {
            _ = try PlistReader.read(bytes)
            return nil
        } catch {
            return error.description
        }
    }

    private func refusal(_ text: String) -> String? { refusal(Array(text.utf8)) }

    @Test func keysAndTextsHaveNoRunsOfMarks() throws {
        for text in [Self.marks, String(repeating: "&#x301;&#x316;", count: 200)] {
            for list in [
                "<plist><dict><key>a\(text)</key><true/></dict></plist>", "<plist><string>a\(text)</string></plist>",
                "<plist><integer>\(text)</integer></plist>",
            ] {
                #expect(refusal(list)?.contains("combining marks in a row") == true)
            }
        }
        for object in [["a" + Self.marks: true] as [String: Any], ["a": "b" + Self.marks]] {
            let bytes = try PropertyListSerialization.data(fromPropertyList: object, format: .binary, options: 0)
            #expect(refusal(Array(bytes))?.contains("combining marks in a row") == true)
        }
        #expect(refusal("<plist><dict><key>e\u{301}</key><true/></dict></plist>") == nil)
    }

    @Test func keysHaveALimit() throws {
        let (fits, tooLong) = (String(repeating: "k", count: 1_024), String(repeating: "k", count: 1_025))
        #expect(refusal("<plist><dict><key>\(fits)</key><true/></dict></plist>") == nil)
        #expect(refusal("<plist><dict><key>\(tooLong)</key><true/></dict></plist>")?.contains("key of 1025") == true)
        for key in [tooLong, String(repeating: "\u{4E2D}", count: 342)] {
            let bytes = try PropertyListSerialization.data(fromPropertyList: [key: 1], format: .binary, options: 0)
            #expect(refusal(Array(bytes))?.contains("has a key of 102") == true)
        }
    }

    /// Two spellings of one letter are two keys for Apple's parser, and no duplicates.
    @Test func keysAreComparedByBytes() throws {
        let list = try PlistReader.read(
            Array("<plist><dict><key>\u{E9}</key><true/><key>e\u{301}</key><false/></dict></plist>".utf8))
        #expect(list.oddities.isEmpty)
        #expect(list.root["\u{E9}"]?.propertyListValue == .boolean(true))
        // The Kelvin sign is canonically a K.
        let kelvin = try PlistReader.read(Array("<plist><dict><key>SP\u{212A}I</key><true/></dict></plist>".utf8))
        #expect(kelvin.root["SPKI"] == nil)
    }

    /// Eight million references to the array itself, at each of 128 levels: counted before a place is made for one.
    @Test func referencesAreCountedFirst() {
        let count = (8 << 20) - 200
        var bytes = Array("bplist00".utf8) + [0xAF, 0x12]
        bytes += (0..<4).reversed().map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) }
        bytes += [UInt8](repeating: 0, count: count)
        let table = bytes.count
        bytes += [8, 0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, 1] + [UInt8](repeating: 0, count: 8)
        bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: table >> ($0 * 8)) }
        #expect(refusal(bytes)?.contains("more than 500000 values") == true)
    }

    @Test func equalKeysAreLinear() throws {
        func list(_ key: (Int) -> String) -> [UInt8] {
            let keys = (0..<20_000).map { "<key>\(key($0))</key><true/>" }.joined()
            return Array("<plist><dict>\(keys)</dict></plist>".utf8)
        }
        let (equal, distinct) = (list { _ in "abcdefgh" }, list { String(10_000_000 + $0) })
        #expect(equal.count == distinct.count)
        let ordinary = try CPUTime.measure { _ = try PlistReader.read(distinct) }
        let hostile = try CPUTime.measure { _ = try PlistReader.read(equal) }
        #expect(Measuring.isOff || hostile < 5 * ordinary + 0.05)
        #expect(try PlistReader.read(equal).oddities.count == PlistLimits.oddities)
    }

    /// A project file whose lines are marks costs no more than one of letters.
    @Test func projectsAreReadByBytes() throws {
        func project(_ filling: String) -> [UInt8] {
            Array("<Project>a\(filling)\n<TargetFramework>net9.0-ios</TargetFramework></Project>".utf8)
        }
        let letters = project(String(repeating: "abcd", count: 100_000))
        let marks = project(String(repeating: "\u{301}\u{316}", count: 100_000))
        #expect(try DotNetProject.read(marks, name: "a")?.stack.handler == .nsurlsession)
        let ordinary = try CPUTime.measure { _ = try DotNetProject.read(letters, name: "a") }
        let hostile = try CPUTime.measure { _ = try DotNetProject.read(marks, name: "a") }
        #expect(Measuring.isOff || hostile < 5 * ordinary + 0.05)
    }

    /// Thirty-two architectures that all name one blob of entitlements, which is an array of very many values.
    @Test func entitlementsAreTriedFewTimes() {
        let values = 60_000
        var blob = Array("bplist00".utf8) + [0xAF, 0x11] + TinyMachO.big(values, 2)
        blob += [UInt8](repeating: 1, count: values) + [0x09]
        let table = blob.count
        blob += TinyMachO.big(8) + TinyMachO.big(table - 1) + [0, 0, 0, 0, 0, 0, 4, 1]
        blob += TinyMachO.big(2, 8) + TinyMachO.big(0, 8) + TinyMachO.big(table, 8)
        let blobs = 64
        var signature = TinyMachO.big(0xFADE_0CC0) + TinyMachO.big(0) + TinyMachO.big(blobs)
        for _ in 0..<blobs { signature += TinyMachO.big(5) + TinyMachO.big(12 + blobs * 8) }
        signature += TinyMachO.big(0xFADE_7171) + TinyMachO.big(8 + blob.count) + blob
        func little(_ number: Int) -> [UInt8] { TinyMachO.big(number).reversed() }
        var slice = little(0xFEED_FACF) + [UInt8](repeating: 0, count: 12) + little(1) + little(16)
        slice += [UInt8](repeating: 0, count: 8) + little(0x1D) + little(16) + little(64) + little(signature.count)
        slice += [UInt8](repeating: 0, count: 64 - slice.count) + signature
        var file = TinyMachO.big(0xCAFE_BABE) + TinyMachO.big(32)
        for _ in 0..<32 {
            file += [UInt8](repeating: 0, count: 8) + TinyMachO.big(1024) + [UInt8](repeating: 0, count: 8)
        }
        file += [UInt8](repeating: 0, count: 1024 - file.count) + slice
        var found: AttestEntitlement?
        let seconds = CPUTime.measure { found = CodeSignature.entitlement(file, name: "A") }
        #expect(found == nil)
        #expect(Measuring.isOff || seconds < 1)
    }

    @Test func claimsAreCut() {
        let long = String(repeating: "x", count: 5_000)
        let list = PlistNode(
            .dictionary([
                PlistMember("application-identifier", PlistNode(.string(long))),
                PlistMember(
                    "com.apple.developer.devicecheck.appattest-environment",
                    PlistNode(.array([PlistNode](repeating: PlistNode(.string(long)), count: 100)))),
            ])
        )
        let claim = AttestEntitlement(entitlements: list, team: long, source: "a")
        #expect(claim.applicationIdentifier?.utf8.count == 256 && claim.teamIdentifier?.utf8.count == 256)
        #expect((claim.environment?.utf8.count ?? 0) < 2_100)
    }
}
