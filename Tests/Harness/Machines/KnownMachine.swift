internal import Synchronization
internal import TestSupport
internal import VaultFmt
internal import VaultLocal
internal import VaultStore

/// A machine with a state folder of its own, and the model of what it remembers.
final class KnownMachine {
    /// A program that goes on running.
    struct Program {
        let vault: Vault
        var state: Int
        let asOwner: Bool
        let isWritable: Bool
        /// The file that it has open, and its bytes when the program read it.
        var file: FileIdentity?
        var bytes: [UInt8]
        /// Whether these bytes were overwritten since, in the same file: it has to be opened again.
        var isOverwritten = false
    }

    let name: String
    let machine: Machine
    let isOwner: Bool
    /// What its person opens the vault with.
    var rawKey: Int
    var memory = MachineMemory()
    var program: Program?
    private let warnings = Warnings()

    init(_ name: String, isOwner: Bool, rawKey: Int, _ place: Store.Place) {
        self.name = name
        self.isOwner = isOwner
        self.rawKey = rawKey
        let places = Places(vault: "", generatedKeyFile: "", stateFolder: "/\(name)", witnessFile: nil)
        machine = Machine(places, place: place, notices: warnings.hear)
    }

    var warning: String? { warnings.first }

    /// Everything that it remembers of these places, as it says itself.
    func remembered(_ vault: VaultID, at paths: [String]) throws -> [RememberedState?] {
        try paths.flatMap { path in
            [try machine.remembered(vault, at: path), try machine.remembered(vault, at: path, asOwner: false)]
        }
    }

    private final class Warnings: Sendable {
        private let texts = Mutex<[String]>([])
        var first: String? { texts.withLock { $0.first } }
        func hear(_ notice: Notice) { if notice.kind == .warning { texts.withLock { $0.append(notice.text) } } }
    }
}
