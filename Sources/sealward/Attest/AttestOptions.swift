// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import ArgumentParser
import Formats
import FoundationEssentials
import Vocabulary

/// Values on the command line, in every form that people have (``PastedBytes``).
enum PastedArgument {
    /// An App ID, `PREFIX.bundle`.
    static func appId(_ text: String) throws -> AppIdentity {
        do throws(MalformedInput) { return try AppIdentity(text) } catch { throw ValidationError(error.reason) }
    }

    /// A key identifier: 32 bytes.
    static func keyId(_ text: String) throws -> KeyIdentifier {
        let bytes = try read(text) { () throws(MalformedInput) in try fixed(text, sizes: [32], "32 bytes") }
        guard let keyId = KeyIdentifier(bytes: bytes) else { throw ValidationError("expected 32 bytes") }
        return keyId
    }

    /// A public key: 65 bytes in X9.63 form, or SubjectPublicKeyInfo in DER or PEM.
    static func publicKey(_ text: String) throws -> AttestationPublicKey {
        try read(text) { () throws(MalformedInput) in
            let bytes = try fixed(text, sizes: [65, 91], "65 bytes (X9.63) or 91 bytes (SPKI)")
            return bytes.count == 65
                ? try AttestationPublicKey(x963Representation: bytes)
                : try AttestationPublicKey(subjectPublicKeyInfo: bytes)
        }
    }

    /// Bytes of a fixed size; what has another size and is known by it is named.
    private static func fixed(_ text: String, sizes: [Int], _ words: String) throws(MalformedInput) -> [UInt8] {
        let read = try PastedBytes(
            reading: Array(text.utf8), wanted: .init(words) { sizes.contains($0.count) })
        guard !sizes.contains(read.bytes.count) else { return read.bytes }
        let name = name(of: read.bytes).map { ": \($0.name)\($0.advice)" } ?? ""
        throw MalformedInput(
            code: .malformedBase64, reason: "\(read.form) of \(read.bytes.count) bytes\(name); expected \(words)")
    }

    /// What the bytes of a key or of another object are, by their beginning and their number, and what to do with them where a key is wanted.
    private static func name(of bytes: [UInt8]) -> (name: String, advice: String)? {
        switch (bytes.first, bytes.count) {
        case (_, 32):
            ("a key ID or another hash", ", of which no key can be made; `attest verify` prints the public key")
        case (0x02, 33), (0x03, 33): ("the compressed point", "; give it uncompressed: 04, x, y")
        case (_, 64): ("x and y", "; put 04 before them")
        case (0x04, 65): ("the public key", "; the key ID is its SHA-256")
        case (0xA5, 75...77): ("a COSE key", "; give 04, then its x and its y")
        case (0x30, 68...72): ("a signature", "")
        case (0x30, 91): ("the public key as SPKI", "; the key ID is SHA-256 of the 65 bytes at its end")
        case (0x30, 200...): ("a certificate or a receipt", "")
        case (0xA3, 1000...): ("an attestation", "; `attest verify` prints its key ID and its public key")
        case (_, 37): ("the authenticator data of an assertion", "")
        case (_, 100...) where bytes[37...].starts(with: "appattest".utf8):
            ("the authenticator data of an attestation", "")
        default: nil
        }
    }

    /// What is given for an object and is a part of one, or a key; nil for everything else. 64 bytes may be anything.
    static func part(_ bytes: [UInt8]) -> String? {
        let isLong = bytes.count > 100 && (bytes.first == 0x30 || bytes.first == 0xA3)
        return isLong || bytes.count == 64 ? nil : name(of: bytes)?.name
    }

    /// A client data hash that is used as it is: usually 32 bytes.
    static func clientDataHash(_ text: String) throws -> ClientDataHash {
        try read(text) { () throws(MalformedInput) in
            try ClientDataHash(precomputed: PastedBytes(reading: Array(text.utf8), wanted: .size(32)).bytes)
        }
    }

    /// Any bytes: a challenge.
    static func bytes(_ text: String) throws -> [UInt8] {
        try read(text) { () throws(MalformedInput) in
            try PastedBytes(reading: Array(text.utf8), wanted: .anything).bytes
        }
    }

    /// Client data is read in one form only, because its bytes are what was signed.
    static func clientData(_ text: String) throws -> [UInt8] {
        try read(text) { () throws(MalformedInput) in
            guard let bytes = Base64.decode(text) else {
                throw MalformedInput(
                    code: .malformedBase64, reason: "expected standard base64 with padding, and nothing around it")
            }
            return bytes
        }
    }

