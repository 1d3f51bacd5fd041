extension Collection {
    mutating func addAnchors(_ bases: Bases) throws {}
}
