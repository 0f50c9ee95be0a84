// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import ArgumentParser
import Findings
import Foundation

/// Bytes given as base64 on the command line.
struct Base64Bytes: ExpressibleByArgument {
    let bytes: [UInt8]

    init?(argument: String) {
        guard let bytes = Base64.decode(argument) else { return nil }
        self.bytes = bytes
    }
}

/// What every command that judges an object asks: for which app, when, and in what form to say it.
struct JudgementOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The App ID prefix and bundle identifier.", valueName: "PREFIX.bundle"))
    var appId: AppIdentity

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The time to verify at, RFC 3339; default now. Assertions do not depend on it.", valueName: "RFC3339"))
    var at: Instant?

    @Option(name: .long, help: ArgumentHelp("Output format: text or json.", valueName: "FORMAT"))
    var format: TextOrJSON = .text

    @OptionGroup var shared: SharedOptions

    var instant: Date { at?.date ?? Date() }
}

/// What the inspections take beside their file: nothing is judged, so little can be chosen.
struct InspectionOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("Accepted for consistency; has no effect.", valueName: "RFC3339"))
    var at: Instant?

    @Option(name: .long, help: ArgumentHelp("Output format: text or json.", valueName: "FORMAT"))
    var format: TextOrJSON = .text

    @OptionGroup var shared: SharedOptions
}

/// What reading an object from a file gives: its bytes, or the refusal that they are no base64.
enum AttestInput {
    /// Reads the raw bytes of an object or their base64.
    ///
    /// Text is base64: no attestation, assertion or receipt consists of printable ASCII only. Line breaks are allowed in it.
    static func read(_ path: String) throws -> Result<[UInt8], MalformedInput> {
        // Far above the limits of the objects, so that one that is too large is refused as such and not left unread.
        let bytes = try CommandIO.read(path, limit: 16 << 20)
        let isText = !bytes.isEmpty && bytes.allSatisfy { (0x20..<0x7F).contains($0) || (0x09...0x0D).contains($0) }
        guard isText else { return .success(bytes) }
        let letters = bytes.filter { $0 > 0x20 }
        guard let decoded = Base64.decode(letters) else {
            return .failure(
                MalformedInput(
                    code: .malformedBase64, reason: "expected standard base64 with padding and without spaces"))
        }
        return .success(decoded)
    }

    /// Reads the PEM certificates of every `--trust-root` and makes roots of all of them, with faults that name the file; nil without any.
    ///
    /// Not inlined: the optimizer of Swift 6.3.1 crashes where this becomes part of an asynchronous function.
    @inline(never) static func roots<Roots>(
        _ files: [(path: String, pem: String)], _ make: (String) throws(MalformedInput) -> Roots
    ) throws -> Roots? {
        for (path, pem) in files {
            do throws(MalformedInput) { _ = try make(pem) } catch { throw error.fault(in: path) }
        }
        return files.isEmpty ? nil : try make(files.map(\.pem).joined(separator: "\n"))
    }

    /// The texts of the files of `--trust-root`, read once whatever roots are made of them.
    static func texts(_ paths: [String]) throws -> [(path: String, pem: String)] {
        try paths.map { ($0, String(decoding: try CommandIO.readText($0, limit: 1 << 20), as: UTF8.self)) }
    }
}

extension MalformedInput {
    /// The same fault as a sentence that names the file.
    func fault(in path: String) -> CommandFault {
        CommandFault("\(CommandIO.name(of: path)): \(description).")
    }
}
