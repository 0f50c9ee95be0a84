// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import PropertyLists
import TestSupport
import Testing

@testable import ATSLint

extension TinyMachO {
    /// An executable with one load command that names an SDK: `LC_BUILD_VERSION`, or for older files `LC_VERSION_MIN_...`.
    static func linked(_ command: Int, platform: Int? = nil, sdk: (Int, Int)) -> [UInt8] {
        func little(_ number: Int) -> [UInt8] { big(number).reversed() }
        let version = little(sdk.0 << 16 | sdk.1 << 8)
        let body = platform.map { little($0) + little(12 << 16) + version + little(0) } ?? little(12 << 16) + version
        let commands =
            little(0x1B) + little(24) + [UInt8](repeating: 7, count: 16) + little(command) + little(8 + body.count)
            + body
        return little(0xFEED_FACF) + little(0x0100_000C) + little(0) + little(2) + little(2) + little(commands.count)
            + little(0) + little(0) + commands
    }
}

/// The SDK that an app is linked on, from its executable, its list, or both.
@Suite struct LinkedSDKReadingTests {
    @Test(
        arguments: [
            (TinyMachO.linked(0x32, platform: 2, sdk: (18, 5)), 18),
            (TinyMachO.linked(0x32, platform: 1, sdk: (14, 2)), 17),
            (TinyMachO.linked(0x32, platform: 1, sdk: (10, 15)), 13),
            (TinyMachO.linked(0x32, platform: 4, sdk: (10, 0)), 17),
            (TinyMachO.linked(0x32, platform: 6, sdk: (26, 0)), 26),
            (TinyMachO.linked(0x32, platform: 11, sdk: (1, 0)), 17),
            (TinyMachO.linked(0x25, sdk: (11, 4)), 11), (TinyMachO.linked(0x24, sdk: (10, 13)), 11),
            // The oldest architecture counts.
            (
                TinyMachO.fat([
                    TinyMachO.linked(0x32, platform: 2, sdk: (26, 0)),
                    TinyMachO.linked(0x32, platform: 2, sdk: (18, 0)),
                ]), 18
            ),
            // Nothing is said, or nothing that there is.
            (TinyMachO.linked(0x32, platform: 10, sdk: (24, 0)), nil),
            (TinyMachO.linked(0x32, platform: 2, sdk: (0, 0)), nil),
            (TinyMachO.thin([]), nil), ([], nil), (Array("#!/bin/sh".utf8), nil),
            (TinyMachO.big(0xCAFE_BABE) + TinyMachO.big(0x7FFF_FFFF), nil),
        ] as [([UInt8], Int?)]
    )
    func executables(_ bytes: [UInt8], _ number: Int?) {
        #expect(LinkedSDK(executable: bytes)?.number == number)
        // Cut off anywhere, it is no crash.
        for count in 0..<bytes.count { _ = LinkedSDK(executable: Array(bytes.prefix(count))) }
    }

    /// The system goes by the executable, so it counts before the list.
    @Test(arguments: ["A.app", "A.app/Contents"]) func theExecutableCountsBeforeTheList(_ home: String) throws {
        let folder = try TemporaryDirectory()
        let binary = home.hasSuffix("Contents") ? home + "/MacOS" : home
        try FileManager.default.createDirectory(atPath: folder.path(binary), withIntermediateDirectories: true)
        let list = """
            <plist><dict><key>CFBundleExecutable</key><string>A</string><key>DTSDKName</key><string>iphoneos26.0</string></dict></plist>
            """
        let path = folder.path(home + "/Info.plist")
        try Data(list.utf8).write(to: URL(fileURLWithPath: path))
        #expect(try InfoPlistSearch.search(folder.path("A.app")).lists.first?.sdk?.number == 26)
        let executable = TinyMachO.linked(0x32, platform: 2, sdk: (18, 2))
        try Data(executable).write(to: URL(fileURLWithPath: folder.path(binary + "/A")))
        #expect(try InfoPlistSearch.search(folder.path("A.app")).lists.first?.sdk?.number == 18)
        #expect(try InfoPlistSearch.search(path).lists.first?.sdk?.number == 18)
        let document = try PlistReader.read(Array(list.utf8))
        #expect(InfoPlistSearch.linkedSDK(of: document, at: path)?.number == 18)
        #expect(InfoPlistSearch.linkedSDK(of: document, at: "Info.plist")?.number == 26)
    }
}
