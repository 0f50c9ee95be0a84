// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import ServiceLifecycle

/// A listener that says in one sentence why it cannot listen.
struct Listener: Service {
    /// `listen` or `internalListen`.
    let setting: String
    let address: ListenAddress
    let application: any Service

    func run() async throws {
        do {
            try await application.run()
        } catch let error as IOError {
            throw fault(String(cString: strerror(error.errnoCode)))
        } catch is SocketAddressError.UnknownHost {
            throw fault("there is no such host")
        }
    }

    private func fault(_ reason: String) -> ListenFault {
        ListenFault(reason: "\(setting): cannot listen on \(address) (\(reason)); choose another address")
    }
}

/// An address on which the service cannot listen.
package struct ListenFault: Error, Sendable, CustomStringConvertible {
    /// One sentence without a full stop, with the setting in front.
    package let reason: String

    package var description: String { reason }
}
