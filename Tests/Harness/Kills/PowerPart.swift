internal import Glibc
internal import TestSupport
internal import VaultFmt

/// What a disk holds when the power goes: copies of an ext4 image under stopped writers, mounted (which replays the
/// journal) and opened.
extension Part {
    static let power = Part(name: "power", about: "copies of an ext4 image under stopped writers") { run in
        let folder = try Folder()
        let image = folder.file("disk")
        let mount = folder.file("mount")
        let copied = folder.file("copied")
        for path in [mount, copied] { mkdir(path, 0o700) }
        guard
            try shell(
                "truncate -s 24M \(image) && mkfs.ext4 -q -F \(image) && mount -o loop \(image) \(mount)",
                output: folder.file("log"))
                == 0
        else {
            let why =
                String(decoding: try Files.read(folder.file("log")), as: UTF8.self).split(separator: "\n").first ?? ""
            return run.skip("no loop mount here (\(why))")
        }
        defer { _ = try? shell("umount \(copied); umount \(mount) || umount -l \(mount)") }
        let shared = SharedVault("\(mount)/a.vault", journals: folder.path)
        try shared.create()
        var numbers = run.numbers()
        let writers = 2
        var children = try (0..<writers).map {
            try Child.role("writer", [shared.path, folder.path, "\($0)", "\(numbers.next())"])
        }
        defer { for child in children { child.end() } }
        for number in 0..<(run.isLong ? 200 : 12) where !run.isOver {
            usleep(UInt32(20_000 + numbers.below(120_000)))
            for child in children { child.signal(SIGSTOP) }
            let acknowledged = (0..<writers).map { shared.journal($0).read().acknowledged }
            try copy(image, to: folder.file("copy"))
            do { try check(folder, copied, acknowledged) } catch { run.fail("cut \(number): \(error)") }
            run.count()
            for child in children { child.signal(SIGCONT) }
            for index in children.indices {
                guard numbers.chance(4) || children[index].poll() != nil else { continue }
                if children[index].end() == 3 { run.fail("cut \(number): a writer had found something wrong") }
                children[index] = try Child.role("writer", [shared.path, folder.path, "\(index)", "\(numbers.next())"])
            }
        }
        let changes = (0..<writers).reduce(0) { $0 + shared.journal($1).read().acknowledged }
        run.note("\(changes) acknowledged changes")
    }

    /// The system's own threads may write to the image meanwhile: it is copied until two copies agree.
    private static func copy(_ image: String, to copy: String) throws {
        for _ in 0..<50 {
            guard try shell("cp --sparse=always \(image) \(copy)") == 0 else {
                throw Wrong("the image cannot be copied")
            }
            if try shell("cmp -s \(image) \(copy)") == 0 { return }
        }
        throw Wrong("the image changes all the time")
    }

    private static func check(_ folder: Folder, _ mount: String, _ acknowledged: [Int]) throws {
        guard try shell("mount -o loop \(folder.file("copy")) \(mount)") == 0 else {
            throw Wrong("the copy cannot be mounted")
        }
        defer { _ = try? shell("umount \(mount)") }
        let shared = SharedVault("\(mount)/a.vault", journals: folder.path)
        let writers = acknowledged.count
        _ = try shared.check(
            try Model(reading: try shared.open(writable: false)), writers: writers, acknowledged: acknowledged)
        let vault = try shared.open(writable: true)
        try vault.set(try Model.key("after"), secret: .init(text: "x"))
        guard try vault.verify().isSound else {
            throw Wrong("not sound after a change: \(try vault.verify().problems)")
        }
        try vault.compact()
        let left = Files.names(in: mount).filter {
            $0 != "lost+found" && $0 != "a.vault" && !$0.hasPrefix("a.vault.incomplete-")
        }
        guard left.isEmpty else { throw Wrong("left behind: \(left)") }
    }
}
