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

extension Configuration.TLS: ConfigurationObject {
    mutating func visit(_ keys: ConfigurationKeys) {
        var (certificate, key, roots): (KeyFile?, KeyFile?, KeyFile?)
        keys(
            "certificateFile", &certificate, .pem("the certificates of a server in PEM"), isRequired: true,
            "The certificate of the listener, and after it those between it and its root.")
        keys(
            "keyFile", &key, .pem("a private key in PEM"), isRequired: true,
            "Its private key, without a password; a file that others may read is refused.")
        keys(
            "clientRootsFile", &roots, .pem("root certificates in PEM"), otherwise: "clients need no certificate",
            "The roots of client certificates; then a client without one is refused in the handshake.")
        guard keys.isComplete else { return }
        certificatePEM = certificate?.pem ?? certificatePEM
        keyPEM = key?.pem ?? keyPEM
        keyFile = key?.path ?? keyFile
        clientRootsPEM = roots?.pem ?? clientRootsPEM
        do throws(ListenerIdentity.Fault) {
            _ = try identity()
        } catch {
            keys.place.member(error.file.setting).wrong(error.reason)
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
