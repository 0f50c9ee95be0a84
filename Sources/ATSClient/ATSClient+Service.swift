// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import ServiceLifecycle

extension ATSClient: Service {
    /// Waits for the graceful shutdown or a cancellation, then lets running loads end and closes every connection.
    public func run() async throws {
        try? await gracefulShutdown()
        await shutDown()
    }
}
