// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import NIOCore
import NIOPosix
import Synchronization
import TLSModel
import TLSProbe
import Vocabulary

/// Decides about the destinations of tunnels: policy, addresses, and a probe of the address that the tunnel will lead to.
struct ProxyJudge: Sendable {
    let policy: ATSPolicy
    let configuration: ATSProxy.Configuration
    let guardian: AddressGuardian
    private let chains: RememberingChains
    private let resolver: NameResolver
    private let prober: Prober
    private let verdicts: ProbeCache

    init(policy: ATSPolicy, chains: ChainBuilder, configuration: ATSProxy.Configuration, guardian: AddressGuardian) {
        self.policy = policy
        self.configuration = configuration
        self.guardian = guardian
        self.chains = RememberingChains(chains)
        resolver = NameResolver(overrides: configuration.addressOverrides)
        prober = Prober(group: configuration.eventLoopGroup)
        verdicts = ProbeCache(lifetime: configuration.probeLifetime, capacity: configuration.probeCapacity)
    }

    /// The answer about one destination.
    struct Destination: Sendable {
        let decision: URLDecision
        /// The address that answered the probe, and that the tunnel leads to.
        let address: SocketAddress
        let verdict: Verdict
    }

    /// What a probe or a handshake that passed came to.
    enum Verdict: Sendable {
        /// With what the server showed, as timestamps that a program in the tunnel may not ask for.
        case complies(ShownFlight?)
        case refused([Cause], URLLoadError?, [Remedy])
        /// Nothing of TLS was learned.
        case unknown([Cause], URLLoadError?)

        var shown: ShownFlight? {
            if case .complies(let shown) = self { shown } else { nil }
        }
    }

    /// Resolves the name once, and probes its addresses until one answers.
    ///
    /// - Throws: ``ConnectFailure``, ``ForbiddenAddress``.
    func destination(_ url: LoadURL) async throws -> Destination {
        let decision = policy.decide(url)
        let addresses = try await resolver.addresses(
            of: url.host, port: url.effectivePort, timeout: configuration.connectTimeout)
        let allowed = addresses.filter { guardian.refusal(of: $0) == nil }
        if let first = addresses.first, allowed.isEmpty, let reason = guardian.refusal(of: first) {
            throw ForbiddenAddress(reason: reason)
        }
        var last: Destination?
        // One address may be dead and another slow; a list of dead ones is no reason to wait for each.
        let end = ContinuousClock.now + configuration.connectTimeout * 2
        for address in allowed where last == nil || .now < end {
            let verdict = await verdict(decision, address)
            last = Destination(decision: decision, address: address, verdict: verdict)
            if case .unknown = verdict { continue }
            break
        }
        guard let last else { throw ConnectFailure(.nameNotFound("it has no address")) }
        return last
    }

    /// The verdict about one address, from memory where it is young enough.
    private func verdict(_ decision: URLDecision, _ address: SocketAddress) async -> Verdict {
        let key = ProbeCache.Key(host: decision.url.host, address: address)
        return await verdicts.verdict(key) {
            await withTaskExecutorPreference(JudgementThreads.shared) { await probe(decision, address) }
        }
    }

    /// Sends the hello that the requirements allow, and judges what comes back.
    ///
    /// All of it, a second hello and fetched intermediates too, within `connectTimeout`; only a server that stays silent is asked once more
    /// with a smaller hello, for twice that time at most.
    func probe(_ decision: URLDecision, _ address: SocketAddress) async -> Verdict {
        let (requirements, host) = (decision.requirements, decision.url.host)
        let timeout = configuration.connectTimeout
        let hello = PolicyHello(requirements, host: host, prober, [address])
        let first = await TargetDeadline.within(timeout) {
            await probeWithinTime(hello, decision, address)
        }
        guard let outcome = first.silence else { return first.verdict }
        let smaller = await TargetDeadline.within(timeout * 2) {
            await hello.smaller(after: outcome, widest: nil, timeout: timeout)
        }
        let failed = evaluate(requirements, failed: outcome, host: host, smaller: smaller)
        return failed.isDetermined
            ? .refused(failed.causes, failed.error, []) : .unknown(failed.causes, failed.error)
    }

    /// - Returns: the verdict, and the outcome where the server read the hello and said nothing.
    private func probeWithinTime(
        _ hello: PolicyHello, _ decision: URLDecision, _ address: SocketAddress
    ) async -> (verdict: Verdict, silence: HandshakeOutcome?) {
        let (requirements, host) = (decision.requirements, decision.url.host)
        let timeout = configuration.connectTimeout
        let end = await hello.send(timeout: timeout)
        let outcome = end.outcome
        switch outcome {
        case .negotiated(let handshake): return (await judge(handshake, decision, address), nil)
        case .connection:
            let failed = evaluate(requirements, failed: outcome, host: host)
            return (.unknown(failed.causes, failed.error), end.wasConnected && outcome.isSilence ? outcome : nil)
        case .alert, .protocolError:
            let widest = await WidestHello.ask(
                prober, [address], serverName: host,
                beyond: .init(maximum: requirements.maximum, groups: requirements.groups), timeout: timeout)
            let failed = evaluate(
                requirements, failed: outcome, host: host, widest: widest, leaf: widest?.leaf,
                smaller: await hello.smaller(after: outcome, widest: widest, timeout: timeout))
            var seen: ConnectionFacts?
            if let widest { seen = await facts(of: widest, address) }
            return (refusal(failed.causes, failed.error, decision, seen), nil)
        }
    }

