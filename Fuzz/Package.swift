// swift-tools-version: 6.2
import PackageDescription

/// A program that calls what the modules of the product share: compiled as a part of its package, whose name the build makes from that of
/// its folder: in lower case, with "_" for what no identifier has and for digits at its start.
func program(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    let folder = (Context.packageDirectory.split(separator: "/").dropLast().last ?? "").lowercased()
    let digits = folder.prefix { $0.isNumber }
    let package =
        String(repeating: "_", count: digits.count)
        + folder.dropFirst(digits.count).map { $0.isLetter || $0.isNumber ? String($0) : "_" }.joined()
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
        program(
            "fuzz-attestation",
            ["FuzzDriver", .product(name: "AppAttest", package: "sealward")]
        ),
        program(
            "fuzz-receipt",
            ["FuzzDriver", .product(name: "AppAttest", package: "sealward")]
        ),
        program(
            "fuzz-handshake",
            ["FuzzDriver", .product(name: "TLSProbe", package: "sealward")]
        ),
        program(
            "fuzz-certificate",
            ["FuzzDriver", .product(name: "TLSProbe", package: "sealward")]
        ),
        program(
            "fuzz-ocsp",
            ["FuzzDriver", .product(name: "TLSProbe", package: "sealward")]
        ),
        program(
            "fuzz-ct-list",
            [
                "FuzzDriver", .product(name: "AppTransportSecurity", package: "sealward"),
                .product(name: "TLSProbe", package: "sealward"),
            ]
        ),
        program(
            "fuzz-archive",
            ["FuzzDriver", .product(name: "SealwardInternals", package: "sealward")]
        ),
        program(
            "fuzz-executable",
            ["FuzzDriver", .product(name: "SealwardInternals", package: "sealward")]
        ),
        program(
            "fuzz-project",
            ["FuzzDriver", .product(name: "SealwardInternals", package: "sealward")]
        ),
        program(
            "fuzz-json",
            [
                "FuzzDriver", .product(name: "ATSLint", package: "sealward"),
                .product(name: "SealwardInternals", package: "sealward"),
            ]
        ),
        program(
            "fuzz-report",
            [
                "FuzzDriver", .product(name: "ATSLint", package: "sealward"),
                .product(name: "SealwardInternals", package: "sealward"),
            ]
        ),
        program(
            "fuzz-log",
            ["FuzzDriver", .product(name: "ATSDiagnostics", package: "sealward")]
        ),
        program(
            "fuzz-plist",
            [
                .product(name: "ATSLint", package: "sealward"),
                .product(name: "SealwardInternals", package: "sealward"),
            ]
        ),
        program(
            "fuzz-configuration",
            [
                "FuzzDriver", .product(name: "TrustService", package: "sealward"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        program(
            "fuzz-request",
            [
                "FuzzDriver", .product(name: "TrustService", package: "sealward"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        program(
            "fuzz-http",
            ["FuzzDriver", .product(name: "TLSProbe", package: "sealward")]
        ),
        program(
            "fuzz-journal",
            ["FuzzDriver", .product(name: "ATSDiagnostics", package: "sealward")]
        ),
        program(
            "fuzz-merge",
            [
                "FuzzDriver", .product(name: "ATSDiagnostics", package: "sealward"),
                .product(name: "SealwardInternals", package: "sealward"),
            ]
        ),
        program(
            "fuzz-target",
            ["FuzzDriver", .product(name: "ATSDiagnostics", package: "sealward")]
        ),
        program(
            "fuzz-trace",
            ["FuzzDriver", .product(name: "SealwardInternals", package: "sealward")]
        ),
        program("every-bit", [.product(name: "AppAttest", package: "sealward")]),
    ]
)
