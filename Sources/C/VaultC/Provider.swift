internal import CVaultFmt
internal import VaultBytes
internal import VaultFmt
internal import VaultStore

/// A provider implemented by the caller's functions. The functions run on the thread of the call that needs them, and
/// only until that call returns.
struct CallersProvider: SlotFactor, @unchecked Sendable {  // The caller's pointers: any thread of a call may use them.
    let provider: String
    private let functions: vaultfmt_provider

    init(_ pointer: UnsafePointer<vaultfmt_provider>?) throws(VaultError) {
        functions = try given(pointer, sized: \.struct_size, "the provider")
        try requireZero(functions.reserved)
        provider = try Input.string(functions.name, "the provider's name")
    }

    func wrap(for slot: SlotPlace) throws(VaultError) -> WrappedKey {
        guard let function = functions.wrap else {
            throw VaultError(.invalidArgument, "the provider \"\(provider)\" cannot create keys for new slots")
        }
        let wrapped = WrappedHandle()
        try call("create a key") { function(functions.context, Handle.lent(wrapped)) }
        guard let made = wrapped.take() else {
            throw VaultError(.invalidArgument, "the provider \"\(provider)\" did not return a key")
        }
        return made
    }

    func rewrap(ownersData: [UInt8], for slot: SlotPlace) throws(VaultError) -> WrappedKey? {
        guard let function = functions.rewrap else { return nil }
        let wrapped = WrappedHandle()
        // As everywhere in the interface, an empty value has a non-NULL pointer.
        let bytes = ownersData.isEmpty ? [0] : ownersData
        try bytes.withUnsafeBufferPointer { (bytes) throws(VaultError) in
            let data = vaultfmt_bytes(data: bytes.baseAddress, size: ownersData.count)
            try call("recreate a key") { function(functions.context, data, Handle.lent(wrapped)) }
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

    /// Runs one of the caller's functions. If the function fails, the call fails with the error text that the function
    /// has set.
    private func call(_ what: StaticString, _ function: () -> vaultfmt_status) throws(VaultError) {
        vaultfmt_internal_clear_error()
        let status = ForkGate.outside(function)
        let text = String(cString: vaultfmt_error_text())
        // A library call within the function may have left an error text.
        vaultfmt_internal_clear_error()
        guard status != 0 else { return }
        let said = text.isEmpty ? "the provider \"\(provider)\" could not \(what)" : onOneLine(text)
        throw VaultError(VaultError.Code(rawValue: status) ?? .io, said)
    }
}

/// The object behind a `vaultfmt_wrapped`.
final class WrappedHandle {
    private var made: WrappedKey?

    func set(_ parameters: [UInt8], _ ownersData: [UInt8], _ key: consuming Secret) {
        made = WrappedKey(parameters: parameters, ownersData: ownersData, key: key)
    }

    func take() -> WrappedKey? { made.take() }
}

/// The object behind a `vaultfmt_candidates`.
final class CandidatesHandle {
    /// The candidate keys for each slot.
    private(set) var keys: [[CandidateKey]]

    init(slots: Int) { keys = Array(repeating: [], count: slots) }

    func add(_ key: consuming Secret, for slot: Int) throws(VaultError) {
        guard keys.indices.contains(slot) else {
            throw VaultError(.invalidArgument, "this provider has no slot \(UInt(bitPattern: slot))")
        }
        guard keys[slot].count < Format.Limit.candidates else { return }
        keys[slot].append(CandidateKey(key))
    }
}

/// A key in a form that can be copied.
final class CandidateKey {
    let secret: Secret

    init(_ secret: consuming Secret) { self.secret = secret }
}
