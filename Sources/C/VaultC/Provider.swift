internal import CVaultFmt
internal import VaultBytes
internal import VaultFmt
internal import VaultStore

/// A provider whose functions the caller has. They run on the thread of the call that needs them, until it returns.
struct CallersProvider: SlotFactor, @unchecked Sendable {  // The caller's pointers: any thread of a call may use them.
    let provider: String
    private let functions: vaultfmt_provider

    init(_ pointer: UnsafePointer<vaultfmt_provider>?) throws(VaultError) {
        functions = try given(pointer, sized: \.struct_size, "the provider")
        try requireZero(functions.reserved)
        provider = try Input.string(functions.name, "the provider's name")
    }

    func wrap() throws(VaultError) -> WrappedKey {
        guard let function = functions.wrap else {
            throw VaultError(.invalidArgument, "the provider \"\(provider)\" makes no keys for new slots")
        }
        let wrapped = WrappedHandle()
        try call("make a key") { function(functions.context, Handle.lent(wrapped)) }
        guard let made = wrapped.take() else {
            throw VaultError(.invalidArgument, "the provider \"\(provider)\" made no key")
        }
        return made
    }

    func rewrap(ownersData: [UInt8]) throws(VaultError) -> WrappedKey? {
        guard let function = functions.rewrap else { return nil }
        let wrapped = WrappedHandle()
        // An empty value has a pointer, as everywhere.
        let bytes = ownersData.isEmpty ? [0] : ownersData
        try bytes.withUnsafeBufferPointer { (bytes) throws(VaultError) in
            let data = vaultfmt_bytes(data: bytes.baseAddress, size: ownersData.count)
            try call("make a key again") { function(functions.context, data, Handle.lent(wrapped)) }
        }
        return wrapped.take()
    }

    func unwrap(_ slots: [ExternalSlot], into candidates: inout KeyCandidates) throws(VaultError) {
        guard let function = functions.unwrap else { return }
        let found = CandidatesHandle(slots: slots.count)
        let list = try Block.make { arena in
            var list: [vaultfmt_external_slot] = []
            for slot in slots {
                var out = vaultfmt_external_slot()
                Output.fill(&out.id, slot.id)
                out.parameters = arena.append(slot.parameters)
                list.append(out)
            }
            return ExternalSlots(slots: arena.append(list))
        }
        defer { Block.free(list) }
        try call("find keys") { function(functions.context, list.pointee.slots, slots.count, Handle.lent(found)) }
        for (index, keys) in found.keys.enumerated() {
            for key in keys { try candidates.add(key.secret.copy(), for: index) }
        }
    }

    private struct ExternalSlots {
        let slots: UnsafePointer<vaultfmt_external_slot>?
    }

    /// Runs a function of the caller's. Its failure is the call's, with the text that it left.
    private func call(_ what: StaticString, _ function: () -> vaultfmt_status) throws(VaultError) {
        vaultfmt_internal_clear_error()
        let status = ForkGate.outside(function)
        let text = String(cString: vaultfmt_error_text())
        // What it called itself may have left a text.
        vaultfmt_internal_clear_error()
        guard status != 0 else { return }
        let said = text.isEmpty ? "the provider \"\(provider)\" could not \(what)" : Self.line(text)
        throw VaultError(VaultError.Code(rawValue: status) ?? .io, said)
    }

    private static func line(_ text: String) -> String {
        String(text.map { $0.unicodeScalars.contains { $0.properties.generalCategory == .control } ? " " : $0 })
    }
}

/// What a `vaultfmt_wrapped` is.
final class WrappedHandle {
    private var made: WrappedKey?

    func set(_ parameters: [UInt8], _ ownersData: [UInt8], _ key: consuming Secret) {
        made = WrappedKey(parameters: parameters, ownersData: ownersData, key: key)
    }

    func take() -> WrappedKey? { made.take() }
}

/// What a `vaultfmt_candidates` is.
final class CandidatesHandle {
    /// For each slot.
    private(set) var keys: [[CandidateKey]]

    init(slots: Int) { keys = Array(repeating: [], count: slots) }

    func add(_ key: consuming Secret, for slot: Int) throws(VaultError) {
        guard keys.indices.contains(slot) else {
            throw VaultError(.invalidArgument, "there is no slot \(UInt(bitPattern: slot)) of this provider")
        }
        guard keys[slot].count < Format.Limit.candidates else { return }
        keys[slot].append(CandidateKey(key))
    }
}

/// A key where a copyable value is needed.
final class CandidateKey {
    let secret: Secret

    init(_ secret: consuming Secret) { self.secret = secret }
}
