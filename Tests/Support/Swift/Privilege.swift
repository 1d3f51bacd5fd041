/// What this process may do beyond its own rights.
package enum Privilege {
    /// Whether it may look into hardened processes, as `vaultfmt` is one: CAP_SYS_PTRACE. Containers have no such
    /// right, even for root.
    package static let readsHardened: Bool = {
        let lines = (try? ProcFile.lines("/proc/self/status")) ?? []
        let set = lines.first { $0.hasPrefix("CapEff:") }.flatMap {
            UInt64($0.dropFirst(7).filter { !$0.isWhitespace }, radix: 16)
        }
        return set.map { $0 >> 19 & 1 == 1 } ?? false
    }()
}
