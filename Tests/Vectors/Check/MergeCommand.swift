import Foundation
import TestSupport
import VaultBytes
import VaultCrypto
import VaultFmt
import VaultStore
import VectorMaking

/// `merge`: two copies of a vault as one file, and how they stood to each other (Spec/vectors/README.md); once with
/// arguments, or a line of them at a time from standard input.
enum MergeCommand {
    static func run(_ arguments: [String]) throws {
        guard arguments.isEmpty else {
            print(try answer(arguments))
            return
        }
        while let line = readLine() {
            print(try answer(line.split(separator: " ").map(String.init)) + "\n.")
            flush()
        }
    }

    private static func answer(_ arguments: [String]) throws -> String {
        var options = MergeOptions()
        var request = ReadRequest()
        var rest = arguments[...]
        while let option = rest.first, option.hasPrefix("--") {
            rest = rest.dropFirst()
            switch option {
            case "--accept-old-keys": options.acceptsOldKeys = true
            case "--one-file": options.unifiesFiles = true
            default:
                guard let value = rest.first, request.take(String(option.dropFirst(2)), value) else {
                    throw UsageError("\(option) is unknown, or its value malformed")
                }
                rest = rest.dropFirst()
            }
        }
        guard rest.count == 3 else { throw UsageError("three files are needed: ours, theirs and the result") }
        let paths = Array(rest)
        let (outcome, result) = try merge(
            try Array(Data(contentsOf: URL(fileURLWithPath: paths[0]))),
            try Array(Data(contentsOf: URL(fileURLWithPath: paths[1]))), request, options)
        if let result { try Data(result).write(to: URL(fileURLWithPath: paths[2])) }
        return outcome
    }

    /// The outcome, and the file that takes the place of ours; without one, the reason why it was refused.
    static func merge(
        _ ours: [UInt8], _ theirs: [UInt8], _ request: ReadRequest, _ options: MergeOptions,
        random: Randomness = .system, memory: ProcessReplicas? = nil
    ) throws -> (outcome: String, result: [UInt8]?) {
        let memory = memory ?? ProcessReplicas(random: random)
        func place(_ files: MemoryFileSystem) -> Store.Place {
            var place = Store.Place(fileSystem: files, random: random, replicas: memory)
            place.writesSpares = false
            return place
        }
        let merged = try merge(into: ours, theirs, request, options, place)
        // The branch under a replaced key is taken into the copy that has replaced it, whichever is ours.
        guard options.acceptsOldKeys, merged.result == nil, merged.outcome == "refused foreign" else { return merged }
        return try merge(into: theirs, ours, request, options, place)
    }

    private static func merge(
        into ours: [UInt8], _ theirs: [UInt8], _ request: ReadRequest, _ options: MergeOptions,
        _ place: (MemoryFileSystem) -> Store.Place
    ) throws -> (outcome: String, result: [UInt8]?) {
        let files = MemoryFileSystem(clock: 1)
        files.put("ours", ours)
        files.put("theirs", theirs)
        do throws(VaultError) {
            // It is closed before the file is looked at.
            let outcome = try merge(request, options, files, place(files))
            let result = files.bytes(of: "ours")
            let isEqual = outcome == .same && ours != theirs
            return (isEqual ? "equal" : outcome.rawValue, result)
        } catch {
            return ("refused \(Verdict(error)?.rawValue ?? "\(error.code)")", nil)
        }
    }

    private static func merge(
        _ request: ReadRequest, _ options: MergeOptions, _ files: MemoryFileSystem, _ place: Store.Place
    ) throws(VaultError) -> MergeReport.Outcome {
        let vault = try open("ours", request, place)
        let other = try open("theirs", request, place)
        // As if it were done right after the later of both.
        let clocks = try [vault, other].map { (vault) throws(VaultError) in
            try vault.withStore { (store) throws(VaultError) in store.state.commit.clock }
        }
        files.setClock(Int64((clocks.max() ?? 0) >> 16))
        return try vault.merge(other, options: options).outcome
    }

    private static func open(
        _ name: String, _ request: ReadRequest, _ place: Store.Place
    ) throws(VaultError) -> Vault {
        var options = try request.options()
        options.writable = true
        guard let factors = try request.factors() else {
            throw VaultError(.noSlotOpens, "no slot can have these factors")
        }
        return try Vault.open(name, factors: factors, options: options, place: place)
    }
}
