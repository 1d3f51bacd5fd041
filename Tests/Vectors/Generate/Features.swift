import VaultBytes
import VaultFmt
import VaultForge

/// What a reader must be able to read: every class, every accessibility, every shape that a writer makes.
extension Collection {
    mutating func addFeatures(_ bases: Bases) throws {
        try vault("feature-empty", "R-5.10, R-7.1", .success, bases.empty, "Generation 1: no items, no tree, an empty keyring.")
        try vault("feature-one-item", "R-5.3, R-5.9", .success, bases.one, "One item, compacted: every type of object once.")
        try vault("feature-generations", "R-5.10", .success, bases.grown, "Five commits: additions, a change, and a removal, which leaves a tombstone.")
        try vault("feature-tree", "R-5.4, R-5.6", .success, bases.tree, "A tree of two levels.")
        try vault("feature-scoped-full", "R-3.3", .success, bases.scoped, "A vault with a scoped slot, opened by its full one.")
        try vault("feature-scoped", "R-3.3, R-5.9", .success, bases.scoped, "The same opened by the scoped slot: one secret is not granted.", request: .raw(Bases.scopedKey))
        try vault("feature-device", "R-5.8", .success, bases.device, "An item for one device, on that device.")
        try vault("feature-device-absent", "R-5.8", .deviceBound, bases.device, "The same without the device: its secret is refused, all else is there.", request: .raw(Base.key))
        try vault("feature-attributes", "R-6.2, R-6.6", .success, bases.attributes, "A large attribute, a sealed one, and one in the page.")
    }
}