    /// Judges a handshake with the rules of the policy.
    private func judge(
        _ handshake: HandshakeObservation, _ decision: URLDecision, _ address: SocketAddress
    ) async -> Verdict {
        let now = SystemClock.now()
        let facts = await facts(of: handshake, address)
        let logs = configuration.transparencyLogs
        let verdict = evaluate(decision.requirements, facts, host: decision.url.host, at: now, logs: logs)
        return verdict.passed
            ? .complies(ShownFlight(handshake)) : refusal(verdict.causes, verdict.error, decision, facts)
    }

    /// The verdict about a server that fails; not known where sources contradict each other about why.
    private func refusal(
        _ causes: [Cause], _ error: URLLoadError?, _ decision: URLDecision, _ facts: ConnectionFacts?
    ) -> Verdict {
        let load = LoadFaults.failed(
            causes, error ?? .secureConnectionFailed(-9802), decision.url, decision, facts, SystemClock.now(),
            configuration.transparencyLogs)
        return load.outcome == .noAnswer
            ? .unknown(load.causes, nil) : .refused(load.causes, load.error, load.remedies)
    }

    /// Why the certificates of a program's own handshake would be refused; empty if they would not be. Version, suite and group are those
    /// of the program and no matter of the app's, and so is what the key would sign in another version.
    func trustCauses(of handshake: HandshakeObservation, _ destination: Destination) async -> [Cause] {
        let (decision, facts) = (destination.decision, await facts(of: handshake, destination.address))
        return evaluate(
            decision.requirements, facts.trust, host: decision.url.host, at: SystemClock.now(),
            logs: configuration.transparencyLogs
        ).causes.filter { !$0.dependsOnVersion }
    }

    private func facts(of handshake: HandshakeObservation, _ address: SocketAddress) async -> ConnectionFacts {
        let now = SystemClock.now()
        let chain = await TargetDeadline.within(configuration.connectTimeout) {
            await chains.facts(
                of: handshake.certificates, at: now, fetchingWithin: FetchScope(of: address).within(guardian.scope))
        }
        return ConnectionFacts(handshake: handshake, chain: chain, at: now)
    }

    /// The addresses of a host, once more, for the summary.
    func addresses(of host: String, port: Int) async -> [SocketAddress] {
        let timeout = configuration.connectTimeout
        let found = (try? await resolver.addresses(of: host, port: port, timeout: timeout)) ?? []
        return found.filter { guardian.refusal(of: $0) == nil }
    }
}

/// A destination that the proxy leads nobody to.
struct ForbiddenAddress: Error {
    let reason: String
}

/// Verdicts about addresses, each for a limited time.
final class ProbeCache: Sendable {
    struct Key: Hashable, Sendable {
        let host: String
        let address: SocketAddress
    }

    private let lifetime: TimeAmount
    private let kept: BoundedCache<Key, (verdict: ProxyJudge.Verdict, until: NIODeadline)>
    private let running = Mutex<[Key: Task<ProxyJudge.Verdict, Never>]>([:])

    init(lifetime: Duration, capacity: Int) {
        self.lifetime = TimeAmount(lifetime)
        kept = BoundedCache(capacity: capacity)
    }

    /// The remembered verdict, or that of one probe that all who ask meanwhile share. A verdict about nothing is not remembered.
    ///
    /// The probe goes on when one of those who wait goes away; its own time limit ends it.
    func verdict(_ key: Key, probe: @escaping @Sendable () async -> ProxyJudge.Verdict) async -> ProxyJudge.Verdict {
        let task: Task<ProxyJudge.Verdict, Never> = running.withLock { running in
            if let known = kept[key], known.until > .now() { return Task { known.verdict } }
            if let task = running[key] { return task }
            let task = Task {
                let verdict = await probe()
                if case .unknown = verdict {} else { self.kept.keep((verdict, .now() + self.lifetime), for: key) }
                self.running.withLock { $0[key] = nil }
                return verdict
            }
            running[key] = task
            return task
        }
        return await task.value
    }
}

/// Threads for the judgement of servers, apart from those that move bytes and run everything else.
///
/// Certificates are the work of whoever made them. Where they cost much, the judgements of other servers still have threads, and the operating
/// system shares the processors between them; tunnels and answers go on at once.
final class JudgementThreads: TaskExecutor {
    static let shared = JudgementThreads(count: 32)

    private let pool: NIOThreadPool

    init(count: Int) {
        pool = NIOThreadPool(numberOfThreads: count)
        pool.start()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // Safe: the shared executor, like every one that runs jobs, lives until they are done.
        pool.submit { _ in unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
