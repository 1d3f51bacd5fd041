import CVaultShim
import Glibc
import VaultExchange
import VaultFmt
import VaultLocal

/// A file in memory that has no path, for a secret that another program must read from or write to a file. The file is
/// deleted when the last process that has it open exits, even if that process is killed. The system may swap such
/// memory out.
struct MemoryFile: ~Copyable {
    let descriptor: Int32
    private static let what = "file in memory"

    /// The file's path as seen by a program that was started with the file as its kept descriptor.
    static let pathForChild = descriptors + "/3"
    private static let descriptors = "/proc/self/fd"

    /// Creates the file with the given contents.
    init(_ contents: borrowing Secret) throws {
        descriptor = vault_memory_file("vaultfmt")
        guard descriptor >= 0 else { throw CommandFailure(system: -descriptor, "cannot create a \(Self.what)") }
        guard access(Self.descriptors, F_OK) == 0 else {
            throw CommandFailure(
                .unavailable, "no other program can open a \(Self.what): \(Self.descriptors) is missing; mount /proc")
        }
        guard contents.withUnsafeBytes({ Descriptor.writeAll(descriptor, $0) }) == 0 else {
            throw CommandFailure(system: errno, "cannot write the \(Self.what)")
        }
    }

    /// Returns the contents.
    borrowing func read(limit: Int) throws -> Secret {
        guard lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw CommandFailure(system: errno, "cannot read the \(Self.what)")
        }
        return try Descriptor.readAll(descriptor, name: "the \(Self.what)", limit: limit)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }
}
