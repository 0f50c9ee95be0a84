// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Testing
import Vocabulary

@testable import ATSLint

/// zip64 archives, written by hand: the usual writers use the form only past 4 GiB or 65,535 entries.
@Suite struct WideArchiveTests {
    private static func little(_ number: Int, _ size: Int) -> [UInt8] {
        (0..<size).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    private static let list = Array(
        "<plist><dict><key>CFBundleIdentifier</key><string>com.example.wide</string></dict></plist>".utf8)

    /// One stored entry whose sizes and place stand in the extra field, before an end record that says nothing.
    private static func archive(
        size: Int = list.count, count: Int = 1, offset: Int? = nil, locator: Int? = nil, extra: Bool = true
    ) -> [UInt8] {
        let name = Array("Payload/A.app/Info.plist".utf8)
        let full = 0xFFFF_FFFF
        var bytes = little(0x0403_4B50, 4) + little(45, 2) + [UInt8](repeating: 0, count: 12)
        bytes += little(full, 4) + little(full, 4) + little(name.count, 2) + little(0, 2) + name + list
        let field = extra ? little(1, 2) + little(24, 2) + little(size, 8) + little(list.count, 8) + little(0, 8) : []
        let directory = bytes.count
        bytes += little(0x0201_4B50, 4) + [UInt8](repeating: 0, count: 16) + little(full, 4) + little(full, 4)
        bytes += little(name.count, 2) + little(field.count, 2) + [UInt8](repeating: 0, count: 10) + little(full, 4)
        bytes += name + field
        let end = bytes.count
        bytes += little(0x0606_4B50, 4) + little(44, 8) + [UInt8](repeating: 0, count: 20)
        bytes += little(count, 8) + little(end - directory, 8) + little(offset ?? directory, 8)
        bytes += little(0x0706_4B50, 4) + little(0, 4) + little(locator ?? end, 8) + little(1, 4)
        return bytes + little(0x0605_4B50, 4) + little(0, 4) + little(0xFFFF, 2) + little(0xFFFF, 2)
            + little(full, 4) + little(full, 4) + little(0, 2)
    }

    @Test func readsAnEntry() throws {
        let found = try InfoPlistSearch.read(Self.archive(), name: "a.ipa")
        #expect(found.lists.map { $0.document.root["CFBundleIdentifier"]?.string } == ["com.example.wide"])
    }

    @Test(arguments: [
        archive(size: 1 << 40), archive(size: -1), archive(count: 1 << 40), archive(count: -1), archive(offset: -1),
        archive(offset: Int.max), archive(locator: -1), archive(locator: Int.max), archive(extra: false),
    ]) func refusesWhatDoesNotFit(_ bytes: [UInt8]) {
        #expect(throws: MalformedInput.self) { try InfoPlistSearch.read(bytes, name: "a.ipa") }
    }

    @Test func survivesTruncationAndDamage() {
        let bytes = Self.archive()
        for count in 0..<bytes.count {
            #expect(throws: MalformedInput.self) { try ZipArchive(Array(bytes[..<count])) }
        }
        for index in bytes.indices {
            for value: UInt8 in [0x00, 0x7F, 0xFF] {
                var damaged = bytes
                damaged[index] = value
                _ = try? InfoPlistSearch.read(damaged, name: "a.ipa")
            }
        }
    }
}
