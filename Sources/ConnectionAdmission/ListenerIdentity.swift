// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import NIOCore
package import NIOSSL

/// The certificate and key of a listener with TLS, and the roots of the clients that it admits.
///
/// TLS 1.2 and 1.3 with forward secrecy and authenticated encryption, and HTTP/1.1: what App Transport Security accepts on every system. With
/// client roots, a client without a certificate of one of them fails in the handshake.
package struct ListenerIdentity: Sendable {
    /// A file from which no identity can be made.
    package struct Fault: Error, Sendable, Equatable {
        package enum File: Sendable, Equatable { case certificate, key, clientRoots }

        package let file: File
        /// What is wrong with its contents, without a full stop.
        package let reason: String
    }

    package let expires: Date
    private let context: NIOSSLContext

    /// - Parameters:
    ///   - certificate: PEM, the listener's own certificate first and then those between it and its root.
    ///   - key: PEM, without a password.
    ///   - clientRoots: PEM; nil asks clients for no certificate.
    package init(certificate: String, key: String, clientRoots: String? = nil) throws(Fault) {
        let chain = try ListenerIdentity.certificates(certificate, .certificate)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(try ListenerIdentity.privateKey(key)))
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuiteValues = ListenerIdentity.suites
        configuration.curves = [.x25519_MLKEM768, .x25519, .secp256r1, .secp384r1]
        configuration.applicationProtocols = ["http/1.1"]
        configuration.shutdownTimeout = .seconds(2)
        if let clientRoots {
            configuration.trustRoots = .certificates(try ListenerIdentity.certificates(clientRoots, .clientRoots))
            configuration.certificateVerification = .noHostnameVerification
        }
        context = try ListenerIdentity.context(configuration)
        expires = chain.first.map { Date(timeIntervalSince1970: Double($0.notValidAfter)) } ?? .distantPast
    }

    /// Those that App Transport Security accepts and whose encryption is authenticated. The library has those of TLS 1.3 by itself, and ends the
    /// process if it is asked for one that it does not know: these are its own constants.
    private static let suites: [NIOTLSCipher] = [
        .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ]

    fileprivate static func certificates(_ pem: String, _ file: Fault.File) throws(Fault) -> [NIOSSLCertificate] {
        let found = try? NIOSSLCertificate.fromPEMBytes(Array(pem.utf8))
        guard let found, !found.isEmpty else { throw Fault(file: file, reason: "contains no certificate in PEM") }
        return found
    }

    fileprivate static func privateKey(_ pem: String) throws(Fault) -> NIOSSLPrivateKey {
        guard let key = try? NIOSSLPrivateKey(bytes: Array(pem.utf8), format: .pem) else {
            throw Fault(file: .key, reason: "contains no private key in PEM, or one with a password")
        }
        return key
    }

    /// Fails only for a certificate and a key that do not fit.
    @discardableResult
    fileprivate static func context(_ configuration: TLSConfiguration) throws(Fault) -> NIOSSLContext {
        guard let context = try? NIOSSLContext(configuration: configuration) else {
            throw Fault(
                file: .key, reason: "is not the key of the first certificate, or of a kind that TLS does not use")
        }
        return context
    }

    /// Puts TLS before everything else in the pipeline of a connection.
    package func secure(_ pipeline: ChannelPipeline.SynchronousOperations) throws {
        try pipeline.addHandler(NIOSSLServerHandler(context: context), position: .first)
    }

    /// Whether an error in the pipeline of a connection is the end of its handshake.
    package static func isFailedHandshake(_ error: any Error) -> Bool {
        if case .handshakeFailed = error as? NIOSSLError { return true }
        return false
    }
}

/// TLS of a client of the user's own servers: whom it trusts beside the system's roots, and the certificate that it shows.
package struct ClientIdentity: Sendable {
    package let configuration: TLSConfiguration

    /// The system's roots, and no certificate.
    package init() {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        self.configuration = configuration
    }

    /// - Parameters:
    ///   - roots: PEM.
    ///   - pair: a certificate, with those between it and its root, and its key, as PEM; nil for none.
    package init(
        roots: [String], pair: (certificate: String, key: String)?
    ) throws(ListenerIdentity.Fault) {
        var configuration = ClientIdentity().configuration
        for pem in roots {
            configuration.additionalTrustRoots.append(
                .certificates(try ListenerIdentity.certificates(pem, .clientRoots)))
        }
        if let pair {
            configuration.certificateChain = try ListenerIdentity.certificates(pair.certificate, .certificate)
                .map { .certificate($0) }
            configuration.privateKey = .privateKey(try ListenerIdentity.privateKey(pair.key))
            // Without the system's roots, which a bare system has not: only certificate and key are judged.
            var own = configuration
            own.trustRoots = .certificates([])
            try ListenerIdentity.context(own)
        }
        self.configuration = configuration
    }
}
