// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// A rollback journal beside an SQLite file with which SQLite deletes a file that the journal names (SQLite's file format, section 3).
public enum CraftedJournal {
    /// Writes `-journal` beside a database that is there.
    public static func write(beside database: String, naming victim: String) throws {
        let head = Array(try Data(contentsOf: URL(fileURLWithPath: database)))
        let page = UInt32(head[16]) << 8 | UInt32(head[17])
        let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
        func big(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
        var journal = magic
        for number in [0, 0, UInt32(head.count) / page, 512, page] { journal += big(number) }
        journal += [UInt8](repeating: 0, count: 512 - journal.count)
        let name = Array(victim.utf8)
        journal += big(0x4000_0000 / page + 1) + name + big(UInt32(name.count))
        journal += big(name.reduce(0) { $0 + UInt32($1) }) + magic
        try Data(journal).write(to: URL(fileURLWithPath: database + "-journal"))
    }

    /// The names and bytes of all files in a folder.
    public static func files(in folder: URL) throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        return Dictionary(
            uniqueKeysWithValues: names.map { ($0, (try? Data(contentsOf: folder.appending(path: $0))) ?? Data()) })
    }
}
