// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import TLSModel
public import Vocabulary

/// Roots that end a path, each with its kind and the store that it came from.
///
/// Loading splits the text and reads the names; a root is read in full only when a path reaches for it.
public struct TrustAnchors: Sendable {
    /// One root as it appears in its store.
    package struct Anchor: Sendable, Equatable {
        package let der: [UInt8]
        /// Whether it came with the system or was installed.
        package let kind: AnchorKind
        package let store: String
    }

    /// Every root, in the order of loading, each once.
    package private(set) var anchors: [Anchor] = []
    private var indexByName: [EncodedKey: [Int]] = [:]
    private var indexByBytes: [EncodedKey: Int] = [:]
    private let knownIssuers = BoundedCache<EncodedKey, CertificateFacts>.issuers()
    private let knownNames = BoundedCache<EncodedKey, EncodedKey>.issuers()
    private let knownSignatures = BoundedCache<EncodedKey, SignatureVerdict>.issuers()

    /// No root: every chain ends unanchored.
    public init() {}

    /// - Parameters:
    ///   - pem: PEM text with one or more certificates, or one DER certificate.
    ///   - store: how reports name the store.
    /// - Throws: `malformed.trust-store` if there is no certificate in it.
    public init(pem: [UInt8], kind: AnchorKind, store: String) throws(MalformedInput) {
        try add(pem: pem, kind: kind, store: store)
    }

    /// The roots of files, or of standard input for `-`: those in place of the system's, an app's own, and installed ones.
    ///
    /// A machine without roots can still judge chains to the roots that are named.
    /// - Throws: `malformed.trust-store` where a file is absent or has no certificate.
    package init(system files: [String], app: [String], installed: [String]) throws(MalformedInput) {
        if files.isEmpty {
            do {
                self = try .system()
            } catch {
                guard !app.isEmpty || !installed.isEmpty else { throw error }
                self.init()
            }
        } else {
            self.init()
        }
        for path in files { try add(input: path, kind: .system) }
        for path in app { try add(input: path, kind: .app) }
        for path in installed { try add(input: path, kind: .installed) }
    }

    /// The roots of this Debian or Ubuntu system, which are Mozilla's, not Apple's.
    /// - Throws: `malformed.trust-store` where the file is absent or has no certificate.
    public static func system(path: String = TrustAnchors.systemPath) throws(MalformedInput) -> TrustAnchors {
        guard SystemFile.status(of: path, followingLinks: true) != nil else {
            throw MalformedInput(
                code: .malformedTrustStore, place: path,
                reason:
                    "there is no such file; install the package ca-certificates, or name a file of roots with --roots")
        }
        return try TrustAnchors(
            pem: try read(path), kind: .system, store: path == systemPath ? "\(path) (Mozilla)" : path)
    }

    /// Adds the roots of a file (`--ca-file`, `--roots`).
    /// - Throws: `malformed.trust-store` where the file is absent or has no certificate.
    public mutating func add(file path: String, kind: AnchorKind) throws(MalformedInput) {
        try add(pem: try TrustAnchors.read(path), kind: kind, store: path)
    }

    /// Adds the roots of what an option names: a file, or standard input for `-`.
    ///
    /// Standard input is read once: every store of this process that names it gets the same roots.
    /// - Throws: `malformed.trust-store` where it has no certificate.
    package mutating func add(input path: String, kind: AnchorKind) throws(MalformedInput) {
        guard path.hasSameBytes(as: "-") else { return try add(file: path, kind: kind) }
        try add(pem: TrustAnchors.standardInput.get(), kind: kind, store: TrustAnchors.standardInputName)
    }

    private static let standardInputName = "standard input"
    private static let standardInput = Result { () throws(MalformedInput) in
        try read(standardInputName) { () throws(InputFault) in try InputFile.standardInput() }
    }

