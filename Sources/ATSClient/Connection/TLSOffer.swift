// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import NIOCore
import NIOSSL
import TLSModel
import Vocabulary

/// What a hello offers: the policy's requirements in the words of swift-nio-ssl.
struct TLSOffer: Hashable, Sendable {
    let minimum: TLSModel.TLSVersion
    let maximum: TLSModel.TLSVersion
    let suites: [CipherSuite]
    let groups: [NamedGroup]
    let signatureSchemes: [SignatureScheme]
    let protocols: [String]

    /// Whether any version is left between minimum and maximum.
    var isPossible: Bool { minimum <= maximum }

    private var configuration: TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        // The verification callback judges chain, name and dates; swift-nio-ssl's own check of the name is left out.
        configuration.certificateVerification = .noHostnameVerification
        configuration.trustRoots = .certificates([])
        configuration.minimumTLSVersion = TLSOffer.library(minimum)
        configuration.maximumTLSVersion = TLSOffer.library(maximum)
        // An empty list of suites ends the process; with TLS 1.3 alone none of these is used.
        configuration.cipherSuiteValues = VettedSuites.offerable(suites.isEmpty ? VettedSuites.upToTLS12 : suites)
        configuration.curves = VettedSuites.offerable(groups)
        // The library takes no scheme twice, which Apple's hellos have.
        var seen: Set<SignatureScheme> = []
        configuration.verifySignatureAlgorithms =
            signatureSchemes.filter { TLSOffer.knownSchemes.contains($0) && seen.insert($0).inserted }
            .map { SignatureAlgorithm(rawValue: $0.rawValue) }
        configuration.applicationProtocols = protocols
        // A client that has its answer need not wait for the server's close_notify (RFC 8446 section 6.1). The library keeps the buffers of a
        // connection, 48 KB, for the whole of this time after a server that closes without one, and most do: its five seconds are the memory
        // of 2,500 connections in a fleet of 500 a second.
        configuration.shutdownTimeout = .milliseconds(100)
        return configuration
    }

    /// What the library can verify; ecdsa_sha1 is not among it.
    static let knownSchemes: [SignatureScheme] = [
        .ecdsaSECP256R1SHA256, .rsaPSSSHA256, .rsaPKCS1SHA256, .ecdsaSECP384R1SHA384, .rsaPSSSHA384, .rsaPKCS1SHA384,
        .ecdsaSECP521R1SHA512, .rsaPSSSHA512, .rsaPKCS1SHA512, .rsaPKCS1SHA1,
    ]

    private static func library(_ version: TLSModel.TLSVersion) -> NIOSSL.TLSVersion {
        switch version {
        case .tls13: .tlsv13
        case .tls12: .tlsv12
        case .tls11: .tlsv11
        default: .tlsv1
        }
    }

    /// Contexts are expensive to make, and a client makes few different ones.
    typealias Contexts = BoundedCache<TLSOffer, NIOSSLContext>

    func context(from contexts: Contexts) throws -> NIOSSLContext {
        if let known = contexts[self] { return known }
        let context = try NIOSSLContext(configuration: configuration)
        contexts.keep(context, for: self)
        return context
    }
}

extension TLSOffer {
    init(_ requirements: TransportRequirements, protocols: [String]) {
        let usable = requirements.suites.filter { !VettedSuites.offerable([$0]).isEmpty }
        // Without a suite for TLS 1.2 that can be offered, only TLS 1.3 is left to ask for.
        let minimum = requirements.effectiveMinimum
        self.init(
            minimum: usable.isEmpty ? max(.tls13, minimum) : minimum, maximum: requirements.maximum, suites: usable,
            groups: requirements.groups, signatureSchemes: requirements.signatureSchemes, protocols: protocols)
    }

    /// Everything that can be offered: what monitor mode tries after a refusal.
    init(everythingWith protocols: [String]) {
        self.init(
            minimum: .tls10, maximum: .tls13, suites: VettedSuites.upToTLS12, groups: [],
            signatureSchemes: TLSOffer.knownSchemes, protocols: protocols)
    }
}
