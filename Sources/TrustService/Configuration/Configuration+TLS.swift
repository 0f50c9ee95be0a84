// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ConnectionAdmission

extension TrustServer.Configuration {
    /// TLS of a listener: what clients see of the service, and whom it lets in.
    public struct TLS: Sendable {
        /// The certificate of the listener and those between it and its root, as PEM.
        public var certificatePEM: String
        /// Its private key, as PEM without a password.
        public var keyPEM: String
        /// The roots of the clients that may connect, as PEM; nil asks clients for no certificate.
        public var clientRootsPEM: String?
        /// The file of the key, if it came from one.
        fileprivate(set) var keyFile: String?

        /// TLS without client certificates.
        public init(certificatePEM: String, keyPEM: String) {
            self.certificatePEM = certificatePEM
            self.keyPEM = keyPEM
        }

        /// What a listener makes of it.
        func identity() throws(ListenerIdentity.Fault) -> ListenerIdentity {
            try ListenerIdentity(certificate: certificatePEM, key: keyPEM, clientRoots: clientRootsPEM)
        }
    }

    /// The files with keys of listeners, each with its setting.
    package var listenerKeyFiles: [(setting: String, file: String)] {
        [("tls.keyFile", tls?.keyFile), ("internalTLS.keyFile", internalTLS?.keyFile)]
            .compactMap { setting, file in file.map { (setting, $0) } }
    }
}

extension Configuration.TLS {
    private typealias Key = ConfigurationKey<Configuration.TLS>

    static let table = ConfigurationTable(Configuration.TLS(certificatePEM: "", keyPEM: "")) {
        Key(
            "certificateFile", ConfigurationForm<PEMFile>.pem("the certificates of a server in PEM"),
            store: { $1.certificatePEM = $0.text }
        )
        .required()
        .means("The certificate of the listener, and after it those between it and its root.")
        Key(
            "keyFile", ConfigurationForm<PEMFile>.pem("a private key in PEM"),
            store: { ($1.keyPEM, $1.keyFile) = ($0.text, $0.path) }
        ).required()
            .means("Its private key, without a password; a file that others may read is refused.")
        Key(
            "clientRootsFile", ConfigurationForm<PEMFile>.pem("root certificates in PEM"),
            store: { $1.clientRootsPEM = $0.text }
        )
        .otherwise("clients need no certificate")
        .means("The roots of client certificates; then a client without one is refused in the handshake.")
    } finish: { tls, place in
        do throws(ListenerIdentity.Fault) {
            _ = try tls.identity()
        } catch {
            place.member(error.file.setting).wrong(error.reason)
        }
    }
}

extension ListenerIdentity.Fault.File {
    /// The member of ``TrustServer/Configuration/TLS`` that names it.
    fileprivate var setting: String {
        switch self {
        case .certificate: "certificateFile"
        case .key: "keyFile"
        case .clientRoots: "clientRootsFile"
        }
    }
}

/// A file with its text.
private struct PEMFile: Sendable {
    let path: String
    let text: String
}

extension ConfigurationForm<PEMFile> {
    fileprivate static func pem(_ meaning: String) -> Self {
        .file(meaning) { path, text, _ in PEMFile(path: path, text: text) }
    }
}
