// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

/// The receipts that Apple has issued, and the risk metric: how many keys a device had attested for an app within 30 days.
struct IssuedReceipts: Sendable {
    /// A key that was attested, and everything that its receipts repeat.
    struct Subject: Sendable {
        let keyId: String
        let device: String
        let app: String
        let environment: SimulatedEnvironment
        /// The attested key, 65 bytes.
        let publicKey: [UInt8]
        /// Field 3: the DER of the key's certificate.
        let certificate: [UInt8]
        /// Field 4.
        let clientDataHash: [UInt8]

        var team: String { AppId.team(of: app) }
    }

    /// What Apple says to a receipt.
    enum Decision: Sendable {
        /// 200: a newer receipt with this metric.
        case renew(Subject, metric: Int)
        case tooEarly
        case wrongEnvironment
        case badPayload
        case otherTeam
        case noData
    }

    private struct Owner: Hashable {
        let device: String
        let app: String
        let environment: SimulatedEnvironment
    }

    /// 30 days: the window of the metric and of what Apple remembers.
    static let window: TimeInterval = 30 * 86_400

    private var subjects: [[UInt8]: Subject] = [:]
    private var attested: [Owner: [String: Date]] = [:]
    private var notBefore: [String: Date] = [:]

    /// Remembers an attestation and its receipt. The same key again counts once.
    mutating func attest(_ subject: Subject, receipt: [UInt8], at instant: Date) {
        let owner = Owner(device: subject.device, app: subject.app, environment: subject.environment)
        attested[owner, default: [:]][subject.keyId] = instant
        register(receipt, of: subject)
    }

    /// Remembers a receipt that was issued, and when the next may be asked for.
    mutating func register(_ receipt: [UInt8], of subject: Subject, notBefore instant: Date? = nil) {
        subjects[Array(SHA256.hash(data: receipt))] = subject
        if let instant { notBefore[subject.keyId] = instant }
    }

    /// Unique keys of a device and app in the window before `instant`.
    func metric(device: String, app: String, _ environment: SimulatedEnvironment, at instant: Date) -> Int {
        let keys = attested[Owner(device: device, app: app, environment: environment)] ?? [:]
        return keys.values.count { $0 > instant.addingTimeInterval(-IssuedReceipts.window) && $0 <= instant }
    }

    /// Judges a refresh: payload, team, environment, then whether Apple still knows anything, then the time.
    func judge(_ receipt: [UInt8], team: String, _ environment: SimulatedEnvironment, at instant: Date) -> Decision {
        guard let subject = subjects[Array(SHA256.hash(data: receipt))] else { return .badPayload }
        guard subject.team == team else { return .otherTeam }
        guard subject.environment == environment else { return .wrongEnvironment }
        let metric = metric(device: subject.device, app: subject.app, environment, at: instant)
        guard metric > 0 else { return .noData }
        if let early = notBefore[subject.keyId], instant < early { return .tooEarly }
        return .renew(subject, metric: metric)
    }

    /// Any subject of another app, for the fault that answers with a foreign receipt.
    func otherApp(than app: String) -> Subject? {
        subjects.values.filter { $0.app != app }.min { $0.keyId < $1.keyId }
    }

    /// The subject of a receipt that was issued here.
    func subject(of receipt: [UInt8]) -> Subject? { subjects[Array(SHA256.hash(data: receipt))] }
}

/// App IDs: a prefix, which is usually the team id, a dot, and a bundle id.
enum AppId {
    static func team(of app: String) -> String { String(app.prefix { $0 != "." }) }

    static func isValid(_ app: String) -> Bool {
        let parts = app.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty, app.utf8.count <= 255 else { return false }
        return app.utf8.allSatisfy { $0.isLetterOrDigit || "-.".utf8.contains($0) }
    }
}

extension UInt8 {
    /// Of ASCII.
    var isLetterOrDigit: Bool { 0x30...0x39 ~= self || 0x41...0x5A ~= self || 0x61...0x7A ~= self }
}
