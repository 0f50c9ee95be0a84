// swift-tools-version: 6.2
import PackageDescription

/// A program that calls what the modules of the product share: compiled as a part of its package, whose name the build makes from that of
/// its folder: in lower case, with "_" for what no identifier has and for digits at its start.
///
/// - Parameters:
///   - products: those of the product that it calls.
///   - logs: whether it needs a logger.
///   - isDriven: whether `FuzzDriver` feeds it.
func program(_ name: String, _ products: [String], logs: Bool = false, isDriven: Bool = true) -> Target {
    let folder = (Context.packageDirectory.split(separator: "/").dropLast().last ?? "").lowercased()
    let digits = folder.prefix { $0.isNumber }
    let package =
        String(repeating: "_", count: digits.count)
        + folder.dropFirst(digits.count).map { $0.isLetter || $0.isNumber ? String($0) : "_" }.joined()
    let dependencies: [Target.Dependency] =
        (isDriven ? ["FuzzDriver"] : []) + products.map { .product(name: $0, package: "sealward") }
        + (logs ? [.product(name: "Logging", package: "swift-log")] : [])
    let settings: [SwiftSetting] = [.unsafeFlags(["-package-name", package])]
    return .executableTarget(name: name, dependencies: dependencies, packageAccess: false, swiftSettings: settings)
}

/// Fuzz targets, each an executable that takes a corpus folder.
///
///     swift build --package-path Fuzz -c release
///     Fuzz/.build/release/fuzz-attestation --seconds 60
///
/// Built with `-Xswiftc -sanitize=fuzzer -Xswiftc -DLIBFUZZER` the same targets are libFuzzer's, guided by coverage, with its options.
let package = Package(
    name: "sealward-fuzz",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "sealward", path: ".."),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    ],
    targets: [
        .target(name: "FuzzDriver"),
        program("fuzz-attestation", ["AppAttest"]),
        program("fuzz-receipt", ["AppAttest"]),
        program("fuzz-handshake", ["TLSProbe"]),
        program("fuzz-certificate", ["TLSProbe"]),
        program("fuzz-ocsp", ["TLSProbe"]),
        program("fuzz-ct-list", ["AppTransportSecurity", "TLSProbe"]),
        program("fuzz-archive", ["SealwardInternals"]),
        program("fuzz-executable", ["SealwardInternals"]),
        program("fuzz-project", ["SealwardInternals"]),
        program("fuzz-json", ["ATSLint", "SealwardInternals"]),
        program("fuzz-report", ["ATSLint", "SealwardInternals"]),
        program("fuzz-log", ["ATSDiagnostics"]),
        program("fuzz-pasted", ["SealwardInternals"]),
        program("fuzz-form", ["ATSLint", "SealwardInternals"]),
        program("fuzz-plist", ["ATSLint", "SealwardInternals"], isDriven: false),
        program("fuzz-configuration", ["TrustService"], logs: true),
        program("fuzz-request", ["TrustService"], logs: true),
        program("fuzz-journal", ["ATSDiagnostics"]),
        program("fuzz-merge", ["ATSDiagnostics", "SealwardInternals"]),
        program("fuzz-target", ["ATSDiagnostics"]),
        program("fuzz-trace", ["SealwardInternals"]),
        program("every-bit", ["AppAttest"], isDriven: false),
    ]
)