    private static func read<Value>(_ text: String, _ value: () throws(MalformedInput) -> Value) throws -> Value {
        do { return try value() } catch {
            // Other programs read a file for `@NAME`.
            let name = text.hasPrefix("@") ? String(text.dropFirst()) : text
            let isFile = SystemFile.status(of: name, followingLinks: true) != nil
            throw ValidationError(error.reason + (isFile ? "; this is the name of a file: give what is in it" : ""))
        }
    }
}

/// What a proof is of: the hash that the app passed, or what is hashed.
struct HashedInput {
    let hash: ClientDataHash
    /// Nil if the hash itself was given.
    let data: [UInt8]?

    /// - Parameter options: how the three are called, for the error if not exactly one is given.
    init(text: String?, base64: [UInt8]?, hash given: ClientDataHash?, _ options: String) throws {
        guard [text != nil, base64 != nil, given != nil].count(where: { $0 }) == 1 else {
            throw ValidationError("Give exactly one of \(options).")
        }
        data = base64 ?? text.map { Array($0.utf8) }
        hash = given ?? ClientDataHash(hashing: data ?? [])
    }

    /// Says, of a proof that was refused, that a text which was hashed is the name of a file.
    static func noteFile(_ option: String, _ text: String?) {
        guard let text, InputFile.refusal(of: text) == nil else { return }
        CommandIO.say(
            "sealward: \(option): \(text.terminalSafe(limit: 80)) is the name of a file; its name was hashed, not what is in it."
        )
    }
}

/// What every command that judges an object asks: for which app, when, and in what form to say it.
struct JudgementOptions: ParsableArguments {
    @Option(help: .value("The App ID prefix and bundle identifier.", "PREFIX.bundle"), transform: PastedArgument.appId)
    var appId: AppIdentity

    @Option(help: .value("The time to verify at, RFC 3339; default now. Assertions do not depend on it.", "RFC3339"))
    var at: Instant?

    @OptionGroup var form: ResultForm

    var instant: Date { at?.date ?? Date() }
}

/// What the inspections take beside their file: nothing is judged, so little can be chosen.
struct InspectionOptions: ParsableArguments {
    @Option(help: .value("Accepted for consistency; has no effect.", "RFC3339"))
    var at: Instant?

    @OptionGroup var form: ResultForm
}

/// What reading an object from a file gives: its bytes, or the refusal that they are no base64.
enum AttestInput {
    /// Reads the raw bytes of an object, or a text that stands for them in any form that people have: no attestation, assertion or receipt
    /// consists of printable ASCII only.
    ///
    /// - Parameter code: of what is a part of an object, or a key.
    static func read(_ path: String, _ code: Code = .malformedCBOR) throws -> Result<[UInt8], MalformedInput> {
        // Far above the limits of the objects, so that one that is too large is refused as such and not left unread.
        let bytes = try CommandIO.read(path, limit: 16 << 20)
        do throws(MalformedInput) {
            let read = try PastedBytes(reading: bytes, wanted: .object, mayBeRaw: true)
            if let part = PastedArgument.part(read.bytes) {
                throw MalformedInput(
                    code: code,
                    reason:
                        "\(read.forms.isEmpty ? "" : read.form + " of ")\(read.bytes.count) bytes: \(part); expected the whole object as Apple's framework returned it"
                )
            }
            return .success(read.bytes)
        } catch {
            return .failure(error)
        }
    }

    /// Reads the PEM certificates of every `--trust-root` and makes roots of all of them, with faults that name the file; nil without any.
    ///
    /// Not inlined: the optimizer of Swift 6.3.1 crashes where this becomes part of an asynchronous function.
    @inline(never) static func roots<Roots>(
        _ files: [(path: String, pem: String)], _ make: (String) throws(MalformedInput) -> Roots
    ) throws -> Roots? {
        for (path, pem) in files {
            try CommandIO.named(path) { () throws(MalformedInput) in _ = try make(pem) }
        }
        return files.isEmpty ? nil : try make(files.map(\.pem).joined(separator: "\n"))
    }

    /// The texts of the files of `--trust-root`, read once whatever roots are made of them.
    static func texts(_ paths: [String]) throws -> [(path: String, pem: String)] {
        try paths.map { ($0, String(decoding: try CommandIO.readText($0, limit: 1 << 20), as: UTF8.self)) }
    }
}
