import VaultConsole
package import VaultExchange
package import VaultFmt
import VaultLocal

/// A listing of items: on a terminal, the non-empty columns, fitted to the terminal's width; for programs, lines of
/// tab-separated cells.
package struct ItemTable {
    private let chosen: [ListColumn]?
    private let isWide: Bool
    private let isPrecise: Bool
    private let isForPeople: Bool
    private let vault: Vault
    private let output: Output
    private let place: Place?
    /// On a terminal, rows are written at the end, when the column widths are known.
    private var rows: [(item: Item, label: String?)] = []

    /// - `columns`: The requested columns; nil for the default columns.
    /// - `isWide`: Whether all columns are shown without truncation.
    /// - `isPrecise`: Whether times of day are shown on a terminal.
    /// - `place`: The vault that contains the items, if several vaults are listed.
    package init(
        of vault: Vault, columns: [ListColumn]?, isWide: Bool, isPrecise: Bool, place: Place? = nil,
        to output: Output, isTerminal: Bool = Terminal.outputIsTerminal
    ) {
        self.vault = vault
        self.place = place
        self.output = output
        chosen = columns
        self.isWide = isWide
        self.isPrecise = isPrecise
        isForPeople = isTerminal
    }

    /// One of several listed vaults: shown as a heading on a terminal, and as the first cell for programs.
    package struct Place {
        var path: String
        /// True if another table precedes this one.
        var isLater: Bool

        package init(path: String, isLater: Bool) {
            self.path = path
            self.isLater = isLater
        }
    }

    /// Adds an item; if the output is not a terminal, the item is written immediately.
    package mutating func add(_ item: Item) throws {
        let label = LongLabel.read(of: item, in: vault)
        guard !isForPeople else { return rows.append((item, label)) }
        let columns = chosen ?? (isWide ? ListColumn.people : ListColumn.machineReadable)
        let cells = columns.map { Table.machineReadable($0.value(of: item, label: label, .exact)) }
        let first = place.map { [Table.machineReadable($0.path)] } ?? []
        try output.line((first + cells).joined(separator: "\t"))
    }

    /// Writes the remaining rows.
    package func finish() throws {
        if isForPeople, !rows.isEmpty { try writeRows() }
        try output.flush()
    }

    private func writeRows() throws {
        let columns = chosen ?? (isWide ? ListColumn.people : usedColumns)
        let form = isWide || isPrecise || chosen != nil ? ListColumn.Form.precise : .people
        var cells = rows.map { row in columns.map { $0.value(of: row.item, label: row.label, form) } }
        if let name = columns.firstIndex(of: .field(.name)) { tellApart(&cells, name: name) }
        var table = Table(
            columns.map(\.heading), fixed: Set(columns.indices.filter { columns[$0].isFixed }), isWide: isWide,
            isTerminal: isForPeople)
        if let place {
            if place.isLater { try output.line("") }
            try output.line("\(TerminalText.escaped(place.path)):")
        }
        for row in cells { try table.add(row, to: output) }
        try table.finish(output)
    }

    /// Returns the columns that are not empty; the class is included only if there are several classes.
    private var usedColumns: [ListColumn] {
        ListColumn.people.filter { column in
            switch column {
            case .field(.class): Set(rows.map(\.item.key.itemClass)).count > 1
            default: rows.contains { !column.value(of: $0.item, label: $0.label, .people).isEmpty }
            }
        }
    }

    /// Adds the server's protocol, port and path to rows that would otherwise look alike.
    private func tellApart(_ cells: inout [[String]], name: Int) {
        var count: [[String]: Int] = [:]
        for row in cells { count[row, default: 0] += 1 }
        for index in cells.indices where count[cells[index], default: 0] > 1 {
            cells[index][name] = Self.address(rows[index].item.key) ?? cells[index][name]
        }
    }

    /// "https://server:8443/path"; nil for an item without a server.
    private static func address(_ key: ItemKey) -> String? {
        guard let server = key.server else { return nil }
        var text = server
        if let name = key[.protocol]?.text, !name.isEmpty { text = "\(name)://\(text)" }
        if let port = key[.port]?.number, port != 0 { text += ":\(port)" }
        if let path = key[.path]?.text, !path.isEmpty { text += path.hasPrefix("/") ? path : "/" + path }
        return text
    }
}
