// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// A program that ran to its end.
public struct ProgramRun: Sendable {
    public let status: Int32
    /// What it wrote to standard output.
    public let data: Data
    /// What it wrote to standard error.
    public let errors: String

    public var output: String { String(decoding: data, as: UTF8.self) }

    /// Standard output as one JSON object; empty where it is none.
    public var json: [String: Any] { (try? JSONSerialization.jsonObject(with: data)) as? [String: Any] ?? [:] }

    /// A member of the object that is a text.
    public func string(_ name: String) -> String? { json[name] as? String }

    /// Runs `sealward`, and waits for its end.
    public init(
        _ arguments: [String], input: String? = nil, in folder: URL? = nil,
        environment: [String: String] = ["NO_COLOR": "1"]
    ) throws {
        try self.init(BuiltProgram.url, arguments, input: input, in: folder, environment: environment)
    }

    /// Runs any program, and waits for its end. Both streams go to files, because a full pipe that nobody reads holds a program for ever.
    ///
    /// - Parameter environment: beside that of the tests, and a line so long that no sentence is broken.
    public init(
        _ program: URL, _ arguments: [String], input: String? = nil, in folder: URL? = nil,
        environment: [String: String] = [:]
    ) throws {
        let streams = try TemporaryDirectory()
        defer { withExtendedLifetime(streams) {} }
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(["COLUMNS": "1000"]) { $1 }
            .merging(environment) { $1 }
        if let folder { process.currentDirectoryURL = folder }
        let (output, errors) = (streams.url.appending(path: "output"), streams.url.appending(path: "errors"))
        for file in [output, errors] { try Data().write(to: file) }
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: errors)
        process.standardInput = FileHandle.nullDevice
        if let input {
            let file = streams.url.appending(path: "input")
            try Data(input.utf8).write(to: file)
            process.standardInput = try FileHandle(forReadingFrom: file)
        }
        try process.run()
        process.waitUntilExit()
        status = process.terminationStatus
        data = try Data(contentsOf: output)
        self.errors = String(decoding: try Data(contentsOf: errors), as: UTF8.self)
    }
}
