import Foundation
import Fuzzing
import ImportFuzzing
import Testing

/// What Tools/fuzz starts from, and what it once failed on, runs again here, without libFuzzer.
@Suite("The fuzzing corpus")
struct ReplayTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func inputs(_ target: String) throws -> [(name: String, bytes: [UInt8])] {
        let folder = root.appendingPathComponent("Tools/fuzz/corpus/\(target)")
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map { name in
            (name, Array(try Data(contentsOf: folder.appendingPathComponent(name))))
        }
    }

    private func replay(_ inputs: [(name: String, bytes: [UInt8])], _ check: (UnsafeRawBufferPointer) throws -> Void) {
        for (name, bytes) in inputs {
            do { try bytes.withUnsafeBytes(check) } catch { Issue.record("\(name): \(error)") }
        }
        print("\(inputs.count) inputs replayed")
        #expect(inputs.count >= 9)
    }

    @Test("holds what must hold, file by file", arguments: FuzzTarget.allCases)
    func library(target: FuzzTarget) throws { replay(try Self.inputs(target.rawValue), target.check) }

    @Test("of the import parsers comes out of a vault and its export as it went in")
    func imports() throws { replay(try Self.inputs("import"), ImportTarget.check) }

    @Test("of age's texts reads the same again, or is refused in one line")
    func age() throws { replay(try Self.inputs("age"), AgeTarget.check) }

    @Test("of messages to the ssh agent and of its keys is answered, or refused in one line")
    func agent() throws { replay(try Self.inputs("agent"), AgentTarget.check) }

    @Test("of messages to the ssh agent and of its keys, altered at random, traps nothing")
    func alteredAgent() throws {
        for (index, input) in try Self.inputs("agent").enumerated() {
            var choices = SeededChoices(seed: UInt64(index))
            for number in 0..<Self.alterations {
                var altered = Array(input.bytes.dropFirst())
                for _ in 0...choices.below(3) { ByteMutation.mutate(&altered, most: 16_384, &choices) }
                do { try (input.bytes.prefix(1) + altered).withUnsafeBytes(AgentTarget.check) } catch {
                    Issue.record("\(input.name), alteration \(number): \(error)")
                }
            }
        }
    }

    @Test("of calls of the Secret Service is answered, or refused in one line, and no secret is given away")
    func secretService() throws {
        let inputs = try Self.inputs("secret-service")
        replay(inputs, SecretServiceTarget.check)
        for (name, bytes) in inputs {
            let (answered, calls) = try bytes.withUnsafeBytes(SecretServiceTarget.answers)
            #expect(answered > 0 && calls > 1, "\(name): \(answered) of \(calls) calls are answered")
        }
    }

    @Test("of calls of the Secret Service, altered at random, traps nothing")
    func alteredSecretService() throws {
        for (index, input) in try Self.inputs("secret-service").enumerated() {
            var choices = SeededChoices(seed: UInt64(index))
            // Each input makes a vault of its own.
            for number in 0..<Self.alterations / 4 {
                var altered = input.bytes
                for _ in 0...choices.below(3) { ByteMutation.mutate(&altered, most: 4096, &choices) }
                do { try altered.withUnsafeBytes(SecretServiceTarget.check) } catch {
                    Issue.record("\(input.name), alteration \(number): \(error)")
                }
            }
        }
    }

    @Test("of age's texts, altered at random, traps nothing, whether it is accepted or not")
    func alteredAge() throws {
        var (tried, accepted) = (0, 0)
        for (index, input) in try Self.inputs("age").enumerated() {
            var choices = SeededChoices(seed: UInt64(index))
            for number in 0..<Self.alterations {
                var altered = Array(input.bytes.dropFirst())
                for _ in 0...choices.below(3) { ByteMutation.mutate(&altered, most: 16_384, &choices) }
                tried += 1
                do {
                    if try (input.bytes.prefix(1) + altered).withUnsafeBytes(AgeTarget.accepts) { accepted += 1 }
                } catch { Issue.record("\(input.name), alteration \(number): \(error)") }
            }
        }
        print("age: \(tried) alterations, \(accepted) accepted")
        #expect(accepted > 0 && accepted < tried)
    }

    /// How many alterations of each input: `VAULTFMT_ALTERED_IMPORTS` says it for a long run.
    private static let alterations =
        ProcessInfo.processInfo.environment["VAULTFMT_ALTERED_IMPORTS"].flatMap(Int.init) ?? 100

    @Test("of the import parsers, altered at random, traps nothing: accepted, it comes out as it went in")
    func alteredImports() throws {
        var tally: [String: (tried: Int, accepted: Int)] = [:]
        for (index, input) in try Self.inputs("import").enumerated() {
            var choices = SeededChoices(seed: UInt64(index))
            let form = ImportTarget.form(of: input.bytes)
            for number in 0..<Self.alterations {
                // The first byte says which parser it is for.
                var altered = Array(input.bytes.dropFirst())
                for _ in 0...choices.below(3) { ByteMutation.mutate(&altered, most: 16_384, &choices) }
                let whole = input.bytes.prefix(1) + altered
                tally[form, default: (0, 0)].tried += 1
                do {
                    if try whole.withUnsafeBytes(ImportTarget.accepts) { tally[form, default: (0, 0)].accepted += 1 }
                    if number % 50 == 0 { try ImportTarget.checkIsWhole(altered) }
                } catch {
                    Issue.record("\(input.name), alteration \(number): \(error)")
                }
            }
        }
        for (form, count) in tally.sorted(by: { $0.key < $1.key }) {
            print("\(form): \(count.tried) alterations, \(count.accepted) accepted")
        }
        #expect(tally.values.contains { $0.accepted > 0 })
    }

    @Test("of the import parsers, cut at every byte, traps nothing and is imported whole or not at all")
    func cutImports() throws {
        // Where a key derivation comes first, every byte is for a long run.
        let isLong = Self.alterations > 100
        var (tried, accepted) = (0, 0)
        for input in try Self.inputs("import") {
            let isSlow = ["kdbx-whole", "bitwarden-protected", "pem-openssh-encrypted"].contains(input.name)
            for length in stride(from: 1, to: input.bytes.count, by: isSlow && !isLong ? 37 : 1) {
                let cut = Array(input.bytes[..<length])
                tried += 1
                do {
                    if try cut.withUnsafeBytes(ImportTarget.accepts) { accepted += 1 }
                    if length % 16 == 0 { try ImportTarget.checkIsWhole(Array(cut.dropFirst())) }
                } catch { Issue.record("\(input.name), cut at \(length): \(error)") }
            }
        }
        print("\(tried) cuts, \(accepted) accepted")
        #expect(accepted < tried / 2)
    }

    /// A sample, with the checks of a debug build: round-trip reads all of them, in a tenth of the time.
    @Test("holds for what the conformance vectors are to each target as well", arguments: [FuzzTarget.open, .sealed])
    func vectors(target: FuzzTarget) throws { replay(try Self.vectorSeeds(target.seed, every: 20), target.check) }

    @Test("holds for the exports of the conformance vectors as well")
    func vectorExports() throws { replay(try Self.vectorSeeds(ImportTarget.seed), ImportTarget.check) }

    @Test("holds for the stanzas of the conformance vectors as well")
    func vectorStanzas() throws { replay(try Self.vectorSeeds(AgeTarget.seed), AgeTarget.check) }

    private static func vectorSeeds(
        _ seed: ([UInt8]) -> [UInt8]?, every step: Int = 1
    ) throws -> [(name: String, bytes: [UInt8])] {
        let folder = root.appendingPathComponent("Spec/vectors")
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".vector") }
            .sorted()
        return try stride(from: 0, to: names.count, by: step).compactMap { index in
            let name = names[index]
            return seed(Array(try Data(contentsOf: folder.appendingPathComponent(name)))).map { (name, $0) }
        }
    }

    @Test("of files is sound as the library is now, but for those that are meant not to be")
    func soundness() throws {
        for (name, bytes) in try Self.inputs("open") where !name.hasPrefix("found-") {
            let isSound = try Reading.everything(bytes, FuzzFactors())
            #expect(
                isSound == !["cut-off", "damaged-tail"].contains(name),
                "\(name): written by another version? See round-trip --corpus")
        }
    }

    @Test("of sealed recipes seals to vaults that open, and that take apart to the same recipes again")
    func recipes() throws {
        // What fuzzing found need not open.
        for (name, bytes) in try Self.inputs("sealed") where !name.hasPrefix("found-") {
            let recipe = bytes.withUnsafeBytes { Recipe($0) }
            let file = recipe.sealed()
            let again = try #require(Recipe(taking: file, rawKey: FuzzFactors.usualKey), "\(name) does not open")
            #expect(again.objects.map(\.body.count) == recipe.objects.map(\.body.count), "\(name)")
        }
    }
}
