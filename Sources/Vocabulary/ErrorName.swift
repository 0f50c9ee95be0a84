// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension Error {
    /// What an error of a library says, safe for a terminal and cut; its type alone if it says where in the library's sources it was made, which is a
    /// path of the machine that built this program.
    package var nameWithoutPlace: String {
        let text = String(describing: self)
        return (text.utf8.contains(0x2F) ? String(describing: type(of: self)) : text).terminalSafe(limit: 120)
    }
}
