// swift-tools-version: 6.2
import PackageDescription

// Tools/test makes warnings errors. Others do not: a later compiler may warn of what this one does not.
let isStrict = Context.environment["VAULTFMT_STRICT"] != nil
let strict: [SwiftSetting] = isStrict ? [.treatAllWarnings(as: .error)] : []
let strictC: [CSetting] = isStrict ? [.treatAllWarnings(as: .error)] : []

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ] + strict

// What Tools/fuzz links, and nobody else sees.
let fuzzing: [Product] =
    Context.environment["VAULTFMT_FUZZING"] != nil
    ? [.library(name: "Fuzzing", targets: ["Fuzzing"]), .library(name: "ImportFuzzing", targets: ["ImportFuzzing"])]
    : []
// Code that is compiled as it was found.
let swift5: [SwiftSetting] = [.swiftLanguageMode(.v5)]

let package = Package(
    name: "vaultfmt",
    products: [
        .library(name: "VaultFmt", targets: ["VaultFmt"]),
        .library(name: "VaultLocal", targets: ["VaultLocal"]),
        .library(name: "KeychainAccess", targets: ["KeychainAccess"]),
        .library(name: "SecItem", targets: ["SecItem"]),
        .library(name: "KeychainStores", targets: ["KeychainStores"]),
        .executable(name: "vaultfmt", targets: ["VaultCommandMain"]),
        // What Tools/c/install makes the shared library of.
        .library(name: "vaultfmt-c", type: .static, targets: ["VaultC"]),
    ] + fuzzing,
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    ],
    targets: [
        .systemLibrary(
            name: "CSodium", path: "Sources/C/CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(
            name: "CArgon2", path: "Sources/C/CArgon2", pkgConfig: "libargon2", providers: [.apt(["libargon2-dev"])]),
        // Without pkg-config: Debian's file for it names a macro that SwiftPM refuses with a warning, and no path.
        .systemLibrary(name: "CUtf8proc", path: "Sources/C/CUtf8proc", providers: [.apt(["libutf8proc-dev"])]),
        .systemLibrary(name: "CCSV", path: "Sources/C/CCSV", providers: [.apt(["libcsv-dev"])]),
        .target(name: "CVaultShim", path: "Sources/C/CVaultShim", cSettings: strictC),

        .target(name: "VaultBytes", swiftSettings: settings),
        .target(
            name: "VaultCrypto", dependencies: ["VaultBytes", "CSodium", "CArgon2", "CUtf8proc", "CVaultShim"],
            swiftSettings: settings),
        .target(
            name: "VaultStore", dependencies: ["VaultBytes", "VaultCrypto", "CVaultShim"], swiftSettings: settings),
        .target(name: "VaultFmt", dependencies: ["VaultBytes", "VaultCrypto", "VaultStore"], swiftSettings: settings),
        // What a machine does about vaults: its places, factors, device, memory of states, unlocked vaults.
        .target(
            name: "VaultLocal", dependencies: ["VaultFmt", "VaultStore", "VaultCrypto", "VaultBytes", "CVaultShim"],
            swiftSettings: settings
        ),
        // The C interface: the header is the contract, in CVaultFmt; VaultC implements it.
        .target(name: "CVaultFmt", path: "Sources/C/CVaultFmt", cSettings: strictC),
        .target(
            name: "VaultC", dependencies: ["CVaultFmt", "VaultBytes", "VaultFmt", "VaultLocal"],
            path: "Sources/C/VaultC", swiftSettings: settings
        ),

        // The Keychain's APIs. KeychainCore is beneath all three, and no product.
        .target(
            name: "KeychainCore", dependencies: ["VaultFmt", "VaultLocal"], path: "Sources/Keychain/Core",
            swiftSettings: settings),
        .target(
            name: "KeychainAccess", dependencies: ["KeychainCore", "VaultFmt"], path: "Sources/Keychain/Access",
            swiftSettings: settings),
        .target(
            name: "SecItem", dependencies: ["KeychainCore", "VaultFmt"], path: "Sources/Keychain/SecItem",
            swiftSettings: settings),
        .target(
            name: "KeychainStores",
            dependencies: [
                "KeychainAccess", "SecItem", "KeychainCore", .product(name: "Logging", package: "swift-log"),
            ], path: "Sources/Keychain/Stores",
            swiftSettings: settings),

        // A library, so that its parsers can be fuzzed; the program beside it only calls it.
        .target(
            name: "VaultCommand",
            dependencies: [
                "VaultFmt", "VaultLocal", "CCSV", "CVaultShim",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "VaultCommandMain", dependencies: ["VaultCommand", "CVaultStart"], swiftSettings: settings),
        // What the program checks before the Swift runtime is initialised.
        .target(name: "CVaultStart", path: "Sources/C/CVaultStart", cSettings: strictC),

        .testTarget(name: "VaultBytesTests", dependencies: ["VaultBytes"], swiftSettings: strict),
        .testTarget(name: "VaultCryptoTests", dependencies: ["VaultCrypto"], swiftSettings: strict),
        .testTarget(
            name: "VaultStoreTests", dependencies: ["VaultStore", "VaultCrypto", "VaultBytes", "CTestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "VaultLocalTests",
            dependencies: [
                "VaultLocal", "VaultForge", "VaultFmt", "VaultStore", "VaultCrypto", "VaultBytes", "CTestSupport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "VaultFmtTests", dependencies: ["VaultFmt", "Fuzzing", "MemoryFiles", "CTestSupport"],
            swiftSettings: strict),

        // The rest of the C interface is tested from C: Tests/C.
        .testTarget(name: "VaultCTests", dependencies: ["VaultC", "CVaultFmt", "VaultFmt"], swiftSettings: strict),

        // What Tools/fuzz feeds with bytes, and round-trip with seeds; the tests replay its corpus.
        .target(
            name: "Fuzzing",
            dependencies: ["VaultForge", "MemoryFiles", "VaultFmt", "VaultStore", "VaultCrypto", "VaultBytes"],
            path: "Tests/Fuzzing",
            swiftSettings: settings),
        .target(
            name: "ImportFuzzing",
            dependencies: [
                "Fuzzing", "VaultForge", "MemoryFiles", "CTestSupport", "VaultCommand", "VaultFmt", "VaultStore",
                "VaultCrypto",
            ],
            path: "Tests/ImportFuzzing", swiftSettings: settings),
        .executableTarget(
            name: "round-trip",
            dependencies: ["Fuzzing", .product(name: "ArgumentParser", package: "swift-argument-parser")],
            path: "Tests/RoundTrip", swiftSettings: settings),

        .testTarget(name: "FuzzingTests", dependencies: ["Fuzzing", "ImportFuzzing"], swiftSettings: strict),
        // The snippets of programs written for Apple's Keychain (Tests/Seeds), in the Swift that they are in, and a
        // program that runs them.
        .target(name: "SeedUser", dependencies: ["KeychainAccess"], path: "Tests/Seeds/User", swiftSettings: swift5),
        .target(
            name: "SeedStore",
            dependencies: ["KeychainStores", "SecItem", .product(name: "Logging", package: "swift-log")],
            path: "Tests/Seeds/Store", swiftSettings: swift5),
        .target(
            name: "SeedFirstRun", dependencies: ["KeychainAccess"], path: "Tests/Seeds/FirstRun", swiftSettings: swift5),
        .target(name: "SeedToken", dependencies: ["KeychainAccess"], path: "Tests/Seeds/Token", swiftSettings: swift5),
        .target(
            name: "SeedHelperSave", dependencies: ["SecItem"], path: "Tests/Seeds/HelperSave", swiftSettings: swift5),
        .target(name: "SeedHelper", dependencies: ["SecItem"], path: "Tests/Seeds/Helper", swiftSettings: swift5),
        .executableTarget(
            name: "SeedProgram",
            dependencies: [
                "SeedUser", "SeedStore", "SeedFirstRun", "SeedToken", "SeedHelperSave", "SeedHelper", "KeychainAccess",
            ],
            path: "Tests/SeedProgram", swiftSettings: swift5),
        .testTarget(name: "SeedTests", dependencies: ["SeedProgram"], swiftSettings: strict),

        // They share one vault in use a process, so they are one suite; what needs a process of its own is in the
        // program.
        .executableTarget(
            name: "KeychainProgram", dependencies: ["KeychainAccess", "SecItem", "VaultFmt", "VaultLocal"],
            path: "Tests/KeychainProgram",
            swiftSettings: settings),
        // Wrappers in the style of well-known ones, in the Swift that such code is in; KeychainTests uses them.
        .target(
            name: "Wrappers", dependencies: ["SecItem"], path: "Tests/Wrappers", exclude: ["README.md"],
            swiftSettings: swift5),
        .testTarget(
            name: "KeychainTests",
            dependencies: [
                "Wrappers", "KeychainAccess", "SecItem", "KeychainStores", "KeychainCore", "VaultLocal", "VaultFmt",
                "VaultStore",
                "VaultCrypto", "VaultBytes",
                "CSodium", "KeychainProgram",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "InMemoryLogging", package: "swift-log"),
            ],
            swiftSettings: strict),

        .target(name: "CTestSupport", path: "Tests/CTestSupport", cSettings: strictC),
        .testTarget(
            name: "VaultCommandTests",
            dependencies: [
                "VaultCommand", "VaultCommandMain", "VaultFmt", "VaultCrypto", "VaultBytes", "CTestSupport",
            ],
            exclude: ["Programs/git_server.py"],
            swiftSettings: settings),

        // What Tools/harness runs: crashes, faults, kills and whatever else a test of one process cannot show.
        .executableTarget(
            name: "harness",
            dependencies: [
                "VaultForge", "MemoryFiles", "VaultLocal", "VaultFmt", "VaultStore", "VaultCrypto", "VaultBytes",
                "CTestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tests/Harness",
            exclude: [
                "Clients/run", "Clients/smtp_server.py", "Hosts/run", "Hosts/host.c", "Hosts/host.py",
                "Scopes/attacker.py",
                "Scopes/forging.py",
                "Terminal/recording_server.py",
            ],
            swiftSettings: settings),

        // The README's example, which a test builds and runs.
        .executableTarget(
            name: "ReadmeExample", dependencies: ["VaultFmt"], path: "Tests/ReadmeExample", swiftSettings: strict),
        .testTarget(name: "ReadmeTests", dependencies: ["ReadmeExample"], swiftSettings: strict),

        // Makes, takes apart and alters vaults, for vectors, harness and fuzzing.
        .target(
            name: "VaultForge", dependencies: ["VaultBytes", "VaultCrypto"], path: "Tests/VaultForge",
            swiftSettings: settings),
        // A file system of bytes in memory, with a clock that is set.
        .target(
            name: "MemoryFiles", dependencies: ["VaultStore", "VaultBytes"], path: "Tests/MemoryFiles",
            swiftSettings: settings),

        // Makes the conformance vectors, and answers the runner for this implementation (Spec/vectors/README.md).
        .target(
            name: "VectorMaking", dependencies: ["VaultForge", "VaultBytes", "VaultCrypto", "CSodium"],
            path: "Tests/Vectors/Making",
            swiftSettings: settings),
        .executableTarget(
            name: "vectors",
            dependencies: [
                "VectorMaking", "MemoryFiles", "Fuzzing", "VaultForge", "VaultFmt", "VaultBytes", "VaultCrypto",
                "VaultStore", "CSodium",
            ],
            path: "Tests/Vectors", exclude: ["Making"],
            swiftSettings: settings),

        // They compare the library with Spec/reference, which was written from the specification alone.
        .testTarget(name: "SpecTests", dependencies: ["VaultFmt", "vectors"], swiftSettings: strict),
    ]
)

// What `Tools/harness sanitizers` builds: the library and its tests, without the command and all that only it needs.
if Context.environment["VAULTFMT_LIBRARY_ONLY"] != nil {
    let kept: Set = [
        "CSodium", "CArgon2", "CUtf8proc", "CVaultShim", "VaultBytes", "VaultCrypto", "VaultStore", "VaultFmt",
        "VaultLocal", "VaultForge",
        "MemoryFiles",
        "VectorMaking", "vectors", "Fuzzing", "CTestSupport", "VaultBytesTests", "VaultCryptoTests", "VaultStoreTests",
        "VaultFmtTests", "VaultLocalTests",
    ]
    package.targets.removeAll { !kept.contains($0.name) }
    package.products.removeAll { $0.name != "VaultFmt" }
    package.dependencies = []
}
