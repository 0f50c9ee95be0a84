// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import BenchReport
import Foundation

/// Times `sealward ats lint FOLDER` over 1,000 XML property lists of 2 KB, process start included, against a bare
/// PropertyListSerialization parse of the same files, and against mobsfscan (PyPI) where it is installed.
///
///     lint-bench [--program SEALWARD] [--mobsfscan PROGRAM]
///
/// Without options the release build of the checkout is taken, and built where it is missing. mobsfscan is looked for in the
/// environment of Scripts/bootstrap: `.build/python/bin/pip install mobsfscan` puts it there.
/// Ends with status 1 where a target is missed: at most 3 times the bare parse, at least 3 times faster than mobsfscan.
let arguments = BenchArguments()
let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
    .deletingLastPathComponent()
let sealward = arguments["--program"] ?? root.appendingPathComponent(".build/release/sealward").path
if !FileManager.default.isExecutableFile(atPath: sealward) {
    let command = [
        "swift", "build", "-c", "release", "--product", "sealward", "--package-path", root.path,
    ]
    try run("/usr/bin/env", command)
}
let mobsfscan = arguments["--mobsfscan"] ?? root.appendingPathComponent(".build/python/bin/mobsfscan").path
let folder = FileManager.default.temporaryDirectory.appendingPathComponent("sealward-lint-bench-\(UUID().uuidString)")
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: folder) }

let files = try (0..<1_000).map { index in
    let file = folder.appendingPathComponent("App\(index)/Info.plist")
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(infoPlist(index).utf8).write(to: file)
    return file
}
let size = try Data(contentsOf: files[0]).count

/// The best of several runs, in milliseconds.
func best(of count: Int, _ body: () throws -> Void) rethrows -> Double {
    var best = Double.infinity
    for _ in 0..<count {
        let start = ContinuousClock.now
        try body()
        let elapsed = ContinuousClock.now - start
        best = min(best, Double(elapsed.components.seconds) * 1e3 + Double(elapsed.components.attoseconds) / 1e15)
    }
    return best
}

/// Waits by the handler: `waitUntilExit` looks only every 50 ms whether the program has ended.
@discardableResult
func run(_ program: String, _ arguments: [String]) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    let ended = DispatchSemaphore(value: 0)
    process.terminationHandler = { _ in ended.signal() }
    try process.run()
    ended.wait()
    return process.terminationStatus
}

/// What a program prints, as JSON.
func json(_ program: String, _ arguments: [String]) throws -> [String: Any] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
}

struct NoWork: Error, CustomStringConvertible { let description: String }

/// A program that found nothing in lists that are full of faults did not do the work that is timed.
func requireWork() throws {
    let files = try json(sealward, ["ats", "lint", folder.path, "--format", "json"])["files"]
    let report = files as? [[String: Any]] ?? []
    let findings = report.map { ($0["findings"] as? [[String: Any]] ?? []).compactMap { $0["rule"] as? String } }
    // Each list: plain HTTP to one host, and a version of TLS that is none at another.
    guard findings.count == 1_000, findings.allSatisfy({ $0.contains("ATS015") && $0.count >= 3 }) else {
        throw NoWork(description: "sealward found \(findings.joined().count) things in \(findings.count) files")
    }
    print("sealward: \(findings.joined().count) findings in \(findings.count) files")
}

try requireWork()
let bare = try best(of: 5) {
    for file in files {
        let list = try PropertyListSerialization.propertyList(from: Data(contentsOf: file), options: [], format: nil)
        guard (list as? [String: Any])?["NSAppTransportSecurity"] != nil else {
            throw NoWork(description: "a list is not read")
        }
    }
}
// 1 is what says that there were errors; anything else is another run than the one above.
let lint = try best(of: 5) {
    let status = try run(sealward, ["ats", "lint", folder.path, "--format", "json"])
    guard status == 1 else { throw NoWork(description: "sealward ended with status \(status)") }
}
print("files: 1000 of \(size) bytes")
print("bare PropertyListSerialization parse: \(Int(bare)) ms")
print("sealward ats lint, process included: \(Int(lint)) ms")
var holds = figure("ats lint against a bare parse", lint / bare, .atMost(3))
if FileManager.default.isExecutableFile(atPath: mobsfscan) {
    let other = try best(of: 1) {
        let report = try json(mobsfscan, ["--json", folder.path])["results"] as? [String: Any] ?? [:]
        guard !report.isEmpty else { throw NoWork(description: "mobsfscan found nothing") }
    }
    print("mobsfscan, process included: \(Int(other)) ms")
    holds = figure("mobsfscan's time against ats lint", other / lint, .atLeast(3)) && holds
} else {
    print("mobsfscan: not installed, not compared")
}
exit(holds ? 0 : 1)

/// An Info.plist of about 2 KB, as apps have them, each with other hosts.
func infoPlist(_ index: Int) -> String {
    let exceptions = (0..<3).map { entry in
        """
        \t\t\t<key>host\(entry).app\(index).example.com</key>
        \t\t\t<dict>
        \t\t\t\t<key>NSExceptionAllowsInsecureHTTPLoads</key>
        \t\t\t\t<\(entry == 0)/>
        \t\t\t\t<key>NSExceptionMinimumTLSVersion</key>
        \t\t\t\t<string>\(entry == 1 ? "1.0" : "TLSv1.3")</string>
        \t\t\t</dict>
        """
    }.joined(separator: "\n")
    let orientations = ["Portrait", "LandscapeLeft", "LandscapeRight"].map {
        "\t\t<string>UIInterfaceOrientation\($0)</string>"
    }
    .joined(separator: "\n")
    return """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">
        <dict>
        \t<key>CFBundleDevelopmentRegion</key>
        \t<string>$(DEVELOPMENT_LANGUAGE)</string>
        \t<key>CFBundleExecutable</key>
        \t<string>$(EXECUTABLE_NAME)</string>
        \t<key>CFBundleIdentifier</key>
        \t<string>com.example.app\(index)</string>
        \t<key>CFBundleInfoDictionaryVersion</key>
        \t<string>6.0</string>
        \t<key>CFBundleName</key>
        \t<string>$(PRODUCT_NAME)</string>
        \t<key>CFBundlePackageType</key>
        \t<string>APPL</string>
        \t<key>CFBundleShortVersionString</key>
        \t<string>1.0</string>
        \t<key>CFBundleVersion</key>
        \t<string>\(index)</string>
        \t<key>LSRequiresIPhoneOS</key>
        \t<true/>
        \t<key>NSAppTransportSecurity</key>
        \t<dict>
        \t\t<key>NSAllowsLocalNetworking</key>
        \t\t<true/>
        \t\t<key>NSExceptionDomains</key>
        \t\t<dict>
        \(exceptions)
        \t\t</dict>
        \t</dict>
        \t<key>NSCameraUsageDescription</key>
        \t<string>Scans the code on the back of the device, so that nobody has to type it.</string>
        \t<key>NSLocationWhenInUseUsageDescription</key>
        \t<string>Shows the stations that are near you.</string>
        \t<key>UILaunchStoryboardName</key>
        \t<string>LaunchScreen</string>
        \t<key>UISupportedInterfaceOrientations</key>
        \t<array>
        \(orientations)
        \t</array>
        </dict>
        </plist>

        """
}
