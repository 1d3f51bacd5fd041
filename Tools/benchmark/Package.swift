// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "bench",
    dependencies: [.package(name: "vaultfmt", path: "../..")],
    targets: [
        .executableTarget(name: "bench", dependencies: [.product(name: "VaultFmt", package: "vaultfmt")])
    ]
)
