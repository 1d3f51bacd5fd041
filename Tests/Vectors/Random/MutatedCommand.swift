import Foundation
import Fuzzing
import TestSupport
import VaultBytes
import VaultStore
import VectorMaking

/// `corpus`, `mutated` and `resealed`: what fuzzers read, as vectors with this reader's verdict and dump, for another
/// implementation to compare with its own (Tools/exchange).
enum MutatedCommand {
    /// Files may be this large after a mutation; the largest are long in being read by the reference.
    private static let mostBytes = 1 << 16
    private static let mostRecipeBytes = 1 << 15

    /// Writes each entry of the fuzzers' corpus, and each vector that comes apart, sealed again under the fuzzing key.
    static func writeCorpus(_ folder: String) throws {
        let corpus = try FuzzCorpus()
        for entry in corpus.entries {
            let name = entry.name.map { $0.isLetter || $0.isNumber ? String($0) : "-" }.joined()
            if case .fuzzer = entry { try write(try corpus.file(entry), "corpus-" + name, entry.name, folder) }
            // A corpus entry of this target was written already.
            if case .fuzzer(.sealed, _) = entry { continue }
            guard let recipe = try corpus.recipe(entry) else { continue }
            try write(try FuzzCorpus.sealed(recipe), "sealed-" + name, "\(entry.name), sealed again", folder)
        }
    }

    /// Writes mutations of entries that a seed chooses; the same of a seed.
    static func writeMutations(_ arguments: [String]) throws {
        guard arguments.count == 4, let seed = UInt64(arguments[0]), let first = Int(arguments[1]),
            let count = Int(arguments[2])
        else {
            throw ForgeError("mutated takes a seed, the number of the first file, how many, and a folder")
        }
        let corpus = try FuzzCorpus()
        for number in first..<first + count {
            let digits = "\(number)"
            let name = "mutated-" + String(repeating: "0", count: max(0, 5 - digits.count)) + digits
            let (made, source) = try made(number, of: seed, corpus)
            try write(made, name, "\(source), mutation \(number) of seed \(seed)", arguments[3])
        }
    }

    /// Writes random vaults with plaintext altered and sealed again, several mutations of each; the same of a seed.
    static func writeResealed(_ arguments: [String]) throws {
        guard arguments.count == 4, let seed = UInt64(arguments[0]), let first = Int(arguments[1]),
            let count = Int(arguments[2])
        else {
            throw ForgeError("resealed takes a seed, the number of the first file, how many, and a folder")
        }
        var vault: (number: Int, recipe: [UInt8])?
        for number in first..<first + count {
            let base = number / mutationsOfVault
            if vault?.number != base { vault = (base, try randomRecipe(seed, base)) }
            guard let recipe = vault?.recipe else { continue }
            var choices = SeededChoices(seed: seed &+ UInt64(number) &* 0xA24B_AED4_963E_E407)
            var made = try resealed(recipe, most: recipe.count + 4096, &choices)
            bound(&made.request)
            let digits = "\(number)"
            let name = "resealed-" + String(repeating: "0", count: max(0, 5 - digits.count)) + digits
            try write(made, name, "random vault \(base) of seed \(seed), mutation \(number)", arguments[3])
        }
    }

    private static let mutationsOfVault = 4

    /// The first vault of a number that comes apart: half of them have a slot for a raw key.
    private static func randomRecipe(_ seed: UInt64, _ number: Int) throws -> [UInt8] {
        for attempt in 0..<100 {
            if let recipe = try RandomVault(seed, number * 100 + attempt).recipe()?.encoded, recipe.count <= 1 << 18 {
                return recipe
            }
        }
        throw ForgeError("no random vault comes apart")
    }

    /// One of them, and the name of the entry that it is of.
    static func made(_ number: Int, of seed: UInt64, _ corpus: FuzzCorpus) throws -> (FuzzCorpus.Case, String) {
        var choices = SeededChoices(seed: seed &+ UInt64(number) &* 0xD129_0DA1_39F5_C32D)
        var (made, source) = try mutation(corpus, &choices)
        bound(&made.request)
        return (made, source)
    }

    /// A mutation, and the name of the entry that it is of: three of four are of plaintext, where most of a reader's
    /// checks are.
    private static func mutation(_ corpus: FuzzCorpus, _ choices: inout SeededChoices) throws -> (
        FuzzCorpus.Case, String
    ) {
        let entries = corpus.entries
        var entry = entries[choices.below(entries.count)]
        guard choices.below(4) > 0 else { return (try altered(entry, corpus, &choices), entry.name) }
        // About half of the entries come apart.
        for _ in 0..<8 {
            if let recipe = try corpus.recipe(entry) {
                return (try resealed(recipe, most: mostRecipeBytes, &choices), entry.name)
            }
            entry = entries[choices.below(entries.count)]
        }
        return (try altered(entry, corpus, &choices), entry.name)
    }

