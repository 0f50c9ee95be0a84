// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import PropertyLists
import TestSupport
import Testing
import Vocabulary

@testable import ATSLint

/// Files that are made to hurt: each gets a clear refusal, soon, without much memory.
@Suite struct HostileInputTests {
    private func refusal(_ bytes: [UInt8]) -> String? {
        do {
            _ = try PlistReader.read(bytes)
            return nil
        } catch {
            return error.description
        }
    }

    @Test func billionLaughs() {
        var text = "<?xml version=\"1.0\"?><!DOCTYPE plist [<!ENTITY lol \"lol\">"
        for level in 1...9 {
            text += "<!ENTITY lol\(level) \"" + String(repeating: "&lol\(level - 1);", count: 10) + "\">"
        }
        text += "]><plist><string>&lol9;</string></plist>"
        #expect(refusal(Array(text.utf8))?.contains("document type") == true)
    }

    @Test func deepNesting() {
        #expect(
            refusal(Array(String(repeating: "<dict><key>a</key>", count: 200_000).utf8))?.contains("nested deeper")
                == true)
        #expect(refusal(Array(String(repeating: "<array>", count: 1_000_000).utf8))?.contains("nested deeper") == true)
    }

    @Test func aHundredMegabytesOfTagsAreNotHeld() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("Info.plist")
        let chunk = Data(String(repeating: "<dict>", count: 1 << 17).utf8)
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let handle = try #require(FileHandle(forWritingAtPath: path))
        for _ in 0..<134 { try handle.write(contentsOf: chunk) }
        try handle.close()
        let started = ContinuousClock.now
        #expect {
            try InfoPlistSearch.search(path)
        } throws: { ($0 as? MalformedInput)?.description.contains("larger than") == true }
        #expect(Measuring.isOff || ContinuousClock.now - started < .seconds(5))
    }

    @Test func manySmallValuesEndAtTheLimit() {
        let text = "<plist><array>" + String(repeating: "<true/>", count: 600_000) + "</array></plist>"
        #expect(refusal(Array(text.utf8))?.contains("more than 500000 values") == true)
    }

    /// The value of each of two hundred commands on one line is not the rest of the line.
    @Test func theValueOfACommandIsBounded() throws {
        let command = "Add :NSAppTransportSecurity:NSAllowsArbitraryLoads string "
        let document = try #require(PlistCommands.document(Array((command + String(repeating: "a", count: 5000)).utf8)))
        let node = document.root["NSAppTransportSecurity"]?["NSAllowsArbitraryLoads"]
        #expect(node?.string.map { $0.utf8.count <= 1024 } == true)
    }

    /// Every prefix and every flipped byte of a binary list is read or refused; none ends the process.
    @Test func damagedBinaryLists() throws {
        let object: [String: Any] = [
            "NSAppTransportSecurity": ["NSAllowsArbitraryLoads": true, "x": [1, 2.5, "ü", Data([1])]] as [String: Any]
        ]
        let bytes = Array(try PropertyListSerialization.data(fromPropertyList: object, format: .binary, options: 0))
        for count in 0..<bytes.count { #expect(refusal(Array(bytes[..<count])) != nil) }
        for index in bytes.indices {
            for mask in [0x01, 0x10, 0x80, 0xFF] as [UInt8] {
                var damaged = bytes
                damaged[index] ^= mask
                _ = refusal(damaged)
            }
        }
    }

    /// Forty arrays, each naming the next one four times: a few hundred bytes that describe 4^40 values.
    @Test func binaryBombsEndAtTheBudget() {
        var bytes = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for index in 0..<40 {
            offsets.append(UInt8(bytes.count))
            bytes += [0xA4] + Array(repeating: UInt8(index + 1), count: 4)
        }
        offsets.append(UInt8(bytes.count))
        bytes.append(0x09)
        let table = bytes.count
        bytes += offsets
        bytes += [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, 41] + [0, 0, 0, 0, 0, 0, 0, 0]
        bytes += [0, 0, 0, 0, 0, 0, 0, UInt8(table)]
        #expect(refusal(bytes)?.contains("more than") == true)
        // An array that contains itself.
        let loop =
            Array("bplist00".utf8) + [0xA1, 0x00, 8] + [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, 1]
            + [0, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, 0, 10]
        #expect(refusal(loop)?.contains("contains itself") == true)
    }

    @Test func bytesFlippedInXML() throws {
        let text =
            "<?xml version=\"1.0\"?><plist><dict><key>a</key><string>&amp;x</string><key>b</key><array><true/></array></dict></plist>"
        let bytes = Array(text.utf8)
        for index in bytes.indices {
            for mask in [0x01, 0x20, 0x80] as [UInt8] {
                var damaged = bytes
                damaged[index] ^= mask
                _ = refusal(damaged)
            }
            _ = refusal(Array(bytes[..<index]))
        }
    }
}
