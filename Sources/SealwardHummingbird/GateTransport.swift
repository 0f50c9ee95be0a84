// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// One call of the gate to the trust service.
package struct GateRequest: Sendable, Equatable {
    package let method: String
    package let url: String
    /// The bearer token of the call, if it needs one.
    package var bearer: String?
    package var body: [UInt8] = []
    /// The entity tag of what the gate has already.
    package var tag: String?
    /// The most bytes of the answer's body that are read.
    package var bodyLimit = GateAnswer.bodyLimit

    package static func get(_ url: String, bearer: String? = nil) -> GateRequest {
        GateRequest(method: "GET", url: url, bearer: bearer)
    }
}

/// What the service answered.
package struct GateAnswer: Sendable {
    package let status: Int
    package var retryAfterSeconds: Int?
    package var quotaRemaining: Int?
    package var tag: String?
    /// At most ``GateRequest/bodyLimit`` bytes.
    package var body: [UInt8] = []

    /// The most bytes of a body that are read in most cases: 64 keys have less than 16 KiB.
    package static let bodyLimit = 65_536
}

/// The only door of this target to the network.
package protocol GateTransport: Sendable {
    /// - Throws: anything if no whole answer came within the deadline.
    func send(_ request: GateRequest) async throws -> GateAnswer
}
