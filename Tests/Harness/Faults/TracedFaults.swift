enum TracedFaults {
    static func run(_ run: PartRun) throws {}
}
