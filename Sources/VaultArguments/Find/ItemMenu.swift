import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// Lets the user choose one of several items.
enum ItemMenu {
    /// True if the user can choose. A script, whose output is redirected, must get the same result every time.
    static var isPossible: Bool {
        Terminal.inputIsTerminal && Terminal.outputIsTerminal && Terminal.errorIsTerminal && Prompt.isPossible
    }

    /// Shows the items and waits for a choice. Throws `ExitStatus.ambiguous` if the user does not choose an item.
    static func choose(_ items: [Item], title: String) throws -> Item {
        let rows = items.map { item in
            (ItemText.name(item.key) + [item.attributes.label ?? "", FolderPath.text(ItemPlace.folder(of: item))])
                .map(TerminalText.escaped)
        }
        let count = rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in
            min(30, rows.map { column < $0.count ? TerminalText.width($0[column]) : 0 }.max() ?? 0)
        }
        let lines = rows.map { row in
            zip(row, widths).filter { $1 > 0 }.map { cell, width in
                cell + String(repeating: " ", count: max(0, width - TerminalText.width(cell)))
            }.joined(separator: "  ")
        }
        guard let choice = try ControllingTerminal.choose(title: title, lines), items.indices.contains(choice) else {
            throw CommandFailure(.ambiguous, "no item was chosen, so nothing was done; specify one")
        }
        return items[choice]
    }
}
