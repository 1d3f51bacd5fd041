internal import Glibc
internal import TestSupport
internal import VaultCrypto
internal import VaultFmt
internal import VaultStore

/// A small tmpfs with room for 0, 1, 2, … pages more: an operation happens, or says that there is no space and leaves
/// everything as it was.
extension Part {
    static let disk = Part(name: "disk", about: "a full disk at every fill level, on a small tmpfs") { run in
        let folder = try Folder()
        let mount = folder.file("mount")
        mkdir(mount, 0o700)
        guard try shell("mount -t tmpfs -o size=512k,mode=700 tmpfs \(mount)", output: folder.file("log")) == 0 else {
            let why =
                String(decoding: try Files.read(folder.file("log")), as: UTF8.self).split(separator: "\n").first ?? ""
            return run.skip("no tmpfs can be mounted (\(why))")
        }
        defer { _ = try? shell("umount \(mount) || umount -l \(mount)") }
        let operations = FullDisk.operations
        for pages in 0..<(run.isLong ? 100 : 50) {
            for (name, change) in operations where !run.isOver {
                run.count()
                do { try FullDisk(mount).check(pages: pages, change) } catch {
                    run.fail("\(name), \(pages) pages left: \(error)")
                }
                _ = try shell("rm -rf \(mount)/* \(mount)/.a*")
            }
        }
        run.note("\(operations.count) operations")
    }
}

struct FullDisk {
    private let folder: String
    private let path: String

    init(_ folder: String) {
        self.folder = folder
        path = "\(folder)/a.vault"
    }

    /// What is done, and what it makes of the contents and the key.
    typealias Change = (_ vault: Vault, _ model: inout Model, _ key: inout Int) throws -> Void

    static var operations: [(String, Change)] {
        [
            ("set", { vault, model, _ in try put(vault, &model, ["item-3": 20]) }),
            (
                "two changes",
                { vault, model, _ in
                    var first = model
                    try put(vault, &first, ["item-3": 20])
                    model = first
                    try put(vault, &model, ["item-4": 30])
                }
            ),
            ("a large set", { vault, model, _ in try put(vault, &model, ["item-3": 33_000]) }),
            (
                "import of 200",
                { vault, model, _ in
                    try put(vault, &model, Dictionary(uniqueKeysWithValues: (0..<200).map { ("new-\($0)", 40) }))
                }
            ),
            ("compact", { vault, _, _ in try vault.compact() }),
            (
                "change of key",
                { vault, _, key in
                    try vault.changeFactors(to: try Keys.factors(2))
                    key = 2
                }
            ),
            (
                "rotate",
                { vault, _, _ in
                    var rotation = try vault.rotation()
                    _ = try rotation.keep(try Keys.factors(1))
                    _ = try rotation.run()
                }
            ),
        ]
    }

    private static func put(_ vault: Vault, _ model: inout Model, _ lengths: [String: Int]) throws {
        var next = model
        for (name, length) in lengths {
            next.items[name] = .init(secret: [UInt8](repeating: 0x61, count: length), label: "")
        }
        let items = next.items
        try vault.transaction { (transaction) throws(VaultError) in
            for name in lengths.keys.sorted() {
                try transaction.set(try Model.key(name), secret: Secret(bytes: items[name]?.secret ?? []))
            }
        }
        model = next
    }

    func check(pages: Int, _ change: Change) throws {
        let vault = try Vault.create(at: path, factors: try Keys.factors(1))
        var model = Model()
        try Self.put(vault, &model, Dictionary(uniqueKeysWithValues: (0..<40).map { ("item-\($0)", $0) }))
        try fill(leaving: pages)
        var key = 1
        do throws(any Error) { try change(vault, &model, &key) } catch {
            guard (error as? VaultError)?.code == .noSpace else { throw Wrong("reported as \(error)") }
        }
        guard try Model(reading: vault) == model else { throw Wrong("the handle reads something else") }
        try same(model, key)
        guard Files.names(in: folder) == ["a.vault", "ballast"] else {
            throw Wrong("left behind: \(Files.names(in: folder))")
        }
        // With room again, the same handle goes on, and so does another.
        unlink("\(folder)/ballast")
        try Self.put(vault, &model, ["item-5": 7])
        try same(model, key)
        guard try vault.verify().isSound else { throw Wrong("not sound: \(try vault.verify().problems)") }
    }

    private func same(_ model: Model, _ key: Int) throws {
        let again = try Vault.open(path, factors: try Keys.factors(key))
        guard try Model(reading: again) == model else { throw Wrong("another handle reads something else") }
        guard again.tail == .clean else { throw Wrong("another handle sees a tail: \(again.tail)") }
    }

    /// Fills the file system until so many pages are free.
    private func fill(leaving pages: Int) throws {
        let ballast = "\(folder)/ballast"
        let fitting = try Files.write([UInt8](repeating: 1, count: 1 << 20), to: ballast)
        guard truncate(ballast, max(0, fitting - pages * 4096)) == 0 else {
            throw Wrong("the ballast cannot be made smaller")
        }
    }
}
