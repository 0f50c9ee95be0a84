// swift-tools-version: 6.2
import PackageDescription

let testSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]
/// The product's code also marks every use of raw memory, with a reason above it.
let settings = testSettings + [.strictMemorySafety()]

/// Products of other packages, by the names that the code uses.
extension Target.Dependency {
    static let asyncHTTPClient = product(
        name: "AsyncHTTPClient", package: "async-http-client", condition: .when(traits: ["Server"]))
    static let argumentParser = product(
        name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["Tools"]))
    static let asn1 = product(name: "SwiftASN1", package: "swift-asn1", condition: .when(traits: ["Attest"]))
    static let crypto = product(
        name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Attest", "Client"]))
    static let cryptoWithoutCryptoKit = product(
        name: "Crypto", package: "swift-crypto",
        condition: .when(platforms: [.linux, .android, .windows], traits: ["Attest"]))
    static let cryptoExtras = product(
        name: "_CryptoExtras", package: "swift-crypto", condition: .when(traits: ["Client"]))
    static let httpTypes = product(name: "HTTPTypes", package: "swift-http-types", condition: .when(traits: ["Client"]))
    static let hummingbird = product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Server"]))
    static let lifecycle = product(
        name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["Client"]))
    static let logging = product(name: "Logging", package: "swift-log", condition: .when(traits: ["Client"]))
    static let nioConcurrency = product(name: "NIOConcurrencyHelpers", package: "swift-nio")
    static let nioCore = product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Client"]))
    static let nioEmbedded = product(name: "NIOEmbedded", package: "swift-nio")
    static let nioHPACK = product(name: "NIOHPACK", package: "swift-nio-http2", condition: .when(traits: ["Client"]))
    static let nioHTTP1 = product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["Client"]))
    static let nioHTTP2 = product(name: "NIOHTTP2", package: "swift-nio-http2", condition: .when(traits: ["Client"]))
    static let nioPosix = product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["Client"]))
    static let nioSSL = product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["Client"]))
    static let nioTLS = product(name: "NIOTLS", package: "swift-nio", condition: .when(traits: ["Client"]))
    static let tracing = product(
        name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Client"]))
    static let unixSignals = product(
        name: "UnixSignals", package: "swift-service-lifecycle", condition: .when(traits: ["Tools"]))
    static let x509 = product(name: "X509", package: "swift-certificates", condition: .when(traits: ["Attest"]))
}

/// A library target of the product, with the house settings.
func library(_ name: String, _ dependencies: [Target.Dependency] = [], resources: [Resource]? = nil) -> Target {
    .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: settings)
}

/// The target that stops a build without a trait.
func needed(_ trait: String) -> Target {
    .target(name: trait + "Trait", path: "Sources/Traits/" + trait, swiftSettings: settings)
}

/// The tests of one target.
func tests(of name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .testTarget(
        name: name + "Tests", dependencies: [.byName(name: name), "TestSupport"] + dependencies,
        swiftSettings: testSettings)
}

/// The tests of one part of the program.
func program(tests part: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .testTarget(
        name: part + "Tests", dependencies: ["sealward", "TestSupport"] + dependencies, swiftSettings: testSettings)
}

