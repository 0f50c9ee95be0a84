// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import HTTPService
import HTTPTypes
import Vocabulary

/// An address that judges: it gets each question with POST and answers with the same JSON.
struct URLVerifier {
    private var hasAnswered = false
    private let url: String
    private let timeout: Duration
    private let transport: HTTPTransport

    init(_ url: String, timeout: Duration, transport: HTTPTransport) {
        self.url = url
        self.timeout = timeout
        self.transport = transport
    }

    /// - Throws: ``CommandFault`` where nothing answers the first question.
    mutating func judge(_ question: [UInt8]) async throws -> VerifierAnswer {
        let start = ContinuousClock.now
        do {
            let answer = try await transport.send(
                .post, url, [.contentType: "application/json"], body: question, within: timeout)
            hasAnswered = true
            guard answer.status == 200 else { return VerifierAnswer(.crashed, "the status is \(answer.status)") }
            return VerifierAnswer(reading: answer.body)
        } catch let fault as HTTPTransport.Fault {
            if ContinuousClock.now - start >= timeout {
                return VerifierAnswer(.tooSlow, "no answer within \(timeout.components.seconds) seconds")
            }
            guard hasAnswered else { throw CommandFault("--url: \(fault.reason).") }
            return VerifierAnswer(.crashed, fault.reason)
        }
    }
}
