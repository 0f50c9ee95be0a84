// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

// The entry point of the tests on Linux. The one that SwiftPM makes looks for XCTest cases in the index of the build; there are none, and
// without an index a build takes a tenth less.

import Testing

@main struct TestMain {
    static func main() async {
        let words = CommandLine.arguments
        if zip(words, words.dropFirst()).contains(where: { $0 == ("--testing-library", "swift-testing") }) {
            await Testing.__swiftPMEntryPoint() as Never
        }
        // `swift test` asks for the list of XCTest's first.
        if words.contains("--dump-tests-json") { print(#"{"name": "", "tests": []}"#) }
    }
}
