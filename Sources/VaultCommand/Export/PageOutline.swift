import VaultConsole
import VaultFmt
import VaultLocal

/// The outline of a vault for a page that does not contain the vault: the parts of the file that anyone can see,
/// without sealed data.
struct PageOutline {
    private let inspection: Inspection
    /// The kind of each stretch of the file, by its number in `Sources/Page/layout.js`, and its length in bytes.
    private let stretches: [(kind: Int, length: UInt64)]

    /// The kinds of objects in the order of their numbers.
    private static let kinds = [
        "header", "copy of the header", "record", "page", "past", "keyring", "vector", "commit",
    ]
    private static let zeros = 8
    private static let unknown = 9
    /// The maximum number of objects that a page can show.
    private static let most = 5_000_000

    init(of path: String) throws {
        var stretches: [(kind: Int, length: UInt64)] = []
        var (end, count) = (UInt64(0), 0)
        func add(_ kind: Int, _ length: UInt64) {
            count += 1
            if length > 0, count <= Self.most { stretches.append((kind, length)) }
            end += length
        }
        let inspection = try Vault.inspect(path) { type, length, offset in
            if end == 0 { end = offset }
            if offset > end { add(Self.zeros, offset - end) }
            add(Self.kinds.firstIndex(of: type) ?? Self.unknown, UInt64(length))
        }
        guard count <= Self.most else {
            throw CommandFailure(
                .overLimit,
                "\(TerminalText.path(path)) has \(count) objects, and a page can show at most \(Self.most); 'vaultfmt compact' leaves fewer"
            )
        }
        let header = UInt64(inspection.headerBytes)
        end = max(end, 2 * header)
        // Whatever follows the last object may be truncated, or written by a later version.
        add(inspection.tail == .clean ? Self.zeros : Self.unknown, inspection.fileBytes.subtracting(end))
        self.inspection = inspection
        self.stretches = [(0, header), (1, header)] + stretches
    }

    /// The outline as JSON. It contains only numbers and our own texts, which need no escapes in JSON or in a script
    /// element.
    var json: String {
        let slots = inspection.slots.filter(\.isKnown).map(Self.json).joined(separator: ",")
        let numbers = stretches.map { "\($0.kind),\($0.length)" }.joined(separator: ",")
        return
            #"{"vault":"\#(inspection.id)","version":\#(inspection.version),"size":\#(inspection.fileBytes),"#
            + #""slots":[\#(slots)],"stretches":[\#(numbers)]}"#
    }

    private static func json(_ slot: SlotInfo) -> String {
        let names = factors.filter { !slot.factors.isDisjoint(with: $0.kinds) }.map { "\"\($0.name)\"" }
        let cost = slot.cost.map {
            #","kdf":{"memoryKiB":\#($0.memoryKiB),"passes":\#($0.passes),"lanes":\#($0.lanes)}"#
        }
        return
            #"{"type":"\#(slot.isFull ? "full" : "scoped")","factors":[\#(names.joined(separator: ","))]\#(cost ?? "")}"#
    }

    private static let factors: [(name: String, kinds: FactorKinds)] = [
        ("passphrase", .passphrase), ("key-file", [.generatedKeyFile, .otherKeyFile]), ("raw-key", .rawKey),
        ("external", .externalKey),
    ]
}

extension UInt64 {
    /// The difference; 0 if it would be negative.
    fileprivate func subtracting(_ other: UInt64) -> UInt64 { self > other ? self - other : 0 }
}
