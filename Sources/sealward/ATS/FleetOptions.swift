// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import ArgumentParser
import Crypto
import Vocabulary

/// What a check of many targets takes besides: which part of the list, and where results are kept.
struct FleetOptions: ParsableArguments {
    @Option(
        help: .value(
            "Keep each result in FILE as soon as it is known; a run that was stopped continues where it ended.", "FILE")
    )
    var state: String?

    @Option(
        help: .value(
            "With --state: results that are older are asked for again; seconds, or 90s, 15m, 24h, 7d.", "DURATION"))
    var maxAge: DurationOption?

    @Option(
        help: .value(
            "Check part I of N of the list, chosen by the bytes of each target; 'ats merge' combines the parts.", "I/N")
    )
    var shard: Shard?

    @Option(help: .value("Append the results to FILE (SQLite); 'ats history' shows what changed.", "FILE"))
    var history: String?

    @Option(help: .value("With --history: remove runs that began more than this many days ago.", "DAYS"))
    var keep: Int?

    @Option(
        help: .value(
            "How many targets whose first address is the same public address are checked at once; what redirects lead to does not count.",
            "N"))
    var perAddress = 16

    @Option(help: .value("The same for one public network, /24 of IPv4 or /64 of IPv6.", "N"))
    var perNetwork = 32

    @Option(
        help: .value(
            "Shuffle the targets with this seed; without it a long list is shuffled with a random seed, which is printed.",
            "N"))
    var seed: UInt64?

    func validate() throws {
        guard perAddress >= 1, perNetwork >= 1 else {
            throw ValidationError("--per-address and --per-network must be at least 1.")
        }
        guard keep == nil || history != nil else { throw ValidationError("--keep requires --history FILE.") }
        guard maxAge == nil || state != nil else { throw ValidationError("--max-age requires --state FILE.") }
        try HistoryCommand.validate(keep: keep)
    }

    /// The longest list that is asked in its own order.
    private static let shortList = 64

    var limits: PoliteGate.Limits { PoliteGate.Limits(address: perAddress, network: perNetwork) }

    /// The order in which targets are asked.
    ///
    /// - Parameter concurrency: a list that is in flight at once as a whole keeps its order, and a short one too.
    func order(of places: [UInt32], concurrency: Int, quiet: Bool) -> [UInt32] {
        guard seed != nil || places.count > max(concurrency, FleetOptions.shortList) else { return places }
        let chosen = seed ?? .random(in: 0...9_999_999)
        if seed == nil, !quiet { CommandIO.say("sealward: the targets are checked in the order of --seed \(chosen).") }
        return ShuffledOrder(seed: chosen).order(places)
    }

    /// The places of the list that are in the shard, in four bytes each: lists are long.
    func places(of list: TargetList) -> [UInt32] {
        let all = 0..<UInt32(clamping: list.count)
        guard let shard else { return Array(all) }
        return all.filter { shard.contains(Array(list.identity(at: Int($0)).utf8)) }
    }

    /// The SHA-256 of all targets in their order.
    static func digest(of list: TargetList) -> String {
        var hash = SHA256()
        for place in 0..<list.count { hash.update(data: Array((list.identity(at: place) + "\n").utf8)) }
        return Array(hash.finalize()).hexadecimal()
    }

    static func digest(of text: String) -> String { digest(of: Array(text.utf8)) }

    static func digest(of bytes: [UInt8]) -> String { Array(SHA256.hash(data: bytes)).hexadecimal() }
}

extension Shard: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }
}
