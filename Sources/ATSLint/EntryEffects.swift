// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
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
            let name = HostPort.text(host: host, port: nil)
            guard host.utf8.count <= 254, let plain = try? LoadURL("http://\(name)/"),
                let secure = try? LoadURL("https://\(name)/")
            else { return nil }
            self.plain = plain
            self.secure = secure
        }
    }

    /// What an exception does to a host that is local without it.
    enum LocalState: Sendable {
        /// The host is not local, or the dictionary says that local hosts are none.
        case notLocal
        /// Some load is lost without the entry.
        case needed
        /// Every load that the entry permits is permitted without it.
        case unneeded
        /// The entry blocks plain HTTP that is permitted without it.
        case blocks
    }

    let key: String
    /// The key for people; of a range, also that narrower entries are in it.
    let name: String
    /// Loads of the host, of `zz.` below it, and of `zz.zz.`; of a range, of one address in it, and of one of each local network in it.
    let loads: [Load]
    /// In which eras the entry decides about the host.
    let decides: [Bool]
    let plain: [LoadEffect]
    let secure: [LoadEffect]
    /// In which eras the entry decides about hosts below; empty if there are none.
    let decidesBelow: [Bool]
    /// Plain HTTP to the host without the entry.
    let without: [LoadEffect]
    /// In which eras the entry blocks plain HTTP that is permitted without it, because the host is local, or an address of the range is.
    let blocksLocal: [Bool]
    private(set) var localState = LocalState.notLocal
    private let scopes: LoadScopes

    /// Nil if no load is decided by an entry with this key.
    init?(_ host: HostKey, _ scopes: LoadScopes) {
        let hosts: [String]
        var local: [Load] = []
        switch host.kind {
        case .block(let range):
            hosts = EntryEffects.samples(of: range)
            local = LocalHosts.direct.filter { host.covers($0) && !host.isInside($0) }
                .compactMap { EntryEffects.samples(of: $0).first.flatMap(Load.init) }
        case .name, .address: hosts = [host.text]
        case .malformedBlock, .url: return nil
        }
        let own = hosts.compactMap(Load.init).filter {
            hosts.count > 1 || host.isRange || $0.plain.host.hasSameBytes(as: host.text)
        }
        let tried = (own + local).map { load in (load, scopes.about([load.plain]).decides(host.text, load.plain)) }
        guard let (load, decides) = tried.first(where: { $0.1.contains(true) }) else { return nil }
        let below = host.kind == .name ? ["zz.", "zz.zz."].compactMap { Load(host: $0 + host.text) } : []
        key = host.text
        let isPierced = host.isRange && tried.contains { $0.1 != decides }
        name = isPierced ? "\(host.text) (apart from narrower entries)" : host.text
        local = tried.dropFirst(own.count).filter { $0.1.contains(true) }.map(\.0)
        loads = [load] + local + below
        self.decides = decides
        let scope = scopes.about([load.plain])
        plain = scope.effects(load.plain)
        secure = scope.effects(load.secure)
        without = scope.changing { $0.exceptions[host.text] = nil }.effects(load.plain)
        blocksLocal = local.reduce(EntryEffects.blocked(plain, without)) { blocked, load in
            let scope = scopes.about([load.plain])
            let without = scope.changing { $0.exceptions[host.text] = nil }.effects(load.plain)
            return zip(blocked, EntryEffects.blocked(scope.effects(load.plain), without)).map { $0 || $1 }
        }
        decidesBelow = below.last.map { scopes.about([$0.plain]).decides(host.text, $0.plain) } ?? []
        self.scopes = scopes
        guard host.isLocal(LocalHosts.direct), scopes.systems.someSupported(isLocal) else { return }
        if scopes.systems.someSupported(blocksLocal) {
            localState = .blocks
        } else if host.isLocal {
            localState = losesNothing ? .unneeded : .needed
        }
    }

    /// In which eras a load is blocked that is permitted without the entry, because its host is local.
    private static func blocked(_ with: [LoadEffect], _ without: [LoadEffect]) -> [Bool] {
        zip(with, without).map { !$0.isPermitted && $1.isPermitted && $1.source == .local }
    }

    /// In which eras something holds of HTTPS to the host by this entry.
    func secure(where holds: (LoadEffect) -> Bool) -> [Bool] {
        zip(decides, secure).map { $0 && holds($1) }
    }

    /// In which eras plain HTTP is allowed by this entry.
    var permitsPlain: [Bool] { zip(decides, plain).map { $0 && $1.isPermitted } }

    /// In which eras the host is local without the entry.
    var isLocal: [Bool] { without.map { $0.source == .local } }

    /// Whether every load of the entry's hosts ends in the same way without it.
    var changesNothing: Bool { compare { $0 == $1 } }

    /// Whether every load of the entry's hosts that is permitted is permitted without it.
    var losesNothing: Bool { compare { $1.permitsAsMuch(as: $0) } }

    /// Whether something holds of each load with the entry and without it, on all systems that the app supports.
    private func compare(_ holds: (LoadEffect, LoadEffect) -> Bool) -> Bool {
        let scope = scopes.about(loads.map(\.plain))
        let changed = scope.changing { $0.exceptions[key] = nil }
        // The other loaders differ only where a switch for them is set.
        let hasOthers =
            scope.dictionary.arbitraryLoadsForMedia != nil || scope.dictionary.arbitraryLoadsInWebContent != nil
        let loaders: [Loader] = hasOthers ? [.urlsession, .web, .media] : [.urlsession]
        return loads.flatMap { [$0.plain, $0.secure] }.allSatisfy { url in
            loaders.allSatisfy { loader in
                scopes.systems.allSupported(
                    zip(scope.effects(url, loader: loader), changed.effects(url, loader: loader)).map(holds))
            }
        }
    }

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

extension PlistFacts {
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
