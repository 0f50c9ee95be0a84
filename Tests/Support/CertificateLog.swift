// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// A log of Certificate Transparency with a key of its own; it signs with the `openssl` program.
public struct CertificateLog: Sendable {
    public let name: String
    public let operatorName: String
    /// SHA-256 of the public key.
    public let identifier: [UInt8]
    /// DER SubjectPublicKeyInfo.
    public let publicKey: [UInt8]
    private let keyPath: String
    private let isRSA: Bool
    private let directory: TemporaryDirectory

    public init(_ name: String, of operatorName: String, key: TestCertification.Key = .curve("prime256v1")) throws {
        self.name = name
        self.operatorName = operatorName
        directory = try TemporaryDirectory()
        keyPath = directory.path("log.key")
        switch key {
        case .rsa(let bits):
            try OpenSSLProgram.run(["genrsa", "-out", keyPath, "\(bits)"])
            isRSA = true
        case .curve(let curve):
            try OpenSSLProgram.run(["ecparam", "-name", curve, "-genkey", "-noout", "-out", keyPath])
            isRSA = false
        case .ed25519: throw OpenSSLProgram.Failure(description: "logs have no Ed25519 keys")
        }
        let path = directory.path("public.der")
        try OpenSSLProgram.run(["pkey", "-in", keyPath, "-pubout", "-outform", "DER", "-out", path])
        publicKey = try CertificateLog.bytes(path)
        try OpenSSLProgram.run(["dgst", "-sha256", "-binary", "-out", directory.path("id"), path])
        identifier = try CertificateLog.bytes(directory.path("id"))
    }

    /// What a log signs about a certificate (RFC 6962 section 3.2): `entry_type` and `signed_entry`.
    public enum Entry: Sendable {
        case certificate([UInt8])
        /// The signed part of the certificate without its timestamps, and the issuer's public key.
        case precertificate([UInt8], issuerKey: [UInt8])
    }

    /// A timestamp in its TLS encoding, without the length before it.
    ///
    /// - Parameter overAnother: signs something else, as a forger would who has no key of the log.
    public func timestamp(_ entry: Entry, at date: Date = Date(), overAnother: Bool = false) throws -> [UInt8] {
        let milliseconds = UInt64(date.timeIntervalSince1970 * 1000)
        let time = (0..<8).reversed().map { UInt8(truncatingIfNeeded: milliseconds >> ($0 * 8)) }
        func counted(_ bytes: [UInt8]) -> [UInt8] {
            [16, 8, 0].map { UInt8(truncatingIfNeeded: bytes.count >> $0) } + bytes
        }
        var message: [UInt8] = [0, 0] + time
        switch entry {
        case .certificate(let der): message += [0, 0] + counted(der)
        case .precertificate(let part, let key):
            let path = directory.path(UUID().uuidString)
            try Data(key).write(to: URL(fileURLWithPath: path))
            try OpenSSLProgram.run(["dgst", "-sha256", "-binary", "-out", path + ".hash", path])
            message += [0, 1] + (try CertificateLog.bytes(path + ".hash")) + counted(part)
        }
        message += [0, 0]
        let input = directory.path(UUID().uuidString)
        try Data(overAnother ? message.reversed() : message).write(to: URL(fileURLWithPath: input))
        try OpenSSLProgram.run(["dgst", "-sha256", "-sign", keyPath, "-out", input + ".sig", input])
        let signature = try CertificateLog.bytes(input + ".sig")
        return [0] + identifier + time + [
            0, 0, 4, isRSA ? 1 : 3, UInt8(signature.count >> 8), UInt8(signature.count & 255),
        ]
            + signature
    }

    /// A SignedCertificateTimestampList.
    public static func list(_ timestamps: [[UInt8]]) -> [UInt8] {
        let body = timestamps.flatMap { [UInt8($0.count >> 8), UInt8($0.count & 255)] + $0 }
        return [UInt8(body.count >> 8), UInt8(body.count & 255)] + body
    }

    /// A log list of version 3. Every log is usable unless a state is given as JSON.
    ///
    /// - Parameter intervals: the days of the certificates that a log takes, the first and the one after the last.
    public static func logList(
        _ logs: [CertificateLog], states: [String: String] = [:], intervals: [String: (String, String)] = [:]
    ) -> String {
        let operators = Dictionary(grouping: logs, by: \.operatorName).sorted { $0.key < $1.key }.map { name, logs in
            let entries = logs.map { log in
                let state = states[log.name] ?? #""usable":{"timestamp":"2024-01-01T00:00:00Z"}"#
                let interval =
                    intervals[log.name].map {
                        #","temporal_interval":{"start_inclusive":"\#($0)T00:00:00Z","end_exclusive":"\#($1)T00:00:00Z"}"#
                    } ?? ""
                return #"{"description":"\#(log.name)","log_id":"\#(Data(log.identifier).base64EncodedString())","#
                    + #""key":"\#(Data(log.publicKey).base64EncodedString())","state":{\#(state)}\#(interval)}"#
            }
            return #"{"name":"\#(name)","logs":[\#(entries.joined(separator: ","))]}"#
        }
        return #"{"operators":[\#(operators.joined(separator: ","))]}"#
    }

    static func bytes(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }
}

extension TestCertification {
    /// Issues a certificate with timestamps in it, of the precertificate that `openssl` makes of the same words.
    ///
    /// - Parameter timestamps: makes them of the entry that a log sees.
    public func issue(
        _ file: String, subject: String, key: Key = .curve("prime256v1"), issuer: Identity, extensions: [String],
        days: Int, timestamps: (CertificateLog.Entry) throws -> [[UInt8]]
    ) throws -> Identity {
        let issuerKey = directory.path(file + ".issuer.der")
        let pem = try OpenSSLProgram.run(["x509", "-in", issuer.certificatePath, "-noout", "-pubkey"])
        try OpenSSLProgram.run(["pkey", "-pubin", "-pubout", "-outform", "DER", "-out", issuerKey], input: pem)
        let serial = Int.random(in: 1...Int(Int32.max))
        // Both must be made in the same second.
        for attempt in 0..<20 {
            let before = try issue(
                "\(file)-pre\(attempt)", subject: subject, key: key, issuer: issuer, extensions: extensions, days: days,
                serial: serial)
            // Bytes 0 to 3 are the header of the certificate; the signed part follows.
            let part = directory.path(file + ".tbs")
            try OpenSSLProgram.run([
                "asn1parse", "-in", before.certificatePath, "-strparse", "4", "-noout", "-out", part,
            ])
            let entry = CertificateLog.Entry.precertificate(
                try CertificateLog.bytes(part), issuerKey: try CertificateLog.bytes(issuerKey))
            let list = CertificateLog.list(try timestamps(entry))
            let hex = list.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            // In the midst of the others, where it must be taken out again.
            var all = extensions
            all.insert("1.3.6.1.4.1.11129.2.4.2=ASN1:FORMAT:HEX,OCTETSTRING:\(hex)", at: min(1, all.count))
            let made = try issue(
                "\(file)-\(attempt)", subject: subject, issuer: issuer, extensions: all, days: days, keyFrom: before,
                serial: serial)
            let dates = try [before, made].map {
                try OpenSSLProgram.run(["x509", "-in", $0.certificatePath, "-noout", "-dates"])
            }
            if dates[0] == dates[1] { return made }
        }
        throw OpenSSLProgram.Failure(description: "no two certificates of one second")
    }
}
