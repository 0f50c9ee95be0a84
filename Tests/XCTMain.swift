// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

// The entry point of the tests on Linux. The one that SwiftPM generates looks for XCTest cases in the index of the build. There are none here,
// and a build without an index takes a tenth less time.

import Testing

@main struct TestMain {
    static func main() async {
        let words = CommandLine.arguments
        if zip(words, words.dropFirst()).contains(where: { $0 == ("--testing-library", "swift-testing") }) {
            await Testing.__swiftPMEntryPoint() as Never
        }
        // `swift test` first asks for a list of XCTest cases.
        if words.contains("--dump-tests-json") { print(#"{"name": "", "tests": []}"#) }
    }
}
