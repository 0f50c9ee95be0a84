// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import FuzzDriver
import Logging
import TrustService
import TrustStores

/// The configuration document, with the files that it names. Nothing may crash; what is wrong is named in printable sentences.
@main
enum FuzzConfiguration {
    /// One for all, because it has threads of its own.
    private static let store = Store.inMemory()

    static func main() {
        FuzzDriver.run(corpus: "configuration") { input in
            let done = DispatchSemaphore(value: 0)
            Task.detached {
                do {
                    let configuration = try TrustServer.Configuration(
                        json: input,
                        readFile: { _ in Array(input.prefix(4096)) }
                    )
                    _ = try await TrustServer(
                        configuration: configuration,
                        store: store,
                        log: Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() }
                    )
                } catch let invalid as TrustServer.InvalidConfiguration {
                    for issue in invalid.issues where issue.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
                        fatalError("an issue with a control character: \(issue)")
                    }
                } catch {}
                done.signal()
            }
            done.wait()
        }
    }
}
