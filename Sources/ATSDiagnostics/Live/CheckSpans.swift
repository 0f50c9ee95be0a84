// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import TLSModel
import TLSProbe
import Tracing
import Vocabulary

/// Spans of checks: one for a target, and below it its look-ups, hellos and loads. Without a tracer there are none.
struct CheckSpans: Sendable {
    let tracer: (any Tracer)?

    /// Runs the body in a span about an endpoint.
    ///
    /// - Parameter describe: what the result says; an `error.type` makes the span one of an error.
    func around<Result>(
        _ name: String, _ endpoint: Endpoint, ofKind kind: SpanKind = .client, describe: (Result) -> SpanAttributes,
        _ body: () async -> Result
    ) async -> Result {
        guard let tracer else { return await body() }
        return await tracer.withSpan(name, ofKind: kind) { span in
            let result = await body()
            guard span.isRecording else { return result }
            var attributes = describe(result)
            attributes["server.address"] = endpoint.host
            attributes["server.port"] = endpoint.port
            span.attributes = attributes
            if attributes.get("error.type") != nil { span.setStatus(SpanStatus(code: .error)) }
            return result
        }
    }
}

extension TargetReport {
    /// A server that fails is a result of the check; one that nothing was learned of is an error.
    var attributes: SpanAttributes {
        let summary = TargetSummary(self)
        var attributes: SpanAttributes = ["sealward.ats.verdict": .string(summary.verdict.rawValue.lowercased())]
        if let cause = summary.cause {
            attributes[summary.verdict == .undetermined ? "error.type" : "sealward.ats.cause"] = cause
        }
        return attributes
    }
}

extension HandshakeOutcome {
    var attributes: SpanAttributes {
        switch self {
        case .negotiated(let observation): observation.attributes
        case .alert(_, let description): ["error.type": "alert \(description)"]
        case .protocolError: ["error.type": "protocol error"]
        case .connection(let failure): ["error.type": .string(ConnectionCauses.code(failure).rawValue)]
        }
    }
}

extension HandshakeObservation {
    var attributes: SpanAttributes {
        var attributes: SpanAttributes = [
            "tls.protocol.version": .string("\(version)"), "tls.cipher": .string("\(suite)"),
        ]
        if let group { attributes["tls.curve"] = "\(group)" }
        return attributes
    }
}

extension LoadTrace {
    var attributes: SpanAttributes {
        var attributes: SpanAttributes = ["http.request.method": "GET"]
        if let status { attributes["http.response.status_code"] = status }
        switch end {
        case .loaded: break
        case .refused(_, let causes), .noAnswer(_, let causes), .handshakeRefused(_, let causes):
            if let cause = causes.first { attributes["error.type"] = cause.code.rawValue }
        }
        return attributes
    }
}

extension NameResolver.Resolution {
    var attributes: SpanAttributes {
        switch self {
        case .addresses: [:]
        case .failed(let failure): ["error.type": .string(ConnectionCauses.code(failure).rawValue)]
        }
    }
}
