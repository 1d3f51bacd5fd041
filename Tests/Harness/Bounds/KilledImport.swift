internal import Glibc
internal import TestSupport
internal import VaultBytes
internal import VaultFmt

/// A process that adds many items in one transaction, killed at some moment.
final class KilledImport {
    static let role = "import"
    private let path: String
    private let items: Int
    private let folder: Folder
    /// How long it takes if nobody kills it.
    private var duration = 0.0
    private var complete = 0
    private var undone = 0
    private static let most = 1.0

    var outcome: String { "\(complete) complete, \(undone) undone" }

    init(_ folder: Folder, items: Int) throws {
        self.folder = folder
        path = folder.file("import.vault")
        self.items = items
        let start = ContinuousClock.now
        try make()
        guard try Child.role(Self.role, [path, "\(items)"]).wait() == 0 else {
            throw Wrong("an import that nobody kills fails")
        }
        duration = (ContinuousClock.now - start) / .seconds(1)
    }

    private func make() throws {
        for name in folder.names where name != "journal" { unlink(folder.file(name)) }
        let vault = try Vault.create(at: path, factors: try Keys.factors(0))
        try vault.set(try Model.key("first"), secret: .init(text: "x"))
    }

    /// `PATH COUNT`
    static func run(_ arguments: [String]) -> Int32 {
        guard arguments.count == 2, let count = Int(arguments[1]) else { return 2 }
        do {
            var options = OpenOptions()
            options.writable = true
            let vault = try Vault.open(arguments[0], factors: try Keys.factors(0), options: options)
            try vault.transaction { (transaction) throws(VaultError) in
                for number in 0..<count {
                    try transaction.add(
                        try Model.key("imported \(number)"), secret: .init(text: "the secret of item \(number)"),
                        attributes: ["label": "label \(number)"])
                }
            }
            return 0
        } catch {
            report("import: \(error)")
            return 1
        }
    }

    /// The processor time of opening what is left.
    func check(_ numbers: inout Numbers) throws -> Double {
        try make()
        let child = try Child.role(Self.role, [path, "\(items)"])
        usleep(UInt32(Double(numbers.below(1_050_000)) * duration))
        child.end()
        var vault: Vault?
        let seconds = try ProcessorTime.of { vault = try Vault.open(path, factors: try Keys.factors(0)) }
        guard let vault, seconds <= Self.most else { throw Wrong("opening took \(seconds) s") }
        let found = try vault.withStore { (store) throws(VaultError) in Int(store.state.commit.items) }
        guard found == 1 || found == items + 1 else { throw Wrong("\(found) items") }
        if found == 1 { undone += 1 } else { complete += 1 }
        var options = OpenOptions()
        options.writable = true
        let writer = try Vault.open(path, factors: try Keys.factors(0), options: options)
        try writer.set(try Model.key("after"), secret: .init(text: "x"))
        guard try writer.get(try Model.key("first")) != nil else { throw Wrong("an item is gone") }
        return seconds
    }
}
