// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// A plan whose history the checker refuses.
struct Failure: Sendable {
    let plan: Plan
    let history: History
    let violation: Violation

    /// Everything that somebody needs who looks for the cause.
    var report: String {
        """
        seed \(plan.seed): \(violation)
        The shortest history (\(plan.operations.count) operations, \(plan.faults.count) faults, \(plan.clocks.count) nodes); \
        `make replay-history SEED=\(plan.seed)` shows it again.
        \(history.text)
        """
    }
}

/// Runs plans and judges what came of them.
enum Simulation {
    /// Runs a plan; nil where every answer can be explained.
    static func failure(of plan: Plan, planted: PlantedBug? = nil) async throws -> Failure? {
        let history = try await World.history(of: plan, planted: planted)
        var model = SequentialModel(plan: plan)
        do {
            try model.check(history)
        } catch {
            return Failure(plan: plan, history: history, violation: error)
        }
        guard model.undecided == 0 else {
            let violation = Violation(object: "search", reason: "the history is too large to be judged")
            return Failure(plan: plan, history: history, violation: violation)
        }
        return nil
    }

    /// The shortest failure of the same object that leaving out operations and faults leads to.
    ///
    /// Without a part the turns fall in another way, so each shorter plan is tried in several orders.
    ///
    /// - Parameter runs: the most simulations that are run for it.
    static func shortest(
        _ failure: Failure, planted: PlantedBug? = nil, within runs: Int = 1_000
    ) async throws
        -> Failure
    {
        var best = failure
        var budget = runs
        func failing(_ plan: Plan) async throws -> Failure? {
            for order in 0..<4 {
                guard budget > 0 else { return nil }
                budget -= 1
                var plan = plan
                plan.schedule = best.plan.schedule &+ UInt64(order)
                if let found = try await Simulation.failure(of: plan, planted: planted),
                    found.violation.object == failure.violation.object
                {
                    return found
                }
            }
            return nil
        }
        var size = max(1, best.plan.operations.count / 2)
        while budget > 0 {
            var (start, isShorter) = (0, false)
            while start < best.plan.operations.count {
                var plan = best.plan
                plan.operations.removeSubrange(start..<min(start + size, plan.operations.count))
                if let found = try await failing(plan) {
                    (best, isShorter) = (found, true)
                } else {
                    start += size
                }
            }
            if size == 1, !isShorter { break }
            size = max(1, size / 2)
        }
        for plan in best.plan.calmer {
            if let found = try await failing(plan) { best = found }
        }
        return best
    }
}

extension Plan {
    /// The plan with no fault and no client that asks again; or else with one fault, retry or doubled request less.
    fileprivate var calmer: [Plan] {
        var calm = self
        calm.faults = []
        calm.operations = operations.map(\.askedOnce)
        var plans = [calm]
        for index in faults.indices {
            var plan = self
            plan.faults.remove(at: index)
            plans.append(plan)
        }
        for index in operations.indices where operations[index].retries > 0 || operations[index].isDoubled {
            var plan = self
            plan.operations[index] = operations[index].askedOnce
            plans.append(plan)
        }
        // The one that leaves out most is tried last, so that it counts if it fails as well.
        return plans.reversed()
    }
}

extension Plan.Operation {
    fileprivate var askedOnce: Plan.Operation {
        Plan.Operation(
            number: number, client: client, delay: delay, node: node, kind: kind, retries: 0, isDoubled: false)
    }
}
