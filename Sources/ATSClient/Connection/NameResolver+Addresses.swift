// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import TLSModel
import TLSProbe

extension NameResolver {
    /// Every address of the host, for callers that throw.
    ///
    /// - Throws: ``ConnectFailure`` if there is none, `CancellationError` where the task was cancelled meanwhile.
    func addresses(of host: String, port: Int, timeout: Duration) async throws -> [SocketAddress] {
        switch await resolve(host: host, port: port, timeout: timeout) {
        case .addresses(let found): return found
        case .failed(let failure):
            try Task.checkCancellation()
            if case .nameNotFound = failure { throw ConnectFailure(.nameNotFound(host)) }
            throw ConnectFailure(failure)
        }
    }
}
