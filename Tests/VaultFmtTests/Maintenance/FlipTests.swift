import Testing
import VaultBytes
import VaultStore

@testable import VaultFmt

/// D9, F1, F4: one flipped bit in a small vault that was written at once.
@Suite("A flipped bit in a fresh vault of ten items")
struct FlipTests {
    private let memory = InMemory()

    private func key(_ number: Int) throws(VaultError) -> ItemKey { try password("s", "\(number)") }

    private func filled() throws -> [UInt8] {
        let vault = try memory.create()
        try vault.transaction { (transaction) throws(VaultError) in
            for number in 0..<10 { try transaction.add(try key(number), secret: Secret(text: "secret \(number)")) }
        }
        try vault.put(key(3), "changed")
        try vault.compact()
        return try memory.bytes()
    }

    /// The items that can be read, or the failure that keeps everything from it.
    private func readable(_ vault: Vault) -> Set<Int> {
        Set(
            (0..<10).filter { number in
                do { return try vault.text(key(number)) == (number == 3 ? "changed" : "secret \(number)") } catch {
                    return false
                }
            })
    }

    @Test(
        "costs exactly its item where it is in a record, is a typed error or costs nothing elsewhere; verification names all of them"
    )
    func everywhere() throws {
        let bytes = try filled()
        let all = try frames(bytes)
        let dump = try memory.open().dump()
        var found: [FrameType: Int] = [:]
        var refused = 0
        // Every frame's head, and places all over the file.
        let places =
            all.flatMap { Array($0.range.lowerBound..<$0.range.lowerBound + 9) }
            + Array(stride(from: 0, to: bytes.count, by: 37))
        for place in places {
            var damaged = bytes
            damaged[place] ^= UInt8(1 << (place % 8))
            memory.files.put("a.vault", damaged)
            let frame = all.first { $0.range.contains(place) }
            let vault: Vault
            do { vault = try memory.open() } catch let error as VaultError {
                let expected: [VaultError.Code] = [
                    .notAVault, .unsupportedVersion, .headerInvalid, .authenticationFailed, .structureInvalid,
                    .tampered, .noSlotOpens,
                ]
                #expect(expected.contains(error.code), "byte \(place): \(error)")
                #expect(place < 4096 || frame?.type == .commit || frame?.type == .keyring, "byte \(place): \(error)")
                refused += 1
                continue
            }
            let report = try vault.verify()
            #expect(!report.isSound && report.problemCount > 0, "byte \(place) is not named")
            let lost = 10 - readable(vault).count
            if let type = frame?.type {
                found[type, default: 0] += 1
                // An earlier value's record, or a locator, costs no item at all.
                if type == .record { #expect(lost <= 1, "byte \(place) costs \(lost) items") }
                if type == .vector || type == .past { #expect(lost == 0, "byte \(place)") }
            } else {
                #expect(lost == 0, "byte \(place)")
            }
        }
        #expect(refused > 100 && (found[.record] ?? 0) > 100 && found[.page] != nil && found[.vector] != nil)
        // In the copy of the header, nothing is lost and it is named; the header itself costs nothing in salvage.
        for place in stride(from: 0, to: 8192, by: 97) {
            var damaged = bytes
            damaged[place] ^= 0x10
            memory.files.put("a.vault", damaged)
            if memory.files.bytes(of: "new.vault") != nil { try memory.files.remove("new.vault") }
            let report = try Vault.salvage(
                "a.vault", factors: try Fast.rawKey(), to: "new.vault", newFactors: try Fast.rawKey(),
                options: CreateOptions(),
                place: memory.place)
            #expect(try report.isComplete && memory.open("new.vault").dump() == dump, "byte \(place)")
        }
    }

    @Test("that an owner's program left unsigned, or signed for nobody, is named (R-5.19)", arguments: [false, true])
    func signatures(isScoped: Bool) throws {
        _ = try filled()
        let vault = try memory.open()
        if isScoped { try vault.addSlot(try Fast.rawKey(9), grantedGroups: [""]) }
        try expectSound(vault)
        try vault.withCore { (core) throws(VaultError) in
            let store = core.store
            let codec = CommitCodec(store.slot.keys, sealing: store.sealing, vault: store.vault, isSigning: !isScoped)
            try store.file.write(codec.seal(store.state.commit).frame, at: store.state.commit.offset)
        }
        let problems = try memory.open().verify().problems.map(\.what)
        #expect(
            problems.count == 1 && problems[0].contains(isScoped ? "no signature" : "an unnecessary signature"),
            "\(problems)")
        if isScoped { fails(.tampered) { _ = try memory.open(with: try Fast.rawKey(9)) } }
    }
}
