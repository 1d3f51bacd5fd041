import Foundation
import Testing
import VaultFmt

/// The two implementations' `check` (Spec/vectors/README.md): the library's, and the reference, which was written from
/// the specification alone.
enum Readers {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let reference = root.appendingPathComponent("Spec/reference/run")
    /// Beside the bundle of the tests, or above it, as `swift test` lays it out.
    private static let library = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        .deletingLastPathComponent()
        .appendingPathComponent("vectors")

    /// The reference's verdict and dump; the library's must be the same.
    static func check(_ path: String, _ arguments: [String]) throws -> [String] {
        let read = try run(reference, ["check"] + arguments + [path])
        let same = try run(library, ["check"] + arguments + [path]) == read
        #expect(same, "the library reads \(path) otherwise")
        return read.split(separator: "\n").map { String($0) }
    }

    static func reference(_ arguments: [String]) throws -> String { try run(reference, arguments) }

    /// What a command prints; it must succeed.
    static func run(_ command: URL, _ arguments: [String], environment: [String: String] = [:]) throws -> String {
        let process = Process()
        process.executableURL = command
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(command.lastPathComponent) \(arguments)")
        return String(decoding: bytes, as: UTF8.self)
    }

    static func hex(_ bytes: [UInt8]) -> String { bytes.map { String(format: "%02x", $0) }.joined() }
}
