// swift-tools-version: 6.2
import PackageDescription

// An app needs nothing but the SDK. On Linux, where a simulated device drives it, swift-crypto is in the place of CryptoKit.
#if os(Linux)
    let packages: [Package.Dependency] = [.package(url: "https://github.com/apple/swift-crypto", from: "4.5.2")]
    let products: [Target.Dependency] = [.product(name: "Crypto", package: "swift-crypto")]
#else
    let packages: [Package.Dependency] = []
    let products: [Target.Dependency] = []
#endif

let package = Package(
    name: "sealward-app",
    platforms: [.iOS(.v16), .macOS(.v13), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [.library(name: "AppAttestClient", targets: ["AppAttestClient"])],
    dependencies: packages,
    targets: [
        .target(
            name: "AppAttestClient",
            dependencies: products,
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
            ]
        )
    ]
)
