// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ConnectionAdmission
import Glibc
import ServiceLifecycle
import Synchronization
import UnixSignals

/// Waits for SIGHUP, which asks for files to be read again.
struct Rereading: Service {
    private let reread: @Sendable () async -> Void

    init(_ reread: @escaping @Sendable () async -> Void) {
        // One that comes before anybody waits for it does not end the process.
        signal(SIGHUP, SIG_IGN)
        self.reread = reread
    }

    func run() async throws {
        for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() { await reread() }
    }
}

/// The certificate and key of a command's listener, which SIGHUP reads again: the next connection has the new ones.
final class LiveIdentity: Sendable {
    private let options: ListenerOptions
    private let box: Mutex<ListenerIdentity>

    /// Nil if the options name no certificate.
    init?(_ options: ListenerOptions) throws(CommandFault) {
        guard let identity = try options.identity() else { return nil }
        self.options = options
        box = Mutex(identity)
    }

    /// What the next connection has.
    var current: @Sendable () -> ListenerIdentity { { self.box.withLock { $0 } } }

    /// What waits for SIGHUP; nothing without TLS. A fault keeps what was read before.
    static func services(_ identity: LiveIdentity?) -> [any Service] {
        guard let identity else { return [] }
        return [
            Rereading {
                do throws(CommandFault) {
                    guard let new = try identity.options.identity() else { return }
                    identity.box.withLock { $0 = new }
                    CommandIO.say("the files of the listener were reread")
                } catch {
                    CommandIO.say("sealward: \(error) What was read before stays in force.")
                }
            }
        ]
    }
}
