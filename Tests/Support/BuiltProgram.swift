// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// The `sealward` that was built with the tests: beside their own executable, whatever folder the build went to.
public enum BuiltProgram {
    public static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent()
        .deletingLastPathComponent()
    public static let url: URL = {
        let tests = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let folders = [tests, repository.appendingPathComponent(".build/release")]
        let files = folders.map { $0.appendingPathComponent("sealward") }
        return files.first { FileManager.default.isExecutableFile(atPath: $0.path) } ?? files[1]
    }()

    /// What starts a program without any privilege, where the tests run as root: util-linux's setpriv. Nil where they cannot tell.
    private static let dropping: [String]? = {
        guard geteuid() == 0 else { return [] }
        let program = "/usr/bin/setpriv"
        guard FileManager.default.isExecutableFile(atPath: program) else { return nil }
        return [program, "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"]
    }()

    /// Whether the program can be run as a user without privileges runs it.
    public static var runsWithoutPrivileges: Bool { dropping != nil }

    /// The program as a user without privileges runs it.
    public static func unprivileged(_ arguments: [String]) -> (program: URL, arguments: [String]) {
        let words = (dropping ?? []) + [url.path] + arguments
        return (URL(fileURLWithPath: words[0]), Array(words.dropFirst()))
    }

    /// What starts a program as `nobody`, who owns nothing and is in no group of this machine; nil where only root could, or has no setpriv.
    public static let asNobody: [String]? = {
        let program = "/usr/bin/setpriv"
        guard geteuid() == 0, FileManager.default.isExecutableFile(atPath: program), getpwnam("nobody") != nil else {
            return nil
        }
        return [
            program, "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all",
        ]
    }()

    /// Whether the tests were built with a sanitizer, which takes memory and time of its own.
    public static let isSanitized = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
}