    /// Adds the roots of a PEM text or one DER certificate. A root that is there already keeps its first kind.
    public mutating func add(pem: [UInt8], kind: AnchorKind, store: String) throws(MalformedInput) {
        var blocks = PEMBlocks.decode(pem, labels: ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"])
        if blocks.isEmpty, pem.first == 0x30 { blocks = [pem] }
        var added = 0
        for der in blocks {
            guard let subject = TrustAnchors.subject(of: der) else { continue }
            added += 1
            let key = EncodedKey(der)
            guard indexByBytes[key] == nil else { continue }
            indexByBytes[key] = anchors.count
            indexByName[subject, default: []].append(anchors.count)
            anchors.append(Anchor(der: der, kind: kind, store: store))
        }
        guard added > 0 else {
            throw MalformedInput(code: .malformedTrustStore, place: store, reason: "it contains no certificate")
        }
    }

    /// Whether a root has exactly these bytes.
    func contains(_ der: [UInt8]) -> Bool { indexByBytes[EncodedKey(der)] != nil }

    /// The root with exactly these bytes.
    func root(equalTo der: [UInt8]) -> AnchorFacts? {
        indexByBytes[EncodedKey(der)].flatMap { facts(at: $0) }
    }

    /// The roots with a subject that compares as equal to the key of ``DistinguishedName/comparisonKey(_:)``.
    func roots(named key: EncodedKey) -> [AnchorFacts] {
        (indexByName[key] ?? []).compactMap { facts(at: $0) }
    }

    /// The facts of a root or an intermediate.
    func issuer(_ der: [UInt8]) -> CertificateFacts? {
        knownIssuers.value(of: der) { try? CertificateFacts(decoding: der) }
    }

    /// The comparison key of the name of a root or an intermediate.
    func issuerName(_ der: [UInt8]) -> EncodedKey {
        knownNames.value(of: der) { DistinguishedName.comparisonKey(der) } ?? EncodedKey(der)
    }

    /// Whether the key signed the intermediate: a function of both alone.
    func signature(of certificate: CertificateFacts, under key: PublicKeyFacts) -> SignatureVerdict {
        func check() -> SignatureVerdict { certificate.signatureVerdict(under: key) }
        return knownSignatures.value(of: certificate.der + key.der, make: check) ?? check()
    }

    private func facts(at index: Int) -> AnchorFacts? {
        let anchor = anchors[index]
        guard let certificate = issuer(anchor.der) else { return nil }
        return AnchorFacts(certificate: certificate, kind: anchor.kind, store: anchor.store)
    }

    /// The comparison key of the subject, without reading the rest of the certificate.
    private static func subject(of der: [UInt8]) -> EncodedKey? {
        guard let (_, signed) = try? SignedCertificate.open(der) else { return nil }
        return try? DistinguishedName(CertificateMembers(signed).subject, "subject").comparisonKey
    }

    private static func read(_ path: String) throws(MalformedInput) -> [UInt8] {
        try read(path) { () throws(InputFault) in try InputFile.open(path) }
    }

    private static func read(
        _ path: String, _ open: () throws(InputFault) -> InputFile
    ) throws(MalformedInput) -> [UInt8] {
        let bytes: [UInt8]
        do {
            bytes = try TextFileEncoding.text(open().contents(limit: maximumSize))
        } catch {
            throw MalformedInput(code: .malformedTrustStore, place: path, reason: error.reason)
        }
        guard bytes.count <= maximumSize else {
            throw MalformedInput(code: .malformedTrustStore, place: path, reason: "the file is larger than 64 MiB")
        }
        return bytes
    }

    /// The file with all roots of this system; Debian's where there is none.
    public static let systemPath =
        systemPaths.first { SystemFile.status(of: $0, followingLinks: true) != nil } ?? systemPaths[0]
    /// Debian, Ubuntu and Alpine; RHEL, Fedora and Amazon Linux; SUSE.
    private static let systemPaths = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
    ]
    private static let maximumSize = 64 << 20
}

/// DER bytes as the key of a dictionary: an array hashes one byte after the other, which takes longer than reading the certificate.
struct EncodedKey: Hashable, Sendable {
    let der: [UInt8]

    init(_ der: [UInt8]) { self.der = der }

    func hash(into hasher: inout Hasher) {
        // Safe: the buffer is read while it is lent.
        unsafe der.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    }
}

extension BoundedCache where Key == EncodedKey {
    /// What is known of encodings of intermediates and roots. Leaves do not belong here.
    static func issuers() -> BoundedCache { BoundedCache(capacity: 128) }

    /// The value of an encoding, remembered or made; one of more than 8,192 bytes is not remembered.
    func value(of der: [UInt8], make: () -> Value?) -> Value? {
        der.count <= 8192 ? value(for: EncodedKey(der), make: make) : make()
    }
}