let package = Package(
    name: "sealward",
    // The server's parts run on macOS and Linux; AppAttestClient goes into apps.
    platforms: [.macOS(.v15), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        .executable(name: "sealward", targets: ["sealward"]),
        .library(
            name: "AppTransportSecurity", targets: ["AppTransportSecurity", "PropertyLists", "TLSModel", "Vocabulary"]),
        .library(
            name: "ATSClient",
            targets: [
                "ATSClient", "AppTransportSecurity", "PropertyLists", "TLSProbe", "TLSModel",
                "Vocabulary",
            ]
        ),
        .library(name: "TLSProbe", targets: ["TLSProbe", "TLSModel", "Vocabulary"]),
        .library(
            name: "ATSDiagnostics",
            targets: [
                "ATSDiagnostics", "AppTransportSecurity", "PropertyLists", "TLSProbe",
                "TLSModel",
                "Vocabulary",
            ]
        ),
        .library(
            name: "ATSLint",
            targets: [
                "ATSLint", "AppTransportSecurity", "PropertyLists", "Vocabulary",
            ]
        ),
        .library(name: "AppAttest", targets: ["AppAttest", "Vocabulary"]),
        .library(name: "AppAttestClient", targets: ["AppAttestClient"]),
        .library(name: "DeviceCheckBits", targets: ["DeviceCheckBits", "AppleServices"]),
        .library(name: "DeviceSimulator", targets: ["DeviceSimulator"]),
        .library(name: "AppleSimulator", targets: ["AppleSimulator", "DeviceSimulator"]),
        .library(
            name: "TrustService",
            targets: ["TrustService", "TrustTokens", "TrustStores", "AppAttest"]),
        .library(name: "TrustStoresPostgres", targets: ["TrustStoresPostgres"]),
        .library(name: "SealwardHummingbird", targets: ["SealwardHummingbird", "TrustTokens"]),
        .library(name: "TrustStoreContract", targets: ["TrustStoreContract", "TrustStores"]),
        // For the packages Fuzz and Benchmarks: nothing in these modules is public.
        .library(name: "SealwardInternals", targets: ["ATSLint", "HTTPService", "Formats"]),
    ],
    // What a client does not ask for is not resolved: `.package(url: ..., traits: ["Attest"])` for the verifier alone.
    traits: [
        .default(enabledTraits: ["Tools"]),
        .trait(name: "Attest", description: "The verifier, tokens, the simulated device, the app's side."),
        .trait(name: "Client", description: "The prober, `ats check`, the client and the proxy."),
        .trait(
            name: "Server", description: "The service, its stores and the middleware.",
            enabledTraits: ["Attest", "Client"]),
        .trait(
            name: "Postgres", description: "The same as Server, which has the PostgreSQL store.",
            enabledTraits: ["Server"]),
        .trait(name: "Tools", description: "The program.", enabledTraits: ["Server"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.30.0"),
    ],
    targets: [
        // A product that is taken without its trait says so, and nothing else.
        needed("Attest"), needed("Client"), needed("Server"), needed("Tools"),

        // Layer 0
        library("TLSModel"),
        library("Vocabulary"),
        library("Formats", ["Vocabulary"]),
        .systemLibrary(name: "CIconv"),
        library("PropertyLists", ["Formats", "Vocabulary", "CIconv"]),

        // Layer 1
        library("AppTransportSecurity", ["PropertyLists", "Formats", "TLSModel", "Vocabulary"]),
        library(
            "ATSLint",
            ["AppTransportSecurity", "PropertyLists", "Formats", "TLSModel", "Vocabulary", "CZlib"]),
        library("AppAttest", ["AttestTrait", "Vocabulary", "Formats", .x509, .asn1, .crypto]),
        library("DeviceCheckBits", ["Formats", "Vocabulary"]),
        library("TrustTokens", ["AttestTrait", "Formats", "Vocabulary", .crypto]),

        // Layer 2
        // In an app: nothing but the SDK. On Linux swift-crypto is in the place of CryptoKit.
        library(
            "AppAttestClient",
            [
                .target(name: "AttestTrait", condition: .when(platforms: [.linux, .android, .windows])),
                .cryptoWithoutCryptoKit,
            ]
        ),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        library(
            "TLSProbe",
            [
                "ClientTrait", "TLSModel", "Formats", "Vocabulary", "CZlib", .nioCore, .nioHTTP1, .nioPosix, .crypto,
                .cryptoExtras,
            ]
        ),
        library("ConnectionAdmission", ["ClientTrait", "TLSModel", .nioCore, .nioSSL, .logging]),
        library(
            "ATSClient",
            [
                "AppTransportSecurity", "ConnectionAdmission", "TLSModel", "TLSProbe", "Vocabulary", .nioCore,
                .nioPosix, .nioSSL,
                .nioTLS, .nioHPACK, .nioHTTP1, .nioHTTP2, .httpTypes, .lifecycle, .crypto,
            ]
        ),
        library(
            "HTTPService",
            [
                "ServerTrait",
                "ConnectionAdmission", "Vocabulary", "Formats", "TLSModel", .asyncHTTPClient, .hummingbird, .httpTypes,
                .lifecycle, .logging, .nioCore, .nioHTTP1, .nioPosix, .tracing,
            ]
        ),
        library("TrustStoreContract", ["TrustStores", "AppAttest", "Vocabulary", .crypto]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        library(
            "TrustStores", ["ServerTrait", "AppAttest", "Formats", "Vocabulary", "CSQLite", .crypto],
            resources: [
                .embedInCode("Migrations/0001-first.sql"), .embedInCode("Migrations/0002-operators.sql"),
                .embedInCode("Migrations/0003-quotas.sql"),
                .embedInCode("Migrations/0004-terms.sql"),
                .embedInCode("Migrations/0005-revocations.sql"),
                .embedInCode("Migrations/0006-audit.sql"),
            ]
        ),
        // Loads libpq when a store is opened; nothing is linked.
        .target(name: "CLibpq"),
        library("TrustStoresPostgres", ["TrustStores", "AppAttest", "Vocabulary", "TLSModel", "CLibpq"]),
        library(
            "AppleServices",
            [
                "ServerTrait",
                "ATSClient", "AppTransportSecurity", "TLSModel", "TLSProbe", "Vocabulary", "DeviceCheckBits",
                "TrustTokens", "Formats", .crypto, .httpTypes, .nioCore,
            ]
        ),

        // Layer 3
        library(
            "ATSDiagnostics",
            [
                "AppTransportSecurity", "PropertyLists", "Formats", "TLSModel", "TLSProbe", "ATSClient",
                "Vocabulary", .httpTypes, .nioCore, .nioPosix,
            ]
        ),
        // The contracts of the service and the simulator as bytes.
        .target(name: "CContracts"),
        library(
            "TrustService",
            [
                "CContracts", "TrustTokens", "AppAttest", "ConnectionAdmission", "DeviceCheckBits", "TrustStores",
                "AppleServices", "Vocabulary", "HTTPService", "Formats", "TLSModel",
                .lifecycle, .logging, .crypto, .cryptoExtras, .httpTypes, .tracing,
            ],
            resources: [.embedInCode("Console/console.css")]
        ),
        library("DeviceSimulator", ["AttestTrait", .asn1, .crypto]),
        library(
            "AppleSimulator",
            [
                "ServerTrait",
                "CContracts", "ConnectionAdmission", "DeviceSimulator", "DeviceCheckBits", "HTTPService", .httpTypes,
                .lifecycle,
                .logging,
                .nioCore, .crypto,
            ]
        ),

        // A server that only checks tokens: none of the service, the stores and the prober.
        library(
            "SealwardHummingbird",
            [
                "ServerTrait",
                "TrustTokens", "Vocabulary", "Formats", "TLSModel", .asyncHTTPClient, .crypto, .hummingbird,
                .httpTypes, .logging, .nioCore, .nioHTTP1,
            ]
        ),
        library(
            "SimulatedFleet",
            ["Vocabulary", "DeviceSimulator", "HTTPService", "Formats", .crypto, .httpTypes]),

        // Layer 4
        .executableTarget(
            name: "sealward",
            dependencies: [
                "ToolsTrait",
                "TLSModel", "Vocabulary", "Formats", "PropertyLists", "AppTransportSecurity", "ATSLint",
                "AppAttest",
                "DeviceCheckBits", "TrustTokens", "TLSProbe", "ATSClient", "TrustStores",
                "AppleServices", "TrustStoresPostgres",
                "ATSDiagnostics", "TrustService", "DeviceSimulator", "AppleSimulator",
                "ConnectionAdmission", "HTTPService", "SimulatedFleet",
                "CSQLite", .argumentParser, .asn1, .crypto, .cryptoExtras, .httpTypes, .logging,
                .lifecycle, .nioCore, .nioHTTP1,
                .nioPosix, .nioSSL, .unixSignals, .x509,
            ],
            swiftSettings: settings
        ),

        // Tests
        .target(name: "TestSupport", dependencies: [.crypto], path: "Tests/Support", swiftSettings: testSettings),
        // A store with something around each verb, for the tests of the service.
        .target(
            name: "StoreSupport", dependencies: ["TrustStores", "AppAttest"], path: "Tests/StoreSupport",
            swiftSettings: testSettings),
        tests(of: "TLSModel"),
        tests(of: "Vocabulary"),
        tests(of: "Formats", ["Vocabulary", .crypto]),
        tests(of: "PropertyLists", ["Vocabulary"]),
        tests(of: "AppTransportSecurity", ["PropertyLists", "TLSModel", "Vocabulary"]),
        tests(
            of: "ATSLint",
            ["AppTransportSecurity", "PropertyLists", "Formats", "TLSModel", "Vocabulary"]),
        tests(of: "AppAttest", ["Vocabulary", "DeviceSimulator", "Formats", .crypto, .x509, .asn1]),
        tests(of: "AppAttestClient", ["DeviceSimulator", "sealward", .crypto]),
        tests(of: "DeviceCheckBits", ["Vocabulary"]),
        tests(of: "TrustTokens", ["Formats", "Vocabulary", .crypto]),
        tests(of: "TLSProbe", ["TLSModel", "Vocabulary", .crypto, .nioConcurrency, .nioCore, .nioPosix]),
        tests(of: "ConnectionAdmission", ["TLSModel", .nioCore, .nioEmbedded, .nioPosix, .nioConcurrency]),
        tests(
            of: "ATSClient",
            [
                "AppTransportSecurity", "PropertyLists", "TLSModel", "TLSProbe", "Vocabulary", .httpTypes,
                .nioCore,
                .nioEmbedded, .nioPosix,
                .nioHPACK, .nioHTTP1, .nioHTTP2, .nioSSL, .crypto, .nioConcurrency, .lifecycle, .logging,
            ]
        ),
        tests(
            of: "HTTPService",
            [
                "ConnectionAdmission", "TLSModel", .httpTypes, .logging, .nioCore, .nioEmbedded, .nioHTTP1, .tracing,
            ]),
        tests(
            of: "TrustStores",
            [
                "AppAttest", "DeviceSimulator", "Vocabulary", "TrustStoreContract", "TrustStoresPostgres", .crypto,
            ]
        ),
        tests(
            of: "AppleServices",
            ["AppleSimulator", "DeviceSimulator", "DeviceCheckBits", "Vocabulary", .crypto, .logging]),
        tests(
            of: "ATSDiagnostics",
            [
                "Vocabulary", "AppTransportSecurity", "ATSLint", "PropertyLists", "Formats", "TLSModel", "TLSProbe",
                "ATSClient",
            ]
        ),
        tests(
            of: "TrustService",
            [
                "TrustTokens", "ConnectionAdmission", "DeviceSimulator", "AppleSimulator", "AppAttest",
                "AppleServices",
                "Vocabulary", "Formats", "TLSModel", "TrustStores", "TrustStoresPostgres", "SealwardHummingbird",
                "HTTPService", "StoreSupport", .asyncHTTPClient, .tracing,
                .hummingbird, .httpTypes, .crypto, .cryptoExtras, .lifecycle, .logging, .nioConcurrency,
                .nioCore, .nioHTTP1,
            ]
        ),
        tests(
            of: "SealwardHummingbird", ["Vocabulary", "Formats", "TrustTokens", .crypto, .httpTypes, .nioConcurrency]),
        program(tests: "CheckHistory", ["ATSDiagnostics", "Vocabulary"]),
        program(
            tests: "CheckExporter",
            ["ATSDiagnostics", "AppTransportSecurity", "Vocabulary", "TLSProbe", "TrustService", .httpTypes]),
        tests(of: "DeviceSimulator", ["AppAttest", .crypto]),
        tests(
            of: "AppleSimulator",
            [
                "ConnectionAdmission", "DeviceSimulator", "AppleServices", "DeviceCheckBits", "AppAttest", .crypto,
                .logging,
            ]
        ),
        tests(of: "SimulatedFleet", ["HTTPService"]),
        // The service from the handlers down under a simulated scheduler, clock, network and disk.
        .testTarget(
            name: "HistorySimulationTests",
            dependencies: [
                "TrustService", "TrustStores", "AppAttest", "AppleServices", "DeviceSimulator", "Vocabulary",
                "HTTPService", "StoreSupport", "TrustStoreContract", "Formats", "TestSupport", .crypto, .httpTypes,
                .logging,
            ],
            swiftSettings: testSettings
        ),
        program(tests: "Demonstration"),
        // What a client of each product sees: this target has no access to what is not public.
        .testTarget(
            name: "WalkthroughTests",
            dependencies: [
                "AppTransportSecurity", "PropertyLists", "Formats", "TLSModel", "Vocabulary", "ATSClient",
                "TLSProbe",
                "ATSDiagnostics", "ATSLint",
                "AppAttest", "DeviceCheckBits", "AppleServices", "DeviceSimulator", "AppleSimulator",
                "TrustService", "TrustTokens", "TrustStores", "TrustStoreContract", "TrustStoresPostgres",
                "SealwardHummingbird", .hummingbird, .crypto, .httpTypes, .lifecycle, .logging,
                .nioCore, .nioPosix, .unixSignals,
            ],
            packageAccess: false,
            swiftSettings: testSettings
        ),
        .testTarget(
            name: "CommandLineTests", dependencies: ["TestSupport", "DeviceSimulator", "sealward"],
            swiftSettings: testSettings),
    ]
)

// One test target by itself, because a release build of all of them takes three quarters of an hour: `make check-histories` needs one.
if let only = Context.environment["SEALWARD_TESTS_OF"] {
    package.targets.removeAll { $0.type == .test && $0.name != only + "Tests" }
}
