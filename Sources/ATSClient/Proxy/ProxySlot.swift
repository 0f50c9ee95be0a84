// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ConnectionAdmission
import NIOCore
import Synchronization
import TLSModel
import TLSProbe

/// The place of a connection to a server among those that the proxy counts, for the client that caused it.
///
/// A probe goes on when its client leaves, so a client that comes and goes would otherwise have any number of them.
final class ProxySlot: Sendable {
    private let admission: Admission
    private let address: IPAddress?
    private let isHeld = Mutex(true)

    /// Takes a place; nil if there is none, which is counted and reported.
    init?(_ admission: Admission, for client: any Channel) {
        let address = client.remoteAddress.flatMap { IPAddress($0) }
        let verdict = admission.admit(address)
        guard verdict == .admitted else {
            admission.refuse(verdict, on: client.eventLoop)
            return nil
        }
        self.admission = admission
        self.address = address
    }

    /// Gives the place back; only the first call counts.
    func release() {
        let wasHeld = isHeld.withLock { isHeld in
            defer { isHeld = false }
            return isHeld
        }
        if wasHeld { admission.release(address) }
    }

    deinit { release() }
}
