import Foundation
import Fuzzing
import TestSupport
import VaultBytes
import VectorMaking

/// What vaults are made of to compare readers: the fuzzers' corpus and the conformance vectors, in the repository's
/// folder.
final class FuzzCorpus {
    enum Entry {
        case fuzzer(FuzzTarget, URL)
        case vector(URL)

        /// As a part of a vector's comment.
        var name: String {
            switch self {
            case .fuzzer(let target, let url): return "\(target.rawValue)/\(url.lastPathComponent)"
            case .vector(let url): return url.lastPathComponent
            }
        }
    }

    /// A file, and how it is read.
    struct Case {
        var bytes: [UInt8]
        var request: ReadRequest
    }

    let entries: [Entry]
    /// What was read of them, by name.
    private var files: [String: Case] = [:]
    private var recipes: [String: [UInt8]?] = [:]

    init() throws {
        var all: [Entry] = []
        for target in FuzzTarget.allCases {
            all += try Self.files("Tools/fuzz/corpus/" + target.rawValue) { !$0.hasDirectoryPath }.map {
                .fuzzer(target, $0)
            }
        }
        // Larger ones say nothing more, and take long.
        let vectors = try Self.files("Spec/vectors") {
            try $0.pathExtension == "vector" && $0.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0 <= 1 << 16
        }
        guard !all.isEmpty, !vectors.isEmpty else {
            throw UsageError("there are no vectors, or no corpus: run this in the repository's folder")
        }
        entries = all + vectors.map { .vector($0) }
    }

    private static func files(_ folder: String, _ isChosen: (URL) throws -> Bool) throws -> [URL] {
        let directory = URL(fileURLWithPath: folder, isDirectory: true)
        return try FileManager.default.subpathsOfDirectory(atPath: directory.path).map {
            directory.appendingPathComponent($0)
        }
        .filter(isChosen).sorted { $0.path < $1.path }
    }

    /// An entry as a file: a fuzzer's as its target makes it, a vector's vault as it is.
    func file(_ entry: Entry) throws -> Case {
        if let known = files[entry.name] { return known }
        let file = try Self.readFile(entry)
        files[entry.name] = file
        return file
    }

    private static func readFile(_ entry: Entry) throws -> Case {
        switch entry {
        case .fuzzer(let target, let url):
            let made = try target.file(try bytes(url))
            return Case(bytes: made.bytes, request: request(rawKey: made.rawKey))
        case .vector(let url):
            let vector = try VectorFile(try bytes(url))
            return Case(bytes: vector.vault, request: try vector.request())
        }
    }

    /// An entry as an input of the target `sealed`, a recipe; nil if it does not come apart.
    func recipe(_ entry: Entry) throws -> [UInt8]? {
        if let known = recipes[entry.name] { return known }
        let recipe = try Self.readRecipe(entry)
        recipes[entry.name] = .some(recipe)
        return recipe
    }

    private static func readRecipe(_ entry: Entry) throws -> [UInt8]? {
        switch entry {
        case .fuzzer(.sealed, let url): return try bytes(url)
        case .fuzzer(.operations, _): return nil
        case .fuzzer(.open, let url):
            let vault = try bytes(url)
            return Recipe(taking: vault, rawKey: try FuzzTarget.open.file(vault).rawKey)?.encoded
        case .vector(let url): return FuzzTarget.sealed.seed(from: try bytes(url))
        }
    }

    /// What a recipe is once it is sealed.
    static func sealed(_ recipe: [UInt8]) throws -> Case {
        let made = try FuzzTarget.sealed.file(recipe)
        return Case(bytes: made.bytes, request: request(rawKey: made.rawKey))
    }

    private static func request(rawKey: [UInt8]) -> ReadRequest {
        var request = ReadRequest.raw(rawKey)
        request.device = FuzzFile.device
        return request
    }

    private static func bytes(_ url: URL) throws -> [UInt8] { Array(try Data(contentsOf: url)) }
}
