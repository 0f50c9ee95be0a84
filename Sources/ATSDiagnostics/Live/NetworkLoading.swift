// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import FoundationEssentials
import HTTPTypes
import NIOCore
import NIOPosix
import TLSModel
import TLSProbe
import Vocabulary

/// The one real load of a target: GET, HTTP/2 or HTTP/1.1 as ALPN picks, redirects followed as far as the dictionary lets.
struct NetworkLoading: TargetLoading {
    private let targetTimeout: Duration
    private let settings: ATSClient.Configuration
    private let material: ConnectionMaterial

    /// - Parameters:
    ///   - chains: what the hellos have shown already.
    ///   - resolver: the prober's.
    init(_ configuration: CheckSession.Configuration, chains: RememberingChains, resolver: NameResolver, instant: Date)
    {
        targetTimeout = configuration.targetTimeout
        settings = NetworkLoading.settings(configuration, instant)
        material = ConnectionMaterial(chains: chains, resolver: resolver)
    }

    func load(_ url: LoadURL, dictionary: ATSDictionary, profile: OSProfile, address: String?) async -> LoadTrace {
        let policy = ATSPolicy(dictionary: dictionary, profile: profile)
        var settings = settings
        settings.pinnedAddress = address.map {
            AddressOverride(host: url.host, port: url.effectivePort, address: $0)
        }
        // The load shows the whole way; each certificate on it is judged apart, from the hellos.
        settings.acceptsUntrusted = true
        let client = ATSClient(policy: policy, material: material, configuration: settings)
        let trace = await load(url, client)
        await client.shutDown(grace: .zero)
        return trace
    }

    private func load(_ url: LoadURL, _ client: ATSClient) async -> LoadTrace {
        var request = HTTPRequest(method: .get, scheme: url.scheme, authority: nil, path: url.pathAndQuery)
        request.authority = "\(url.bracketedHost):\(url.effectivePort)"
        do {
            let response = try await client.execute(request, timeout: TargetDeadline.remaining(atMost: targetTimeout))
            let places = LoadTrace.places(url, response.hops.map(\.url))
            let scopes = LoadTrace.scopes(response.hops)
            do {
                var bytes = 0
                for try await part in response.body {
                    bytes += part.readableBytes
                    // A download that runs is an answer; the rest of a long one would tell nothing more.
                    if bytes > NetworkLoading.enough { break }
                }
            } catch let error as ATSLoadError {
                return LoadTrace(
                    places: places, end: .noAnswer(error.error, error.causes), status: response.status.code,
                    scopes: scopes)
            }
            return LoadTrace(places: places, end: .loaded, status: response.status.code, scopes: scopes)
        } catch let error as ATSLoadError {
            return NetworkLoading.trace(of: error, url)
        } catch {
            let cause = Cause(.netTimeout, "The time for this target ran out before the response came.")
            return LoadTrace(places: [url], end: .noAnswer(.connection(.timeout), [cause]))
        }
    }

    /// What a failed load tells. The last place's TLS is judged again from its own hellos, so only what they cannot show ends the trace.
    private static func trace(of error: ATSLoadError, _ url: LoadURL) -> LoadTrace {
        let hops = error.hops + [Hop(url: error.url, status: nil)]
        var places = LoadTrace.places(url, hops.map(\.url))
        let end: LoadTrace.End
        switch (error.code, CauseTable.current[error.code]?.stage) {
        // The hellos of the policy are the prober's, which has every suite.
        case (.noteLoadNotMade, _): end = .handshakeRefused(error.error, error.causes)
        case _ where error.outcome == .noAnswer: end = .noAnswer(error.error, error.causes)
        case (.httpRedirectLoop, _), (.tlsClientCertificateRequired, _):
            // A loop leads back to where the load has been.
            if places.count > 1 { places.removeLast() }
            end = .refused(error.error, error.causes)
        case (_, .handshake), (_, .trust): end = .handshakeRefused(error.error, error.causes)
        // A redirect that no policy could allow: to no URL, to another scheme.
        case (.httpRedirectBlocked, _) where error.error != .requiresSecureConnection:
            end = .refused(error.error, error.causes)
        // Where the load may not go, the policy of each configuration says so itself.
        case (.cleartextBlocked, _), (.httpRedirectBlocked, _): end = .loaded
        default: end = .refused(error.error, error.causes)
        }
        return LoadTrace(places: places, end: end, scopes: LoadTrace.scopes(hops))
    }

    static func settings(_ configuration: CheckSession.Configuration, _ instant: Date) -> ATSClient.Configuration {
        var settings = ATSClient.Configuration()
        settings.connectTimeout = configuration.connectTimeout
        settings.totalTimeout = configuration.targetTimeout
        settings.idleTimeout = configuration.connectTimeout
        settings.toleratesUncleanClose = true
        settings.mayRedirectToPrivateAddresses = configuration.allowsPrivateRedirects
        settings.connectionsPerHost = 1
        settings.now = { instant }
        // The library that loads does not show timestamps of the handshake and the staple in TLS 1.3: the hellos have seen them.
        settings.judgesTransparency = false
        return settings
    }

    /// Bytes of a body after which a load counts as completed.
    private static let enough = 1 << 20
}

extension LoadTrace {
    /// What each place may be, for all that led there.
    fileprivate static func scopes(_ hops: [Hop]) -> [Endpoint: FetchScope] {
        var scope = FetchScope.named
        return hops.reduce(into: [:]) { scopes, hop in
            defer { scope = hop.leads }
            guard let place = try? LoadURL(hop.url) else { return }
            scopes[Endpoint(place)] = scopes[Endpoint(place)]?.within(scope) ?? scope
        }
    }

    /// The target, then every other place in order.
    fileprivate static func places(_ first: LoadURL, _ texts: [String]) -> [LoadURL] {
        var places = [first]
        for text in texts.prefix(64) {
            if places.count == 1, text.hasSameBytes(as: first.text) { continue }
            guard let place = try? LoadURL(text) else { continue }
            if places.count == 1, place.host == first.host, place.effectivePort == first.effectivePort,
                place.pathAndQuery.hasSameBytes(as: first.pathAndQuery), place.scheme == first.scheme
            {
                continue
            }
            if places.last != place { places.append(place) }
        }
        return places
    }
}
