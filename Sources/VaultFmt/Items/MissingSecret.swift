internal import VaultStore

// The reasons why items show no secret. Only an owner can read the values that determine the reason.
extension RecordReading {
    /// Returns the reason why an item that lacks a secret shows none; `hidden` for a scoped slot, and `unknown` if the
    /// values that the item does not show cannot be read here.
    func missingSecret(of item: Item) throws(VaultError) -> VaultError.MissingSecret {
        do throws(VaultError) {
            let state = try state(of: item)
            return state.missingSecret(try view(of: item, state))
        } catch {
            let unreadable: Set<VaultError.Code> = [
                .locked, .notPermitted, .deviceBound, .authenticationFailed, .structureInvalid, .unsupportedForm,
            ]
            guard unreadable.contains(error.code) else { throw error }
            return error.code == .notPermitted ? .hidden : .unknown
        }
    }
}

extension ItemState {
    /// Returns the reason why the item shows no secret, given what it shows.
    func missingSecret(_ view: ItemView) -> VaultError.MissingSecret {
        if view.marks.contains(where: { $0.field == .secret }) { return .toSettle }
        if view.earlier.contains(where: { $0.field == .secret }) { return .earlier }
        return forgotten.contains(where: { $0.field == .secret }) ? .forgotten : .gone
    }
}
