// swift-tools-version: 6.2
import PackageDescription

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
        .executableTarget(
            name: "fuzz-attestation",
            dependencies: ["FuzzDriver", .product(name: "AppAttest", package: "sealward")]
        ),
        .executableTarget(
            name: "fuzz-receipt",
            dependencies: ["FuzzDriver", .product(name: "AppAttest", package: "sealward")]
        ),
        .executableTarget(
            name: "fuzz-handshake",
            dependencies: ["FuzzDriver", .product(name: "TLSProbe", package: "sealward")]
        ),
        .executableTarget(
            name: "fuzz-certificate",
            dependencies: ["FuzzDriver", .product(name: "TLSProbe", package: "sealward")]
        ),
        .executableTarget(
            name: "fuzz-ocsp",
            dependencies: ["FuzzDriver", .product(name: "TLSProbe", package: "sealward")]
        ),
        .executableTarget(
            name: "fuzz-ct-list",
            dependencies: [
                "FuzzDriver", .product(name: "AppTransportSecurity", package: "sealward"),
                .product(name: "TLSProbe", package: "sealward"),
            ]
        ),
        .executableTarget(
            name: "fuzz-archive",
            dependencies: ["FuzzDriver", .product(name: "ATSLint", package: "sealward")]
        ),
        .executableTarget(
            name: "fuzz-executable",
            dependencies: ["FuzzDriver", .product(name: "ATSLint", package: "sealward")]
        ),
        .executableTarget(
            name: "fuzz-project",
            dependencies: ["FuzzDriver", .product(name: "ATSLint", package: "sealward")]
        ),
        .executableTarget(
            name: "fuzz-json",
            dependencies: ["FuzzDriver", .product(name: "ATSLint", package: "sealward")]
        ),
        .executableTarget(
            name: "fuzz-report",
            dependencies: ["FuzzDriver", .product(name: "ATSLint", package: "sealward")]
        ),
        .executableTarget(
            name: "fuzz-log",
            dependencies: ["FuzzDriver", .product(name: "ATSDiagnostics", package: "sealward")]
        ),
        .executableTarget(name: "fuzz-plist", dependencies: [.product(name: "ATSLint", package: "sealward")]),
        .executableTarget(
            name: "fuzz-configuration",
            dependencies: [
                "FuzzDriver", .product(name: "TrustService", package: "sealward"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .executableTarget(
            name: "fuzz-request",
            dependencies: [
                "FuzzDriver", .product(name: "TrustService", package: "sealward"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .executableTarget(name: "every-bit", dependencies: [.product(name: "AppAttest", package: "sealward")]),
    ]
)
