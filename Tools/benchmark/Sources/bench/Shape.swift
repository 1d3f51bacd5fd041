import VaultFmt

/// What a vault consists of, for the limits: what must at least be read, opened, sealed or written follows from it.
enum Shape {
    static func figures(_ path: String) throws(VaultError) -> Figures {
        var figures = Figures()
        let inspection = try Vault.inspect(path)
        figures.add("header_bytes", Double(inspection.headerBytes))
        figures.add("file_bytes", Double(inspection.fileBytes))
        for objects in inspection.objects {
            figures.add("\(objects.type)_count", Double(objects.count))
            figures.add("\(objects.type)_bytes", Double(objects.bytes) / Double(max(objects.count, 1)))
        }
        figures.add("height", Double(try Workload.open(path, writable: false).statistics().treeHeight))
        return figures
    }
}
