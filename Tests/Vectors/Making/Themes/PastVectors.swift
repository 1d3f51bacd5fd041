extension Collection {
    mutating func addPasts(_ bases: Bases) throws {}
}
