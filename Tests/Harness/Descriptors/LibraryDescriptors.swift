internal import Glibc
internal import TestSupport
internal import VaultFmt

/// A program that uses the library without some of its standard descriptors, as a daemon may, and prints to them.
enum LibraryDescriptors {
    static let role = "descriptors"

    static func check(_ run: PartRun, closed: Int) throws {
        let folder = try Folder()
        let code = try Child.role(role, [folder.path, "\(closed)"]).wait()
        run.count()
        run.check(code == 0, "the library, without \((0..<3).filter { closed >> $0 & 1 != 0 }): \(reason(code))")
        guard code == 0 else { return }
        let vault = try Vault.open(folder.file("a.vault"), factors: try Keys.factors(1))
        run.check(try vault.verify().problemCount == 0, "a message got into the vault")
        run.check(try Model(reading: vault).items.count == 5, "an item is missing")
    }

    private static func reason(_ code: Int32) -> String {
        switch code {
        case 3: "a file is on a standard descriptor"
        case 4: "the library failed"
        default: "exit code \(code)"
        }
    }

    /// `descriptors FOLDER CLOSED`: creates, changes, compacts and opens a vault, and writes to each closed descriptor
    /// all the while.
    static func run(_ arguments: [String]) -> Int32 {
        guard arguments.count == 2, let closed = Int(arguments[1]) else { return 2 }
        let numbers = (0..<3).filter { closed >> $0 & 1 != 0 }.map { Int32($0) }
        for number in numbers { close(number) }
        let path = arguments[0] + "/a.vault"
        do {
            let vault = try Vault.create(at: path, factors: try Keys.factors(0))
            for number in 0..<5 {
                try vault.add(try Model.key("service \(number)"), secret: Secret(text: "secret"))
                guard isHarmless(numbers) else { return 3 }
            }
            try vault.compact()
            guard isHarmless(numbers) else { return 3 }
            try vault.changeFactors(to: try Keys.factors(1))
            guard isHarmless(numbers) else { return 3 }
            let reader = try Vault.open(path, factors: try Keys.factors(1))
            guard isHarmless(numbers), try Model(reading: reader).items.count == 5 else { return 3 }
        } catch { return 4 }
        return 0
    }

    /// Prints to the closed descriptors, as a library would that warns of something; each must still be closed.
    private static func isHarmless(_ numbers: [Int32]) -> Bool {
        numbers.allSatisfy { number in
            let text = "warning: this must not get into the vault\n"
            let written = text.utf8.withContiguousStorageIfAvailable { write(number, $0.baseAddress, $0.count) } ?? -1
            return written < 0 && errno == EBADF && fcntl(number, F_GETFD) < 0
        }
    }
}
