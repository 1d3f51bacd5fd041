// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that nothing else of the repository needs swift-syntax.
let package = Package(
    name: "mutating",
    dependencies: [.package(url: "https://github.com/swiftlang/swift-syntax", from: "602.0.0")],
    targets: [
        .executableTarget(
            name: "mutate",
            dependencies: [
                .product(name: "SwiftSyntax", package: "swift-syntax"),
                .product(name: "SwiftParser", package: "swift-syntax"),
                .product(name: "SwiftOperators", package: "swift-syntax"),
            ])
    ]
)
