import Glibc
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// Prints or copies the current one-time code of an item.
struct OneTimeDelivery {
    /// True to wait for the next code if the current one is about to expire.
    var waitsForFresh = false
    /// The number of seconds after which the clipboard is cleared; nil for standard output.
    var clip: Int?
    var json = false

    /// The remaining validity, in seconds, below which a code is hard to type before it expires.
    static let fresh: Int64 = 10

    /// Returns the address from which an item's codes are computed.
    static func address(of item: Item, in vault: Vault) throws -> Secret {
        for name in [AttributeName.oneTimePassword, AttributeName.earlierOneTimePassword] {
            if let address = try vault.attribute(name, of: item) { return address }
        }
        if try isToSettle(item, in: vault) {
            throw CommandFailure(
                .noSuchItem,
                "\(ItemText.summary(item.key)) shows no one-time codes, because a merge has left their seed to settle; \(VaultError.MissingSecret.toSettle.advice)"
            )
        }
        throw CommandFailure(
            .noSuchItem,
            "\(ItemText.summary(item.key)) has no one-time codes; add them with 'vaultfmt update --otp'")
    }

    /// Returns whether a merge has left a seed of one-time codes to settle. Only owners can read the values to settle.
    private static func isToSettle(_ item: Item, in vault: Vault) throws -> Bool {
        guard item.needsSettling, vault.access == .owner, let conflict = try vault.conflict(in: item.key) else {
            return false
        }
        return conflict.values.contains { value in
            [AttributeName.oneTimePassword, AttributeName.earlierOneTimePassword]
                .contains { value.field == .attribute($0) }
        }
    }

    /// Writes the code and, on a terminal, how long it remains valid.
    func deliver(_ item: Item, in vault: Vault) throws {
        let address = try Self.address(of: item, in: vault)
        let maker: OneTimeCode
        do throws(OneTimeCode.Problem) {
            maker = try OneTimeCode(address: address)
        } catch {
            throw CommandFailure(
                .unavailable,
                "\(ItemText.summary(item.key)) has a seed that cannot generate codes: \(error.text); replace it with 'vaultfmt update --otp'"
            )
        }
        var now = Self.now()
        if waitsForFresh, maker.secondsLeft(at: now) < min(Self.fresh, maker.period) {
            if Terminal.errorIsTerminal { Terminal.note("the next code is due in \(maker.secondsLeft(at: now)) s") }
            repeat {
                sleep(UInt32(clamping: maker.secondsLeft(at: now)))
                now = Self.now()
            } while maker.secondsLeft(at: now) < min(Self.fresh, maker.period)
        }
        let code = maker.code(at: now)
        let left = maker.secondsLeft(at: now)
        if json { return try writeJSON(code, left, maker.period) }
        if let clip {
            try Clipboard.copy(code, clearAfter: clip)
        } else {
            try Output.deliver(code, force: false)
        }
        if Terminal.errorIsTerminal { Terminal.note("valid for \(left) s") }
    }

    private func writeJSON(_ code: borrowing Secret, _ left: Int64, _ period: Int64) throws {
        let code = code.copy()
        var writer = JSONWriter(Output.standard())
        try writer.object { writer in
            try writer.member("code", code)
            try writer.member("secondsLeft", left)
            try writer.member("period", period)
        }
        try writer.finish()
    }

    private static func now() -> Int64 { Int64(time(nil)) }
}
