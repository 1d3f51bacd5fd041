import Foundation
import TestSupport
import VaultBytes
import VaultStore
import VectorMaking

/// `verify`: all vectors of a folder in one process, for `Tools/mutants`, which runs them a hundred times. Prints the
/// names of those that fail.
enum VerifyCommand {
    static func run(_ folder: String) throws -> Bool {
        let directory = URL(fileURLWithPath: folder, isDirectory: true)
        var vaults: [String: [UInt8]] = [:]
        var isRight = true
        func fail(_ name: String) {
            isRight = false
            // At once: a mutant may end the program.
            print(name)
            flush()
        }
        for url in try files(directory, "vector") {
            let file = try VectorFile(try Array(Data(contentsOf: url)))
            let name = url.deletingPathExtension().lastPathComponent
            vaults[name] = file.vault
            if try !Self.isRight(file) { fail(name) }
        }
        var operations: [(String, VectorFile)] = []
        for url in try files(directory.appendingPathComponent("ops", isDirectory: true), "ops") {
            operations.append(
                (url.deletingPathExtension().lastPathComponent, try VectorFile(try Array(Data(contentsOf: url)))))
        }
        // A base may be another one's result: what is committed, not what is made now.
        for (name, file) in operations { vaults[name] = file.vault }
        for (name, file) in operations where try !isMade(name, file, vaults) { fail("ops/" + name) }
        return isRight
    }

    private static func files(_ directory: URL, _ type: String) throws -> [URL] {
        try FileManager.default.subpathsOfDirectory(atPath: directory.path).filter { $0.hasSuffix("." + type) }.sorted()
            .map { directory.appendingPathComponent($0) }
    }

    private static func isRight(_ file: VectorFile) throws -> Bool {
        let request = try file.request()
        let reading: Reading
        do { reading = try Reading("vault", request, fileSystem: MemoryFileSystem("vault", file.vault)) } catch {
            return false
        }
        let content = reading.dump.isEmpty ? nil : SHA256.hex(Array(reading.dump.map { $0 + "\n" }.joined().utf8))
        return reading.verdict.rawValue == file.first("expect") && content == file.first("content")
    }

    private static func isMade(_ name: String, _ file: VectorFile, _ vaults: [String: [UInt8]]) throws -> Bool {
        guard let base = file.first("base"), let random = file.first("random").flatMap({ Hex.decode($0) }),
            let clock = file.first("clock").flatMap({ Int64($0) })
        else { throw UsageError("ops/\(name): a header that is not whole") }
        var request = ReadRequest()
        if let device = file.first("device") { _ = request.take("device", device) }
        let vector = OperationsVector(
            name: name, spec: "", base: base, random: String(decoding: random, as: UTF8.self), clock: clock,
            device: request.device,
            operations: file.lines.filter { $0.key == "operation" }.map(\.value), comment: "")
        do { return try vector.result(vaults[base]) == file.vault } catch { return false }
    }
}

/// A vector's header and vault.
struct VectorFile {
    let lines: [(key: String, value: String)]
    let vault: [UInt8]

    init(_ bytes: [UInt8]) throws {
        guard let end = bytes.firstRange(of: [10, 10]) else { throw UsageError("a vector without a header") }
        vault = Array(bytes[end.upperBound...])
        lines = try String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\n").map { line in
            guard let colon = line.firstRange(of: ": ") else {
                throw UsageError("a header's line without a value: \(line)")
            }
            return (String(line[..<colon.lowerBound]), String(line[colon.upperBound...]))
        }
    }

    /// How the vault is to be read.
    func request() throws -> ReadRequest {
        var request = ReadRequest()
        for (key, value) in lines where !["vector", "spec", "expect", "content", "comment"].contains(key) {
            guard request.take(key, value) else { throw UsageError("\(key) is unknown, or its value malformed") }
        }
        return request
    }

    func first(_ key: String) -> String? { lines.first { $0.key == key }?.value }
}
