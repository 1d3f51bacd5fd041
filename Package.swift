// swift-tools-version: 6.2
import PackageDescription

// Three switches, each of something that the command line cannot say without touching the dependencies as well.
//
// Tools/test makes warnings errors. Others do not: a later compiler may warn of what this one does not.
let isStrict = Context.environment["VAULTFMT_STRICT"] != nil
let strict: [SwiftSetting] = isStrict ? [.treatAllWarnings(as: .error)] : []
let strictC: [CSetting] = isStrict ? [.treatAllWarnings(as: .error)] : []

// As released, what serves a person at a terminal is built for size; what reads and writes vaults, for speed.
let isRelease = Context.environment["VAULTFMT_RELEASE"] != nil
let forSize: [SwiftSetting] = isRelease ? [.unsafeFlags(["-Osize"])] : []

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
// What Tools/bench measures: built as everything that is released, and only then.
let measured: [Target] =
    isRelease
    ? [.executableTarget(name: "bench", dependencies: ["VaultFmt"], path: "Tools/benchmark/Sources/bench")]
    : []
// Code that is compiled as it was found.
let swift5: [SwiftSetting] = [.swiftLanguageMode(.v5)]

// More than 30 targets, for these reasons: a C library is a target (4), C code cannot share one with Swift (6), each
// layer and each product is a module (20), each layer has its tests (12), a program that a test starts is a target (7),
// and so is code in another Swift (4). What they share is in four more.
let package = Package(
    name: "vaultfmt",
    products: [
        .library(name: "VaultFmt", targets: ["VaultFmt"]),
        .library(name: "VaultLocal", targets: ["VaultLocal"]),
        .library(name: "VaultAge", targets: ["VaultAge"]),
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
        // Libraries that only other password managers' files need: loaded when one is read, and not linked, but for
        // libargon2, which every vault needs.
        .target(
            name: "CInterchange", path: "Sources/C/CInterchange", cSettings: strictC,
            linkerSettings: [.linkedLibrary("argon2")]),

        // libsystemd's D-Bus, which only the Secret Service needs: loaded when it is served, and not linked.
        .target(name: "CUserBus", path: "Sources/C/CUserBus", cSettings: strictC),

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
        // age's recipients and identities as keys of slots. It needs swift-crypto.
        .target(
            name: "VaultAge",
            dependencies: [
                "VaultFmt", "VaultStore", "VaultCrypto", "VaultBytes", "CSodium", "CVaultShim",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings),
        // The C interface: the header is the contract, in CVaultFmt; VaultC implements it.
        .target(name: "CVaultFmt", path: "Sources/C/CVaultFmt", cSettings: strictC),
        .target(
            name: "VaultC", dependencies: ["CVaultFmt", "VaultBytes", "VaultFmt", "VaultLocal", "VaultStore"],
            path: "Sources/C/VaultC", swiftSettings: settings
        ),

        // The Keychain's APIs. KeychainCore is beneath all three, and no product.
        .target(
            name: "KeychainCore", dependencies: ["VaultBytes", "VaultStore", "VaultFmt", "VaultLocal"],
            path: "Sources/Keychain/Core",
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

        // Other programs' files: what reads them into items, and writes items into them. Without a terminal or processes,
        // so that its parsers can be fuzzed.
        .target(
            name: "VaultExchange",
            dependencies: [
                "VaultBytes", "VaultFmt", "VaultLocal", "CCSV", "CVaultShim", "CInterchange",
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ],
            swiftSettings: settings + forSize),
        // The ssh agent: its protocol, the keys of vaults, its server. Without a terminal and without options.
        .target(
            name: "VaultAgent",
            dependencies: [
                "VaultBytes", "VaultCrypto", "VaultFmt", "VaultLocal", "VaultExchange", "CVaultShim",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ],
            swiftSettings: settings + forSize),
        // The Secret Service of the desktop, as part of the agent: its protocol, its items, its connection to the bus.
        .target(
            name: "VaultSecretService",
            dependencies: [
                "VaultBytes", "VaultCrypto", "VaultFmt", "VaultLocal", "VaultExchange", "VaultAgent", "CVaultShim",
                "CInterchange", "CUserBus", .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings + forSize),
        // The command's dealings with a person and the system: the terminal, processes, files, failures and their exit
        // codes, and how vaults and items are shown.
        .target(
            name: "VaultConsole",
            dependencies: [
                "VaultBytes", "VaultFmt", "VaultLocal", "VaultAge", "VaultExchange", "VaultAgent", "CVaultShim",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings + forSize),
        // What the commands' arguments mean: the options that several commands share, the vaults, factors, items and
        // secrets that they name.
        .target(
            name: "VaultArguments",
            dependencies: [
                "VaultConsole", "VaultBytes", "VaultFmt", "VaultLocal", "VaultAge", "VaultExchange", "VaultAgent",
                "CVaultShim", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings + forSize),
        // References to secrets in configuration files and environments, and the commands that fill them in.
        .target(
            name: "VaultReferences",
            dependencies: [
                "VaultArguments", "VaultConsole", "VaultFmt", "VaultLocal", "VaultExchange", "CVaultShim",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings + forSize),
        // Copies of a vault on several machines: the commands that compare and merge them, also through git.
        .target(
            name: "VaultSync",
            dependencies: [
                "VaultArguments", "VaultConsole", "VaultFmt", "VaultLocal", "VaultExchange", "CVaultShim",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings + forSize),
        // A library, so that tests can call its parts; the program beside it only calls it.
        .target(
            name: "VaultCommand",
            dependencies: [
                "VaultConsole", "VaultArguments", "VaultReferences", "VaultSync", "VaultBytes", "VaultFmt",
                "VaultLocal", "VaultAge", "VaultExchange", "VaultAgent", "VaultSecretService", "CVaultShim",
                "CInterchange", "CVaultPage",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings + forSize),
        // The page that opens a vault in a browser, as Tools/page/assemble makes it of Sources/Page.
        .target(name: "CVaultPage", path: "Sources/C/CVaultPage", cSettings: strictC),
        .executableTarget(
            name: "VaultCommandMain", dependencies: ["VaultCommand", "CVaultStart"], swiftSettings: settings),
        // What the program checks before the Swift runtime is initialised.
        .target(name: "CVaultStart", path: "Sources/C/CVaultStart", cSettings: strictC),

        .testTarget(name: "VaultBytesTests", dependencies: ["VaultBytes", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "VaultCryptoTests", dependencies: ["VaultCrypto", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "VaultStoreTests", dependencies: ["VaultStore", "TestSupport", "CTestSupport"], swiftSettings: strict),
        .testTarget(
            name: "VaultFmtTests",
            dependencies: ["VaultFmt", "Fuzzing", "TestSupport", "CTestSupport", "ForkingProgram"],
            exclude: ["Causality/cases.json"], swiftSettings: strict),
        .testTarget(
            name: "VaultLocalTests", dependencies: ["VaultLocal", "TestSupport", "CTestSupport"], swiftSettings: strict),
        .testTarget(
            name: "VaultAgeTests",
            dependencies: [
                "VaultAge", "VaultLocal", "VaultFmt", "VaultStore", "VaultCrypto", "VaultBytes", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            exclude: ["CCTV", "Programs"], swiftSettings: strict),
        .testTarget(
            name: "VaultAgentTests",
            dependencies: [
                "VaultAgent", "VaultExchange", "VaultLocal", "VaultFmt", "VaultCrypto", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "SecretServiceTests",
            dependencies: ["VaultSecretService", "VaultAgent", "VaultExchange", "VaultFmt", "TestSupport"],
            swiftSettings: strict),
        // They share one vault in use a process, so they are one suite; what needs a process of its own is in the
        // programs.
        .testTarget(
            name: "KeychainTests",
            dependencies: [
                "KeychainAccess", "SecItem", "KeychainStores", "KeychainCore", "VaultAge", "VaultLocal", "TestSupport",
                "CSodium",
                "KeychainProgram", "SeedProgram", "Wrappers", .product(name: "Logging", package: "swift-log"),
                .product(name: "InMemoryLogging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "VaultCommandTests",
            dependencies: [
                "VaultCommand", "VaultReferences", "VaultArguments", "VaultConsole", "VaultCommandMain",
                "VaultExchange", "ImportFuzzing", "VaultAge", "VaultFmt", "VaultCrypto", "VaultBytes", "TestSupport",
                "CTestSupport",
            ],
            exclude: [
                "Programs/git_server.py", "Programs/logind.py", "Programs/manager.py", "Programs/plain_secrets.py",
                "Samples",
            ],
            swiftSettings: settings),
        // What is written is so: the specification (against Spec/reference, which was written from it alone), the
        // README's example, the articles' code, the C header's numbers. The rest of the C interface is tested from C:
        // Tests/C.
        .testTarget(
            name: "DocumentTests",
            dependencies: ["VaultFmt", "VaultC", "CVaultFmt", "vectors", "ReadmeExample", "TestSupport"],
            swiftSettings: strict),
        // It replays the corpora of Tools/fuzz.
        .testTarget(name: "FuzzingTests", dependencies: ["Fuzzing", "ImportFuzzing"], swiftSettings: strict),

        // What tests, vectors, harness and fuzzing share: numbers that a seed repeats, folders, a file system in
        // memory, and the forge, which makes, takes apart and alters vaults.
        .target(
            name: "TestSupport", dependencies: ["VaultBytes", "VaultCrypto", "VaultStore", "CTestSupport"],
            path: "Tests/Support/Swift", swiftSettings: settings),
        .target(name: "CTestSupport", path: "Tests/Support/C", cSettings: strictC),

        // What Tools/fuzz feeds with bytes, and round-trip with seeds. Two targets: the tests of the library use the
        // first, and the second needs swift-crypto and the libraries of other programs' formats.
        .target(
            name: "Fuzzing", dependencies: ["TestSupport", "VaultFmt", "VaultStore", "VaultCrypto", "VaultBytes"],
            path: "Tests/Fuzzing", swiftSettings: settings),
        .target(
            name: "ImportFuzzing",
            dependencies: [
                "Fuzzing", "TestSupport", "CTestSupport", "VaultExchange", "VaultAge", "VaultAgent",
                "VaultSecretService", "VaultFmt", "VaultStore", "VaultCrypto", "VaultBytes",
            ],
            path: "Tests/ImportFuzzing", swiftSettings: settings),

        // Makes the conformance vectors, and answers the runner for this implementation (Spec/vectors/README.md). Two
        // targets: Tools/mutants links the first into a program of its own.
        .target(
            name: "VectorMaking", dependencies: ["TestSupport", "VaultBytes", "VaultCrypto", "CSodium"],
            path: "Tests/Vectors/Making", swiftSettings: settings),
        .executableTarget(
            name: "vectors",
            dependencies: [
                "VectorMaking", "TestSupport", "Fuzzing", "VaultAge", "VaultFmt", "VaultBytes", "VaultCrypto",
                "VaultStore", "CSodium",
            ],
            path: "Tests/Vectors", exclude: ["Making"], swiftSettings: settings),

        // What Tools/harness runs: crashes, faults, kills and whatever else a test of one process cannot show.
        .executableTarget(
            name: "harness",
            dependencies: [
                "TestSupport", "VaultLocal", "VaultFmt", "VaultStore", "VaultCrypto", "VaultBytes", "CTestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tests/Harness",
            exclude: [
                "Clients", "Hosts/run", "Hosts/host.c", "Hosts/host.py",
                "Scopes/attacker.py", "Scopes/forging.py", "Terminal/recording_server.py",
            ],
            swiftSettings: settings),

        // Programs that tests run, in Tests/Programs: a process of its own is what they test, so each is a target.
        .executableTarget(
            name: "ReadmeExample", dependencies: ["VaultFmt"], path: "Tests/Programs/ReadmeExample",
            swiftSettings: strict),
        .executableTarget(
            name: "ForkingProgram", dependencies: ["VaultFmt", "VaultStore", "CTestSupport"],
            path: "Tests/Programs/ForkingProgram",
            swiftSettings: settings),
        .executableTarget(
            name: "round-trip",
            dependencies: ["Fuzzing", .product(name: "ArgumentParser", package: "swift-argument-parser")],
            path: "Tests/Programs/RoundTrip", swiftSettings: settings),
        .executableTarget(
            name: "KeychainProgram", dependencies: ["KeychainAccess", "SecItem", "VaultAge", "VaultFmt", "VaultLocal"],
            path: "Tests/Programs/KeychainProgram", swiftSettings: settings),
        // Snippets of programs written for Apple's Keychain, in the Swift that they are in, and a program that runs
        // them; three modules, since three of the snippets declare the same names. Wrappers in the style of well-known
        // ones are used by KeychainTests, and not by the program.
        .target(
            name: "SeedsOne",
            dependencies: [
                "KeychainAccess", "KeychainStores", "SecItem", .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Programs/Seeds/One", swiftSettings: swift5),
        .target(
            name: "SeedsTwo", dependencies: ["KeychainAccess", "SecItem"], path: "Tests/Programs/Seeds/Two",
            swiftSettings: swift5),
        .target(
            name: "SeedsThree", dependencies: ["KeychainAccess"], path: "Tests/Programs/Seeds/Three",
            swiftSettings: swift5),
        .executableTarget(
            name: "SeedProgram", dependencies: ["SeedsOne", "SeedsTwo", "SeedsThree", "KeychainAccess"],
            path: "Tests/Programs/SeedProgram", swiftSettings: swift5),
        .target(
            name: "Wrappers", dependencies: ["SecItem"], path: "Tests/Programs/Wrappers", exclude: ["README.md"],
            swiftSettings: swift5),
    ] + measured
)

// What `Tools/harness sanitizers` builds: the library and its tests, without the command and all that only it needs.
if Context.environment["VAULTFMT_LIBRARY_ONLY"] != nil {
    let kept: Set = [
        "CSodium", "CArgon2", "CUtf8proc", "CVaultShim", "VaultBytes", "VaultCrypto", "VaultStore", "VaultFmt",
        "VaultLocal", "VaultAge", "TestSupport", "CTestSupport", "Fuzzing", "ForkingProgram", "VectorMaking", "vectors",
        "VaultBytesTests",
        "VaultCryptoTests", "VaultStoreTests", "VaultFmtTests", "VaultLocalTests",
    ]
    package.targets.removeAll { !kept.contains($0.name) }
    package.products.removeAll { $0.name != "VaultFmt" }
    // VaultAge needs swift-crypto, which needs swift-asn1.
    package.dependencies.removeAll { dependency in
        guard case .sourceControl(_, let location, _) = dependency.kind else { return true }
        return !location.hasSuffix("/swift-crypto") && !location.hasSuffix("/swift-asn1")
    }
}
