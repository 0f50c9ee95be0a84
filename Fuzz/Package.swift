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
    dependencies: [.package(name: "sealward", path: "..")],
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
            name: "fuzz-archive",
            dependencies: ["FuzzDriver", .product(name: "ATSLint", package: "sealward")]
        ),
        .executableTarget(
            name: "fuzz-executable",
            dependencies: ["FuzzDriver", .product(name: "ATSLint", package: "sealward")]
        ),
        .executableTarget(name: "fuzz-plist", dependencies: [.product(name: "ATSLint", package: "sealward")]),
        .executableTarget(name: "every-bit", dependencies: [.product(name: "AppAttest", package: "sealward")]),
    ]
)
