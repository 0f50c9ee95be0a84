// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// The load commands of one architecture of a Mach-O executable. Source: `mach-o/loader.h` and `mach-o/fat.h`. Each count and size is bounded
/// before it is used.
struct MachOImage {
    let start: Int
    private let commands: FileNumbers
    private let isLittle: Bool

    private static let architectures = 32
    private static let commandBytes = 4 << 20

    /// Where the architectures of a file begin: one for a thin file, none if it has more than any executable has.
    static func starts(in source: some ByteSource) throws(MalformedInput) -> [Int] {
        let head = try FileNumbers(source, 0, 8)
        let fat = head.big(0, 4)
        guard fat == 0xCAFE_BABE || fat == 0xCAFE_BABF else { return [0] }
        let isWide = fat == 0xCAFE_BABF
        let count = head.big(4, 4)
        guard count <= architectures else { return [] }
        let size = isWide ? 32 : 20
        let table = try FileNumbers(source, 8, count * size)
        return (0..<count).map { table.big($0 * size + 8, isWide ? 8 : 4) }
    }

    /// Nil if there is no Mach-O image at this place.
    init?(_ source: some ByteSource, start: Int) throws(MalformedInput) {
        guard start >= 0, start <= source.size else { return nil }
        let head = try FileNumbers(source, start, 28)
        let headerSize: Int
        switch head.big(0, 4) {
        case 0xCFFA_EDFE: (isLittle, headerSize) = (true, 32)
        case 0xCEFA_EDFE: (isLittle, headerSize) = (true, 28)
        case 0xFEED_FACF: (isLittle, headerSize) = (false, 32)
        case 0xFEED_FACE: (isLittle, headerSize) = (false, 28)
        default: return nil
        }
        let size = head.number(20, isLittle: isLittle)
        guard size <= MachOImage.commandBytes else { return nil }
        commands = try FileNumbers(source, start + headerSize, size)
        self.start = start
    }

    /// The first of some commands, with the number of each of its 32-bit words after command and length. Nil if there is none, or if a
    /// length is impossible before it.
    func first(_ wanted: Set<Int>) -> (command: Int, word: (Int) -> Int)? {
        var index = 0
        while index + 16 <= commands.count {
            let length = commands.number(index + 4, isLittle: isLittle)
            guard length >= 8 else { return nil }
            let command = commands.number(index, isLittle: isLittle)
            if wanted.contains(command) {
                let place = index + 8
                return (command, { commands.number(place + $0 * 4, isLittle: isLittle) })
            }
            index += length
        }
        return nil
    }
}

/// Bytes of a file, with numbers in them.
struct FileNumbers {
    private let storage: [UInt8]

    init(_ source: some ByteSource, _ start: Int, _ count: Int) throws(MalformedInput) {
        storage = try source.part(at: start, count: count)
    }

    var count: Int { storage.count }

    /// Zero if the place is outside; a value that does not fit is clamped.
    func big(_ start: Int, _ size: Int) -> Int {
        guard start >= 0, size <= storage.count - start else { return 0 }
        return Int(clamping: storage[start..<(start + size)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    func number(_ start: Int, isLittle: Bool) -> Int {
        isLittle ? Int(UInt32(truncatingIfNeeded: big(start, 4)).byteSwapped) : big(start, 4)
    }
}

extension LinkedSDK {
    /// The SDK that an executable names, which is what the system goes by: the oldest of its architectures. Nil if it names none.
    ///
    /// `LC_BUILD_VERSION` has platform, minimum and SDK; the older `LC_VERSION_MIN_...` have minimum and SDK.
    init?(executable source: some ByteSource) {
        let starts = (try? MachOImage.starts(in: source)) ?? []
        // An app has two or three architectures.
        let all = starts.prefix(4).compactMap { start -> LinkedSDK? in
            guard let image = (try? MachOImage(source, start: start)) ?? nil,
                let (command, word) = image.first([0x24, 0x25, 0x2F, 0x30, 0x32])
            else { return nil }
            let platform: Platform
            switch (command, command == 0x32 ? word(0) : 0) {
            case (0x24, _), (0x32, 1): platform = .macOS
            // Mac Catalyst counts as iOS does.
            case (0x25, _), (0x32, 2), (0x32, 6), (0x32, 7): platform = .iOS
            case (0x2F, _), (0x32, 3), (0x32, 8): platform = .tvOS
            case (0x30, _), (0x32, 4), (0x32, 9): platform = .watchOS
            case (0x32, 11), (0x32, 12): platform = .visionOS
            default: return nil
            }
            let version = command == 0x32 ? word(2) : word(1)
            return LinkedSDK(platform, major: version >> 16, minor: version >> 8 & 0xFF)
        }
        guard let oldest = all.min() else { return nil }
        self = oldest
    }
}
