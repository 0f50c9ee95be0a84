// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Formats
import Vocabulary

/// What happened to the fleet, counted while it happens.
package actor FleetTally {
    /// What one persona's devices met.
    package struct Line: Sendable {
        package var devices = 0
        /// Requests by what they were: attestations, assertions, signals.
        package var accepted: [String: Int] = [:]
        /// Refusals by code.
        package var refused: [String: Int] = [:]
        /// Devices that met something else than their persona should, with what it was.
        package var surprises: [String: Int] = [:]
    }

    /// How the devices that serve many users came to light.
    package struct BrokerLine: Sendable {
        package var devices = 0
        package var keys = 0
        package var noticed = 0
        /// Seconds from the first attestation of a broker to the first sign, for the first that was noticed.
        package var firstNoticedAfter: Double?
        /// What the sign was.
        package var by: String?
    }

    package private(set) var lines: [Persona: Line] = [:]
    package private(set) var brokers = BrokerLine()
    package private(set) var requests = 0
    package private(set) var throttled = 0
    package init() {}

    private var latencies: [String: [Double]] = [:]

    package func begin(_ persona: Persona) { lines[persona, default: Line()].devices += 1 }

    package func accepted(_ what: String, _ persona: Persona) {
        lines[persona, default: Line()].accepted[what, default: 0] += 1
    }

    package func refused(_ code: String, _ persona: Persona) {
        lines[persona, default: Line()].refused[code, default: 0] += 1
    }

    package func surprise(_ what: String, _ persona: Persona) {
        lines[persona, default: Line()].surprises[what, default: 0] += 1
    }

    package func answered(_ call: String, in duration: Duration, throttled isThrottled: Bool) {
        requests += 1
        guard !isThrottled else {
            throttled += 1
            return
        }
        let milliseconds = Double(duration.components.seconds) * 1e3 + Double(duration.components.attoseconds) / 1e15
        latencies[call, default: []].append(milliseconds)
    }

    package func broker(keys: Int) {
        brokers.devices += 1
        brokers.keys += keys
    }

    package func noticed(after seconds: Double, by sign: String) {
        brokers.noticed += 1
        guard brokers.firstNoticedAfter.map({ seconds < $0 }) ?? true else { return }
        brokers.firstNoticedAfter = seconds
        brokers.by = sign
    }

    /// Whether every device met what its persona should.
    package var isAsExpected: Bool { lines.values.allSatisfy { $0.surprises.isEmpty } }

    /// The latency in milliseconds below which the given share of the answers to a call came.
    private func quantile(_ call: String, _ share: Double) -> Double? {
        guard let sorted = latencies[call]?.sorted(), !sorted.isEmpty else { return nil }
        return sorted[min(Int(Double(sorted.count) * share), sorted.count - 1)]
    }
}

extension FleetTally {
    /// The report for people.
    package func text(elapsed: Double, service: String) -> String {
        let devices = lines.values.reduce(0) { $0 + $1.devices }
        var rows = [["persona", "devices", "accepted", "refused", "why"]]
        for persona in Persona.allCases {
            guard let line = lines[persona] else { continue }
            let why = line.refused.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
                .map { "\($0.value) \($0.key)" }.joined(separator: ", ")
            rows.append([
                persona.rawValue, String(line.devices), String(line.accepted.values.reduce(0, +)),
                String(line.refused.values.reduce(0, +)), why,
            ])
        }
        var text = "\(devices) devices, \(requests) requests in \(FleetTally.decimal(elapsed)) s"
        text += throttled > 0 ? ", \(throttled) answered with 429 and repeated\n\n" : "\n\n"
        text += FleetTally.table(rows)
        for call in ["attestations", "assertions"] {
            guard let half = quantile(call, 0.5), let most = quantile(call, 0.99) else { continue }
            text += "\n\(call): half within \(FleetTally.decimal(half)) ms, 99% within \(FleetTally.decimal(most)) ms"
        }
        if brokers.devices > 0 {
            text += "\n\(brokers.devices) broker devices with \(brokers.keys) keys: "
            if let after = brokers.firstNoticedAfter {
                text +=
                    "\(brokers.noticed) detected, the first after \(FleetTally.decimal(after)) s (\(brokers.by ?? "no sign"))"
            } else {
                text += "none detected while the fleet ran"
            }
        }
        let surprises = surpriseLines()
        text +=
            surprises.isEmpty
            ? "\nAll personas behaved as expected.\n" : "\n" + surprises.joined(separator: "\n") + "\n"
        return text
    }

    /// The report for programs.
    package func json(elapsed: Double, service: String) -> JSONValue {
        let personas = Persona.allCases.compactMap { persona -> JSONValue? in
            guard let line = lines[persona] else { return nil }
            return [
                "persona": .string(persona.rawValue), "devices": .integer(line.devices),
                "accepted": FleetTally.counts(line.accepted), "refused": FleetTally.counts(line.refused),
                "unexpected": FleetTally.counts(line.surprises),
            ]
        }
        let latency = latencies.keys.sorted().map { call in
            func value(_ share: Double) -> JSONValue { quantile(call, share).map { .number($0) } ?? .null }
            return JSONValue.Member(call, ["p50": value(0.5), "p99": value(0.99)])
        }
        return [
            "schema": "sealward.fleet/1", "service": .string(service),
            "devices": .integer(lines.values.reduce(0) { $0 + $1.devices }), "requests": .integer(requests),
            "throttled": .integer(throttled), "elapsedMilliseconds": .integer(Int(elapsed * 1000)),
            "personas": .array(personas),
            "broker": [
                "devices": .integer(brokers.devices), "keys": .integer(brokers.keys),
                "noticed": .integer(brokers.noticed),
                "noticedAfterSeconds": brokers.firstNoticedAfter.map { .number($0) } ?? .null,
                "by": .optional(brokers.by),
            ],
            "latencyMilliseconds": .object(latency), "asExpected": .bool(isAsExpected),
        ]
    }

    private func surpriseLines() -> [String] {
        Persona.allCases.flatMap { persona in
            (lines[persona]?.surprises ?? [:]).sorted { $0.key < $1.key }
                .map { "UNEXPECTED \(persona.rawValue): \($0.value) x \($0.key)" }
        }
    }

    private static func counts(_ counts: [String: Int]) -> JSONValue {
        .object(counts.sorted { $0.key < $1.key }.map { .init($0.key, .integer($0.value)) })
    }

    package static func decimal(_ number: Double) -> String {
        let tenths = Int((number * 10).rounded())
        return "\(tenths / 10).\(abs(tenths % 10))"
    }

    /// Columns padded to their widest cell; numbers to the right.
    package static func table(_ rows: [[String]]) -> String {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            rows.map { column < $0.count ? $0[column].displayWidth : 0 }.max() ?? 0
        }
        return rows.map { row in
            let cells = row.enumerated().map { index, cell in
                let isRight = Int(cell) != nil || (index > 0 && index < columns - 1)
                return isRight ? cell.aligned(to: widths[index]) : cell.padded(to: widths[index])
            }
            return cells.joined(separator: "  ").replacing(#/ +$/#, with: "") + "\n"
        }.joined()
    }
}
