// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Foundation
import FuzzDriver

/// CMS with receipt fields. Nothing may crash, and no mutation may be accepted as a receipt of an app that is nobody's.
@main
enum FuzzReceipt {
    static func main() throws {
        let app = try AppIdentity("ABCDE12345.com.example.app")
        let verifier = ReceiptVerifier(roots: .apple)
        FuzzDriver.run(corpus: "receipt") { input in
            guard let receipt = try? Receipt(decoding: input) else { return }
            _ = (receipt.applicationId, receipt.type, receipt.environment, receipt.creationTime, receipt.riskMetric)
            _ = (receipt.refreshNotBefore, receipt.expirationTime, receipt.fields.map(\.text))
            let done = DispatchSemaphore(value: 0)
            Task.detached {
                let instant = Date(timeIntervalSince1970: 1_776_795_192)
                let verdict = await verifier.verify(receipt, ReceiptExpectations(app: app), at: instant)
                if case .accepted = verdict { fatalError("a mutation was accepted") }
                done.signal()
            }
            done.wait()
        }
    }
}
