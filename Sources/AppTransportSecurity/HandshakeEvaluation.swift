// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import TLSFacts

/// Version, suite, key exchange and proof of possession.
enum HandshakeEvaluation {
    static func causes(_ requirements: TransportRequirements, _ handshake: HandshakeObservation) -> [Cause] {
        var causes: [Cause] = []
        if let cause = versionCause(requirements, handshake.version) { causes.append(cause) }
        if let cause = suiteCause(requirements, handshake.suite) { causes.append(cause) }
        if let group = handshake.group, !requirements.groups.contains(group) {
            causes.append(
                Cause(
                    "ats.tls.no-common-group",
                    "The key exchange uses \(group), which \(requirements.profile.name) does not offer."
                )
            )
        }
        if case .refuted = handshake.keyPossession {
            causes.append(
                Cause(
                    "ats.tls.handshake-failed",
                    "The server's signature over the handshake does not match its certificate."
                )
            )
        }
        if requirements.isHardened, handshake.version == .tls12, !handshake.usesExtendedMasterSecret {
            causes.append(
                Cause(
                    "ats.tls.handshake-failed",
                    "NSRequiresNIAPTLSPackageVersion asks for the extended master secret, and the server did not negotiate it.",
                    citation: .apple("NSRequiresNIAPTLSPackageVersion", read: "2026-11-21")
                )
            )
        }
        return causes
    }

    static func versionCause(_ requirements: TransportRequirements, _ version: TLSVersion) -> Cause? {
        if version < requirements.effectiveMinimum {
            return Cause(
                "ats.tls.version-too-low",
                "The server negotiated \(version); \(requirements.effectiveMinimum) or later is required.",
                citation: .apple("NSExceptionMinimumTLSVersion", read: "2026-11-21")
            )
        }
        if version > requirements.maximum {
            return Cause("ats.tls.version-too-low", "\(requirements.profile.name) does not speak \(version).")
        }
        return nil
    }

    static func suiteCause(_ requirements: TransportRequirements, _ suite: CipherSuite) -> Cause? {
        if requirements.suites.contains(suite)
            || (suite.keyExchange == .tls13 && requirements.profile.supportsTLS13.value)
        {
            return nil
        }
        if !suite.hasForwardSecrecy, requirements.suitePolicy == .ats {
            return Cause(
                "ats.tls.no-forward-secrecy",
                "The server negotiates \(suite), whose RSA key exchange has no forward secrecy; ECDHE is required.",
                citation: requirements.profile.forwardSecretSuites.citation
            )
        }
        return Cause(
            "ats.tls.no-common-suite",
            "The server negotiates \(suite), which is not among the suites that \(requirements.profile.name) offers here.",
            citation: requirements.profile.forwardSecretSuites.citation
        )
    }

    static func error(_ requirements: TransportRequirements, _ causes: [Cause]) -> URLLoadError? {
        guard let first = causes.first else { return nil }
        switch first.code {
        case "ats.tls.version-too-low":
            return .secureConnectionFailed(requirements.effectiveMinimum == .tls13 ? -9800 : -9836)
        default: return .secureConnectionFailed(-9801)
        }
    }

    static func notes(_ requirements: TransportRequirements, _ handshake: HandshakeObservation) -> [Cause] {
        var notes: [Cause] = []
        if SuiteLists.tripleDES.contains(handshake.suite) { notes += requirements.profile.disagreements }
        if case .unproven(let reason) = handshake.keyPossession {
            notes.append(Cause("ats.note.key-possession-unproven", reason, kind: .note))
        }
        return notes
    }
}
