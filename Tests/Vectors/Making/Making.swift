internal import TestSupport

/// All vectors, the same bytes each time.
package enum VectorMaking {
    package static func all() throws -> [ConformanceVector] {
        let bases = try Bases()
        let taken = [
            ("empty", bases.empty), ("one", bases.one), ("grown", bases.grown), ("tree", bases.tree),
            ("scoped", bases.scoped),
            ("device", bases.device), ("attributes", bases.attributes), ("kept", bases.kept),
            ("rotated", bases.rotated),
        ]
        for (name, base) in taken {
            guard try base.forge().assemble() == base.file else {
                throw ForgeError("the vault \(name), taken apart and not altered, has changed")
            }
        }
        var collection = Collection()
        try collection.addFeatures(bases)
        try collection.addHeaders(bases)
        try collection.addSlotLayouts(bases)
        try collection.addSlotSeals(bases)
        try collection.addSalamander(bases)
        try collection.addFactors(bases)
        try collection.addCosts(bases)
        try collection.addAge(bases)
        try collection.addCommits(bases)
        try collection.addProofs(bases)
        try collection.addTails(bases)
        try collection.addVectorFrames(bases)
        try collection.addAnchors(bases)
        try collection.addPages(bases)
        try collection.addKeyrings(bases)
        try collection.addItems(bases)
        try collection.addRecords(bases)
        try collection.addAttributes(bases)
        try collection.addPasts(bases)
        return collection.vectors
    }
}
