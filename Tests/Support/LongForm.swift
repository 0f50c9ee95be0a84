// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What `make check-all` tries (`SEALWARD_LONG=1`) and `make test` does not.
package enum LongForm {
    /// Whether the long form of the tests is asked for.
    package static let isAsked = ProcessInfo.processInfo.environment["SEALWARD_LONG"] == "1"

    /// Every element in the long form; in `make test` one of each `step`, from `first` on.
    ///
    /// Tests that combine two lists give `first` the place in the other one, so that each element is still tried, with others.
    package static func share<Element>(of all: [Element], one step: Int, from first: Int = 0) -> [Element] {
        isAsked ? all : all.enumerated().filter { $0.offset % step == first % step }.map(\.element)
    }
}
