// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import NIOCore
import NIOSSL
import TLSModel
import Vocabulary

/// How an attempt to reach a server ended before any HTTP: the facts, not judged yet.
struct ConnectFailure: Error, Sendable {
    let outcome: HandshakeOutcome
    /// The server had asked for a client certificate before it gave up.
    var askedForClientCertificate = false
    /// TCP was there, so the hello was sent.
    var wasConnected = false
}

extension ConnectFailure {
    init(_ failure: ConnectionFailure) { self.init(outcome: .connection(failure)) }
}

/// The reason code that BoringSSL gave, as far as its wrapper shows it.
enum BoringSSLReason {
    /// The description number of a TLS alert that the peer sent: reasons from 1000 on are 1000 plus that number.
    static func alert(in error: any Error) -> UInt8? {
        guard let stack = errorStack(of: error) else { return nil }
        for entry in stack {
            // "Error: 268436496 error:...": lib in the upper byte, reason in the lower twelve bits.
            let words = entry.description.split(separator: " ", maxSplits: 2)
            guard words.count > 1, let packed = UInt32(words[1]) else { continue }
            let reason = packed & 0xFFF
            if reason >= 1000, let alert = UInt8(exactly: reason - 1000) { return alert }
        }
        return nil
    }

    /// A short name such as `WRONG_VERSION_NUMBER`; nil for an error that is not of the library.
    static func text(of error: any Error) -> String? {
        // "Error: 268435703 error:100000f7:SSL routines:OPENSSL_internal:WRONG_VERSION_NUMBER at /path/of/a/source:123"
        guard let entry = errorStack(of: error)?.first?.description.utf8,
            let mark = entry.firstRange(of: "OPENSSL_internal:".utf8)
        else { return nil }
        let rest = entry[mark.upperBound...]
        let name = rest.firstRange(of: " at ".utf8).map { rest[..<$0.lowerBound] } ?? rest
        return name.isEmpty ? nil : String(Substring(name)).terminalSafe(limit: 80)
    }

    /// Whether the peer ended the connection in the middle of the handshake without a word.
    static func isEndOfFile(_ error: any Error) -> Bool {
        guard case .handshakeFailed(.sslError(let stack)) = error as? NIOSSLError else {
            if case .handshakeFailed(.syscallError) = error as? NIOSSLError { return true }
            return false
        }
        return stack.contains(.eofDuringHandshake) || stack.contains(.eofDuringAdditionalCertficiateChainValidation)
    }

    private static func errorStack(of error: any Error) -> NIOBoringSSLErrorStack? {
        switch error {
        case NIOSSLError.handshakeFailed(.sslError(let stack)), NIOSSLError.shutdownFailed(.sslError(let stack)),
            BoringSSLError.sslError(let stack), BoringSSLError.unknownError(let stack):
            stack
        default: nil
        }
    }
}
