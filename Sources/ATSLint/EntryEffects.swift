// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Synchronization
import TLSModel
import Vocabulary

/// What an entry of NSExceptionDomains does, as the evaluator answers for loads of its host, era by era.
struct EntryEffects: Sendable {
    /// A load of the host, over cleartext and over TLS.
    struct Load: Sendable {
        let plain: LoadURL
        let secure: LoadURL

        /// Nil if no load can have that host.
        init?(host: String) {
            let name = host.utf8.contains(0x3A) ? "[\(host)]" : host
            guard host.utf8.count <= 254, let plain = try? LoadURL("http://\(name)/"),
                let secure = try? LoadURL("https://\(name)/")
            else { return nil }
            self.plain = plain
            self.secure = secure
        }
    }

    let key: String
    /// The key for people; of a range, also that narrower entries are in it.
    let name: String
    /// Loads of the host, of `zz.` below it, and of `zz.zz.`; of a range, of one address in it.
    let loads: [Load]
    /// In which eras the entry decides about the host.
    let decides: [Bool]
    /// Plain HTTP to the host.
    let plain: [LoadEffect]
    /// HTTPS to the host.
    let secure: [LoadEffect]
    /// In which eras the entry decides about hosts below; empty if there are none.
    let decidesBelow: [Bool]

    /// Nil if no load is decided by an entry with this key.
    init?(_ host: HostKey, _ scopes: LoadScopes) {
        let hosts: [String]
        switch host.kind {
        case .block(let range): hosts = EntryEffects.samples(of: range)
        case .name, .address: hosts = [host.text]
        case .malformedBlock, .url: return nil
        }
        let own = hosts.compactMap(Load.init).filter {
            hosts.count > 1 || host.isRange || $0.plain.host.hasSameBytes(as: host.text)
        }
        guard let first = own.first else { return nil }
        let tried = own.map { load in (load, scopes.about([load.plain]).decides(host.text, load.plain)) }
        let (load, decides) = tried.first { $0.1.contains(true) } ?? (first, tried[0].1)
        let below = host.kind == .name ? ["zz.", "zz.zz."].compactMap { Load(host: $0 + host.text) } : []
        key = host.text
        let isPierced = host.isRange && decides.contains(true) && tried.contains { $0.1 != decides }
        name = isPierced ? "\(host.text) (apart from narrower entries)" : host.text
        loads = [load] + below
        self.decides = decides
        let scope = scopes.about([load.plain])
        plain = scope.effects(load.plain)
        secure = scope.effects(load.secure)
        decidesBelow = below.last.map { scopes.about([$0.plain]).decides(host.text, $0.plain) } ?? []
    }

    /// In which eras something holds of HTTPS to the host by this entry.
    func secure(where holds: (LoadEffect) -> Bool) -> [Bool] {
        zip(decides, secure).map { $0 && holds($1) }
    }

    /// In which eras plain HTTP is allowed by this entry.
    var permitsPlain: [Bool] { zip(decides, plain).map { $0 && $1.isPermitted } }

    /// Addresses of a range: the first two, and the last.
    private static func samples(of range: AddressRange) -> [String] {
        var last = range.base.bytes
        for index in last.indices {
            let kept = min(8, max(0, range.prefixLength - index * 8))
            if kept < 8 { last[index] |= 0xFF >> UInt8(kept) }
        }
        var second = range.base.bytes
        if range.prefixLength < second.count * 8, let end = second.indices.last { second[end] |= 1 }
        return [second, range.base.bytes, last].compactMap { IPAddress(bytes: $0)?.canonicalText }
    }
}

/// What was evaluated of the entries of one list, each once.
final class EffectMemo: Sendable {
    /// The most entries that are evaluated: twice as many as there can be findings.
    static let limit = 20_000

    private let found = Mutex<[ObjectIdentifier: EntryEffects?]>([:])
    private let states = Mutex<[ObjectIdentifier: PlistFacts.LocalState]>([:])

    func localState(of entry: DomainEntry, _ make: () -> PlistFacts.LocalState) -> PlistFacts.LocalState {
        let id = ObjectIdentifier(entry)
        if let known = states.withLock({ $0[id] }) { return known }
        let made = make()
        states.withLock { if $0.count < EffectMemo.limit { $0[id] = made } }
        return made
    }

    func effects(of entry: DomainEntry, _ make: () -> EntryEffects?) -> EntryEffects? {
        let id = ObjectIdentifier(entry)
        if let known = found.withLock({ $0[id] }) { return known }
        let made = found.withLock { $0.count } < EffectMemo.limit ? make() : nil
        found.withLock { $0[id] = .some(made) }
        return made
    }
}

extension PlistFacts {
    /// What an exception does; nil if no load is decided by it, or if that is known only after the build.
    func effects(_ entry: DomainEntry) -> EntryEffects? {
        memo.effects(of: entry) {
            guard entry.members != nil, !entry.isPlaceholder, let effects = EntryEffects(entry.host, scopes),
                effects.decides.contains(true)
            else { return nil }
            return effects
        }
    }

    /// Plain HTTP to the host of an entry without it.
    func without(_ effects: EntryEffects) -> [LoadEffect] {
        guard let load = effects.loads.first else { return [] }
        return scopes.about([load.plain]).changing { $0.exceptions[effects.key] = nil }.effects(load.plain)
    }

    /// Whether a change of the dictionary leaves every load of an entry's hosts as it is.
    func changesNothing(_ effects: EntryEffects, _ change: (inout ATSDictionary) -> Void) -> Bool {
        holds(effects, change) { $0 == $1 }
    }

    /// Whether every load of an entry's hosts that was permitted still is after a change of the dictionary.
    func losesNothing(_ effects: EntryEffects, _ change: (inout ATSDictionary) -> Void) -> Bool {
        holds(effects, change) { $1.permitsAsMuch(as: $0) }
    }

    private func holds(
        _ effects: EntryEffects, _ change: (inout ATSDictionary) -> Void, _ holds: (LoadEffect, LoadEffect) -> Bool
    ) -> Bool {
        let scope = scopes.about(effects.loads.map(\.plain))
        let changed = scope.changing(change)
        // The other loaders differ only where a switch for them is set.
        let hasOthers = [scope.dictionary, changed.dictionary].contains {
            $0.arbitraryLoadsForMedia != nil || $0.arbitraryLoadsInWebContent != nil
        }
        let loaders: [Loader] = hasOthers ? [.urlsession, .web, .media] : [.urlsession]
        return effects.loads.flatMap { [$0.plain, $0.secure] }.allSatisfy { url in
            loaders.allSatisfy { loader in
                systems.allSupported(
                    zip(scope.effects(url, loader: loader), changed.effects(url, loader: loader)).map(holds))
            }
        }
    }

    /// What happens to hosts without an entry.
    func general(
        _ host: String, _ loader: Loader = .urlsession, change: (inout ATSDictionary) -> Void = { _ in }
    )
        -> [LoadEffect]
    {
        guard let load = EntryEffects.Load(host: host) else { return [] }
        return scopes.about([]).changing(change).effects(load.plain, loader: loader)
    }

    /// The name that stands for hosts without an entry.
    static let anyHost = "host.invalid"

    /// In which eras a global key lets plain HTTP through for hosts without an entry.
    func permits(
        _ loader: Loader = .urlsession, _ host: String = anyHost, by source: DecidingRule.Source = .global
    )
        -> [Bool]
    {
        general(host, loader).map { $0.isPermitted && $0.source == source }
    }
}
