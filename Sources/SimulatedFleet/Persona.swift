// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceSimulator

/// How a device of the fleet behaves.
package enum Persona: String, CaseIterable, Sendable {
    /// Attests once, then asserts.
    case honest
    /// Attests, asserts, is reinstalled, and begins again with a new key.
    case reinstaller
    /// Has no App Attest and says so.
    case unsupported
    /// A genuine app whose requests are changed on the way.
    case tamperer
    /// A modified app, signed again: genuine hardware, another identity.
    case resigned
    /// Sends what was accepted once more.
    case replayer
    /// One device with many users, each with another key.
    case broker
}

/// How many devices have each persona, by weight.
package struct PersonaMix: Sendable, Equatable {
    package let weights: [Persona: Int]

    /// - Parameter weights: how often each persona comes, relative to the others.
    package init(weights: [Persona: Int]) { self.weights = weights }

    package static let usual = PersonaMix(weights: [
        .honest: 70, .reinstaller: 8, .unsupported: 8, .tamperer: 4, .resigned: 4, .replayer: 5, .broker: 1,
    ])

    /// The persona of each device: weights are met as nearly as whole numbers allow, every persona with a weight comes at least once if
    /// there are devices enough, and the order is mixed by the seed.
    package func personas(devices: Int, seed: UInt64) -> [Persona] {
        let wanted = Persona.allCases.filter { weights[$0, default: 0] > 0 }
        let total = wanted.reduce(0) { $0 + weights[$1, default: 0] }
        guard total > 0, devices > 0 else { return [] }
        var list: [Persona] = []
        for persona in wanted {
            let share = devices * weights[persona, default: 0] / total
            list += Array(repeating: persona, count: max(share, devices >= wanted.count ? 1 : 0))
        }
        let common = wanted.max { weights[$0, default: 0] < weights[$1, default: 0] } ?? .honest
        while list.count > devices, let index = list.firstIndex(of: common) { list.remove(at: index) }
        while list.count < devices { list.append(common) }
        var random = SimulatorRandom(seed: seed)
        list.shuffle(using: &random)
        return Array(list.prefix(devices))
    }
}
