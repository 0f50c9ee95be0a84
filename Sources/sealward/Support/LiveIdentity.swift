// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ConnectionAdmission
import ServiceLifecycle
import Synchronization
import UnixSignals

/// Reads files again at each SIGHUP.
struct Rereading: Service {
    /// Trapped before the files are first read: a SIGHUP in between does not end the program, and is not lost.
    let hangUps: UnixSignalsSequence
    let reread: @Sendable () async -> Void

    func run() async throws {
        for await _ in hangUps.cancelOnGracefulShutdown() { await reread() }
    }
}

/// The certificate and key of a command's listener, which SIGHUP reads again: the next connection has the new ones.
final class LiveIdentity: Sendable {
    private let options: ListenerOptions
    private let box: Mutex<ListenerIdentity>
    private let hangUps: UnixSignalsSequence

    /// Nil if the options name no certificate.
    init?(_ options: ListenerOptions) async throws(CommandFault) {
        guard options.tlsCertificate != nil else { return nil }
        hangUps = await UnixSignalsSequence(trapping: .sighup)
        guard let identity = try options.identity() else { return nil }
        self.options = options
        box = Mutex(identity)
    }

    /// What the next connection uses.
    var current: @Sendable () -> ListenerIdentity { { self.box.withLock { $0 } } }

    /// What waits for SIGHUP; nothing without TLS. After a fault the files that were read before stay in force.
    ///
    /// - Parameter say: where the outcome goes, for a command whose lines must not wait for their reader.
    static func services(
        _ identity: LiveIdentity?, say: @escaping @Sendable (String) -> Void = { CommandIO.say($0) }
    ) -> [any Service] {
        guard let identity else { return [] }
        return [
            Rereading(hangUps: identity.hangUps) {
                do throws(CommandFault) {
                    guard let new = try identity.options.identity() else { return }
                    identity.box.withLock { $0 = new }
                    say("the files of the listener were reread")
                } catch {
                    say("sealward: \(error) What was read before stays in force.")
                }
            }
        ]
    }
}
