// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The forms of a command that has no others.
enum TextOrJSON: String, ExpressibleByArgument, CaseIterable { case text, json }
