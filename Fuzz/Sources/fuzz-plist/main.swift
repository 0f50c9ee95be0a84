// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import Foundation
import PropertyLists

/// Feeds damaged property lists to both readers and lints what is still readable. A crash of the process is the finding; the input
/// that is being tried stands in the file that `--last` names.
///
///     fuzz-plist --seconds 60 [--last FILE]
func option(_ name: String) -> String? {
    guard let index = CommandLine.arguments.firstIndex(of: name), index + 1 < CommandLine.arguments.count else {
        return nil
    }
    return CommandLine.arguments[index + 1]
}

let seconds = option("--seconds").flatMap(Double.init) ?? 60
let last = option("--last") ?? NSTemporaryDirectory() + "fuzz-plist-last"
let vectors = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Tests/Vectors/ats")
var corpus: [[UInt8]] = []
for folder in ["real", "tricky"] {
    let names = try FileManager.default.contentsOfDirectory(atPath: vectors.appendingPathComponent(folder).path)
    for name in names.sorted() {
        let data = try Data(contentsOf: vectors.appendingPathComponent("\(folder)/\(name)"))
        corpus.append(Array(data))
        let object = try PropertyListSerialization.propertyList(from: data, options: [], format: nil)
        corpus.append(Array(try PropertyListSerialization.data(fromPropertyList: object, format: .binary, options: 0)))
    }
}
let fragments = [
    "<dict>", "</dict>", "<key>", "</key>", "<![CDATA[", "]]>", "&#x0;", "&amp", "<!--", "<?", "<!DOCTYPE [",
    "\u{FEFF}", "<true/>", "NSExceptionDomains",
]
.map { Array($0.utf8) }

func mutated(_ input: [UInt8], by random: inout SystemRandomNumberGenerator) -> [UInt8] {
    var bytes = input
    for _ in 0..<Int.random(in: 1...6, using: &random) where !bytes.isEmpty {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1: bytes[place] = [0, 0xFF, 0x7F, 0x80, 0x0F, 0x1F].randomElement(using: &random) ?? 0
        case 2: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...40, using: &random)))
        case 3: bytes.insert(contentsOf: fragments.randomElement(using: &random) ?? [], at: place)
        case 4: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + 60)], at: place)
        default: bytes.removeSubrange(place...)
        }
    }
    return bytes
}

var random = SystemRandomNumberGenerator()
let end = Date(timeIntervalSinceNow: seconds)
var tried = 0
var readable = 0
while Date() < end {
    guard let seed = corpus.randomElement(using: &random) else { break }
    let input = mutated(seed, by: &random)
    try Data(input).write(to: URL(fileURLWithPath: last))
    tried += 1
    guard let document = try? PlistReader.read(input) else { continue }
    readable += 1
    let subject = LintSubject(path: "fuzz", document: document)
    _ = Linter.lint(subject)
    if readable.isMultiple(of: 50) { _ = PlistFixer(subject) { try? PlistReader.read($0) } }
}
try? FileManager.default.removeItem(atPath: last)
print("fuzz-plist: \(tried) inputs, \(readable) of them readable, no crash")