    // MARK: mutations

    /// A mutated recipe, sealed: what somebody who has the keys can make.
    private static func resealed(_ recipe: [UInt8], most: Int, _ choices: inout SeededChoices) throws -> FuzzCorpus.Case
    {
        let seed = choices.next()
        let mutation = recipe.withUnsafeBytes { input in
            FuzzTarget.sealed.mutation(of: input, most: most, seed: seed) {
                ByteMutation.mutate(&$0, most: $1, &choices)
            }
        }
        var made = try FuzzCorpus.sealed(mutation ?? recipe)
        if choices.below(5) == 0 { made.request.device = nil }
        if choices.below(2) == 0 { made.request.anchor = try anchor(try FuzzCorpus.sealed(recipe), &choices) }
        return made
    }

    /// A file whose bytes are altered, or joined with another's, by somebody without a key.
    private static func altered(_ entry: FuzzCorpus.Entry, _ corpus: FuzzCorpus, _ choices: inout SeededChoices) throws
        -> FuzzCorpus.Case
    {
        var made = try corpus.file(entry)
        if made.request.anchor == nil, choices.below(3) == 0 { made.request.anchor = try anchor(made, &choices) }
        if choices.below(6) == 0 {
            let other = corpus.entries[choices.below(corpus.entries.count)]
            made.bytes = ByteMutation.splice(made.bytes, try corpus.file(other).bytes, &choices)
        }
        // What is altered in the header ends the reading there, mostly; so more often it is what follows.
        let length = headerLength(made.bytes)
        let start = choices.below(4) == 0 ? 0 : length
        for _ in 0..<1 + choices.below(3) {
            var rest = Array(made.bytes.dropFirst(start))
            ByteMutation.mutate(&rest, most: mostBytes, &choices)
            made.bytes = made.bytes.prefix(start) + rest
        }
        return made
    }

    private static func headerLength(_ bytes: [UInt8]) -> Int {
        guard bytes.count >= 16 else { return 0 }
        do throws(FormatError) { return min(try Header.length(bytes.span), bytes.count) } catch { return 0 }
    }

    /// What the unaltered file's state is, or another chain value, key or row; nil if it does not open.
    private static func anchor(_ base: FuzzCorpus.Case, _ choices: inout SeededChoices) throws
        -> ReadRequest.Anchor?
    {
        let dump = try Reading("vault", base.request, fileSystem: MemoryFileSystem("vault", base.bytes)).dump
        guard let chain = hash("chain", in: dump), let owner = hash("owner", in: dump) else { return nil }
        var rows: [Vector.Row] = []
        for line in dump where line.hasPrefix("row ") {
            let words: [Substring] = line.split(separator: " ")
            guard words.count > 2, let id = UInt64(words[1]), let revision = UInt64(words[2]) else { continue }
            rows.append(Vector.Row(id, revision))
        }
        guard !rows.isEmpty else { return nil }
        let other = Bytes32(choices.bytes(32)) ?? .zero
        let index = choices.below(rows.count)
        let choice = choices.below(6)
        switch choice {
        case 0: rows[index].revision -= 1
        case 1: rows[index].revision += 1
        case 2: rows.append(Vector.Row(1, 1))
        default: break
        }
        guard let vector = Vector(floor: 0, rows: rows.filter { $0.revision > 0 }) else { return nil }
        return .init(owner: choice == 3 ? other : owner, chain: choice == 4 ? chain : other, vector: vector)
    }

    /// The hash in the line of a dump that begins with this word.
    private static func hash(_ word: String, in dump: [String]) -> Bytes32? {
        guard let line = dump.first(where: { $0.hasPrefix(word + " ") }) else { return nil }
        let text: String = String(line.dropFirst(word.count + 1))
        guard let bytes: [UInt8] = Hex.decode(text) else { return nil }
        return Bytes32(bytes)
    }

    /// A mutated slot may not cost the readers gigabytes; what a vector says of limits holds.
    private static func bound(_ request: inout ReadRequest) {
        for (limit, value) in [(ReadRequest.Limit.memory, UInt64(1) << 15), (.total, 1 << 17)]
        where request.limits[limit] == nil {
            request.limits[limit] = value
        }
    }

    // MARK: writing

    private static func write(_ made: FuzzCorpus.Case, _ name: String, _ comment: String, _ folder: String) throws {
        let reading: Reading
        do {
            reading = try Reading("vault", made.request, fileSystem: MemoryFileSystem("vault", made.bytes))
        } catch { throw UsageError("\(name) (\(comment)) is not read but fails: \(error.code): \(error)") }
        let vector = ConformanceVector(
            name: name, folder: "", spec: "R-11.1", expect: reading.verdict, request: made.request, comment: comment,
            file: made.bytes)
        try Data(try vector.encode(dump: reading.dump)).write(to: URL(fileURLWithPath: folder + "/" + name + ".vector"))
    }
}
