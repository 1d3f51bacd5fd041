// swift-tools-version: 6.2
import PackageDescription

// Built by Tools/fuzz/run only: libFuzzer brings the main function, and VAULTFMT_FUZZING makes the root package offer
// what is fuzzed.
let package = Package(
    name: "fuzz",
    dependencies: [.package(name: "vaultfmt", path: "../..")],
    targets: [
        .executableTarget(name: "fuzz-vault", dependencies: [.product(name: "Fuzzing", package: "vaultfmt")]),
        .executableTarget(
            name: "fuzz-import",
            dependencies: [
                .product(name: "Fuzzing", package: "vaultfmt"), .product(name: "ImportFuzzing", package: "vaultfmt"),
            ]),
    ]
)
