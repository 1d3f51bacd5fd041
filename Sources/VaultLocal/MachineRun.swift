internal import Glibc
internal import VaultBytes
internal import VaultCrypto
internal import VaultStore

/// One run of this machine, which ends with a reboot, with a change of the clock, or when the memory is restored or
/// copied to another machine (section 7.5).
///
/// A replica id belongs to one run. If the memory is copied to another machine, at most one of the two machines is
/// still in the run in which it was written.
struct MachineRun: Equatable, Sendable {
    /// A hash of the machine's id, its boot and its mount namespace; other programs must not learn the machine's id.
    let system: Bytes32
    /// The difference between the real-time clock and the time since boot, in milliseconds. After a memory image of the
    /// machine is resumed, the difference changes when the clock is set.
    let difference: Int64

    /// The largest change of the difference within one run, in milliseconds.
    static let tolerance: Int64 = 5000

    /// Returns the current run; nil if the system does not provide the necessary information.
    ///
    /// Throws `io` if there are not enough descriptors or memory to determine the run, which would otherwise seem to be
    /// a different one.
    static func current() throws(VaultError) -> MachineRun? {
        // Containers often have no machine id; they are distinguished by boot and mount namespace.
        var machine = try line(of: "/etc/machine-id")
        if machine == nil { machine = try line(of: "/var/lib/dbus/machine-id") }
        guard let boot = try line(of: "/proc/sys/kernel/random/boot_id"), let mounts = try link("/proc/self/ns/mnt"),
            let difference = clockDifference()
        else { return nil }
        var hash = Blake2b()
        hash.update("vaultfmt run")
        for part in [machine ?? [], boot, mounts] {
            hash.update(UInt64(part.count))
            hash.update(part)
        }
        return MachineRun(system: hash.finish(), difference: difference)
    }

    /// Returns whether a run that was recorded earlier is the current one.
    func isContinued(by now: MachineRun) -> Bool {
        let (change, overflow) = now.difference.subtractingReportingOverflow(difference)
        return system == now.system && !overflow && change.magnitude <= UInt64(Self.tolerance)
    }

    private static let longest = 256

    /// Returns a file's only line; nil if the file cannot be read or the line is empty.
    private static func line(of path: String) throws(VaultError) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return try absent(path) }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: longest)
        let count = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
        guard count >= 0 else { return try absent(path) }
        let line = bytes[..<count].prefix { $0 != UInt8(ascii: "\n") }
        return line.isEmpty ? nil : Array(line)
    }

    private static func link(_ path: String) throws(VaultError) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: longest)
        let count = bytes.withUnsafeMutableBytes { buffer in
            guard let start = buffer.baseAddress else { return 0 }
            return readlink(path, start, buffer.count)
        }
        guard count >= 0 else { return try absent(path) }
        return Array(bytes[..<count])
    }

    /// Returns nil after a system call that failed, unless the same call can succeed later.
    private static func absent(_ path: String) throws(VaultError) -> [UInt8]? {
        guard [EMFILE, ENFILE, ENOMEM, EINTR].contains(errno) else { return nil }
        throw VaultError(.io, "cannot read \(path): \(strerror(errno).map { String(cString: $0) } ?? "no resources")")
    }

    private static func clockDifference() -> Int64? {
        guard let real = milliseconds(CLOCK_REALTIME), let boot = milliseconds(CLOCK_BOOTTIME) else { return nil }
        let (difference, overflow) = real.subtractingReportingOverflow(boot)
        return overflow ? nil : difference
    }

    private static func milliseconds(_ clock: clockid_t) -> Int64? {
        var time = timespec()
        guard clock_gettime(clock, &time) == 0 else { return nil }
        let (milliseconds, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1000)
        return overflow ? nil : milliseconds + Int64(time.tv_nsec) / 1_000_000
    }
}
