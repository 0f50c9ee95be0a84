// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Vocabulary

extension JSONValue {
    /// The object with more members at its end.
    func adding(_ members: [Member]) -> JSONValue { .object((self.members ?? []) + members) }
}
