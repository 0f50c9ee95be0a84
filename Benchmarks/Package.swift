// swift-tools-version: 6.2
import PackageDescription

/// A program that calls what the modules of the product share: compiled as a part of its package, whose name the build makes from that of
/// its folder: in lower case, with "_" for what no identifier has and for digits at its start.
func program(_ name: String, library: Bool = false, _ dependencies: [Target.Dependency] = []) -> Target {
    let folder = (Context.packageDirectory.split(separator: "/").dropLast().last ?? "").lowercased()
    let digits = folder.prefix { $0.isNumber }
    let package =
        String(repeating: "_", count: digits.count)
        + folder.dropFirst(digits.count).map { $0.isLetter || $0.isNumber ? String($0) : "_" }.joined()
    let settings: [SwiftSetting] = [.unsafeFlags(["-package-name", package])]
    return library
        ? .target(name: name, dependencies: dependencies, packageAccess: false, swiftSettings: settings)
        : .executableTarget(name: name, dependencies: dependencies, packageAccess: false, swiftSettings: settings)
}

/// Measurements, one executable for each topic, so that the product needs none of their dependencies.
let package = Package(
    name: "sealward-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "sealward", path: "..", traits: ["Tools", "Postgres"]),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    ],
    targets: [
        // How every bench prints its figures.
        .target(name: "BenchReport"),
        program(
            "probe-bench",
            [
                "BenchReport",
                .product(name: "TLSProbe", package: "sealward"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]
        ),
        program(
            "attest-bench",
            [
                "BenchReport",
                .product(name: "AppAttest", package: "sealward"),
                .product(name: "DeviceSimulator", package: "sealward"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "Crypto", package: "swift-crypto"),
            ]
        ),
        program("lint-bench", ["BenchReport"]),
        program("body-bench", ["BenchReport"]),
        // Keys and challenges that a store takes, because simulated devices attested them.
        program(
            "TrustMaterial",
            library: true,
            [
                .product(name: "AppAttest", package: "sealward"),
                .product(name: "DeviceSimulator", package: "sealward"),
                .product(name: "TrustService", package: "sealward"),
                .product(name: "Crypto", package: "swift-crypto"),
            ]
        ),
        program(
            "store-bench",
            [
                "BenchReport", "TrustMaterial", .product(name: "TrustService", package: "sealward"),
                .product(name: "TrustStoresPostgres", package: "sealward"),
            ]
        ),
        program(
            "service-bench",
            [
                "BenchReport", "TrustMaterial", .product(name: "DeviceSimulator", package: "sealward"),
                .product(name: "TrustService", package: "sealward"),
                .product(name: "TrustStoresPostgres", package: "sealward"),
                // The program itself, built beside the bench.
                .product(name: "sealward", package: "sealward"),
            ]
        ),
        program(
            "client-bench",
            [
                "BenchReport",
                .product(name: "ATSClient", package: "sealward"),
                .product(name: "AppTransportSecurity", package: "sealward"),
                .product(name: "TLSProbe", package: "sealward"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]
        ),
    ]
)
