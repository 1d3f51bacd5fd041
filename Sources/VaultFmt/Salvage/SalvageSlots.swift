internal import VaultBytes
internal import VaultStore

/// The slots that one salvage has tried. The headers of a damaged file usually contain the same slots: for each of
/// them, a key is derived and a provider is asked only once, and one limit applies to all derivations together.
struct SalvageSlots {
    /// The wrapping keys of the slots that the factors match.
    private var matching: [[UInt8]: SecretBox] = [:]
    /// The slots that the factors do not match.
    private var others: Set<[UInt8]> = []
    /// The cost of all key derivations.
    private var spent: UInt64 = 0

    /// Opens the first slot of a header that the factors match, and checks the header if it is intact. Throws
    /// `noSlotOpens`, `kdfLimit`, `authenticationFailed`, or an error of the factors' provider.
    mutating func open(
        _ found: SalvageHeader, _ factors: borrowing Factors, _ limits: ReaderLimits
    ) throws(VaultError) -> OpenedSlot {
        let (slot, wrappingKey) = try match(found.header, factors, limits)
        return try SlotOpener.open(
            slot, found.header, found.bytes, wrappingKey: wrappingKey.secret.copy(), checkingHeader: found.isWhole)
    }

    private mutating func match(
        _ header: Header, _ factors: borrowing Factors, _ limits: ReaderLimits
    ) throws(VaultError) -> (slot: Slot, wrappingKey: SecretBox) {
        for slot in header.slots {
            if let wrappingKey = matching[Self.derivation(of: slot, header)] { return (slot, wrappingKey) }
        }
        let untried = header.slots.filter { !others.contains(Self.derivation(of: $0, header)) }
        do throws(VaultError) {
            let match = try SlotOpener.match(
                untried, of: header, factors.keys, limits, external: factors.provider, spent: &spent)
            matching[Self.derivation(of: match.slot, header)] = match.wrappingKey
            return match
        } catch {
            if error.code == .noSlotOpens {
                for slot in untried { others.insert(Self.derivation(of: slot, header)) }
            }
            throw error
        }
    }

    /// Returns everything, apart from the factors themselves, that determines whether they match a slot, and which
    /// wrapping key results.
    private static func derivation(of slot: Slot, _ header: Header) -> [UInt8] { header.id.bytes + slot.clear }
}
