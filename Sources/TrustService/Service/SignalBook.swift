// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPService
import Logging
import TrustStores

/// Collects counts in memory and writes them to the store every few seconds, so that a refused request never waits for a commit.
///
/// Counts are the one thing that a crash may lose, and the one thing that refused requests may change.
actor SignalBook {
    private struct Name: Hashable {
        let app: String
        let hour: Int
        let kind: String
        let code: String
    }

    private let store: any TrustStore
    private let log: Logger
    private var counts: [Name: Int] = [:]
    private var seen: Set<String> = []
    private var seenHour = 0
    /// How often each kind was counted today for the networks of providers.
    private var providers: [String: Int] = [:]
    private var providersDay = 0

    /// More addresses than this in an hour are not told apart any more: the ratio stays what it was.
    static let addressLimit = 200_000
    /// What strangers in the IPv6 network of one provider report counts so often a day, and as often as phones attest there: that much of it, from
    /// two such networks, is too little evidence for an alert (``UnsupportedMonitor/bar``).
    static let strangersLimit = 8
    /// More names than this wait for no flush.
    static let nameLimit = 4096

    init(store: any TrustStore, log: Logger) {
        self.store = store
        self.log = log
    }

    func count(_ app: String, kind: String, code: String = "", at now: Date, by amount: Int = 1) {
        let name = Name(app: app, hour: Int(now.timeIntervalSince1970) / 3600, kind: kind, code: code)
        guard counts[name] != nil || counts.count < SignalBook.nameLimit else { return }
        counts[name, default: 0] += amount
    }

    /// Counts at most once an hour for each network (``CallerAddress/network(of:)``): ratios are of networks, not of requests.
    func countOnce(_ app: String, kind: String, code: String = "", address: String, at now: Date) {
        let hour = Int(now.timeIntervalSince1970) / 3600
        if hour != seenHour {
            seenHour = hour
            seen.removeAll(keepingCapacity: false)
        }
        if hour / 24 != providersDay {
            providersDay = hour / 24
            providers.removeAll(keepingCapacity: false)
        }
        let provider = CallerAddress.provider(of: address).map { "\n\(app)\n\($0)" }
        if let provider, kind != EventKind.attestedAddress {
            let attested = providers[EventKind.attestedAddress + provider, default: 0]
            if providers[kind + provider, default: 0] >= max(SignalBook.strangersLimit, attested) { return }
        }
        guard seen.count < SignalBook.addressLimit,
            seen.insert("\(app)\n\(kind)\n\(CallerAddress.network(of: address))").inserted
        else { return }
        if let provider { providers[kind + provider, default: 0] += 1 }
        count(app, kind: kind, code: code, at: now)
    }

    /// Writes what was collected; keeps it if the store does not answer.
    func flush() async {
        guard !counts.isEmpty else { return }
        let batch = counts
        counts.removeAll()
        let tallies = batch.map { name, count in
            SignalTally(
                app: name.app, hour: Date(timeIntervalSince1970: Double(name.hour) * 3600), kind: name.kind,
                code: name.code, count: count)
        }
        do {
            try await store.add(tallies)
        } catch {
            log.warning("Counts could not be written; they are kept for the next attempt.")
            for (name, count) in batch where counts[name] != nil || counts.count < SignalBook.nameLimit {
                counts[name, default: 0] += count
            }
        }
    }
}
