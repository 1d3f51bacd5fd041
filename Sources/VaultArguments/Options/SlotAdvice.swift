import VaultAge
import VaultConsole
package import VaultFmt

/// Advice for when the factors do not open any slot: which factors the slots need, and how to provide them.
package enum SlotAdvice {
    /// If a failure means that no slot opens, adds advice on which factors to provide, and names the options that give
    /// factors, because these options decide which slots are tried.
    /// - `options`: The options that give factors.
    /// - `source`: Where to read the slots.
    static func added(
        to failure: CommandFailure, _ path: String, options: [String], in source: SlotSource
    ) -> CommandFailure {
        guard failure.code == .noSlotOpens else { return failure }
        let reason = failure.message.prefix { $0 != ";" }
        let named = Self.named(options)
        do {
            let slots = try source.slots(at: path)
            // A user whose passphrase was just rejected does not need to be told that a passphrase is needed.
            let needsOnlyThat = slots.allSatisfy { $0.factors == .passphrase && $0.isKnown }
            let advice = reason == "wrong passphrase" && needsOnlyThat ? "" : "; \(text(slots))"
            return CommandFailure(failure.status, "\(reason)\(named)\(advice)", code: failure.code)
        } catch {
            let rest = failure.message.dropFirst(reason.count)
            return CommandFailure(failure.status, "\(reason)\(named)\(rest)", code: failure.code)
        }
    }

    /// Returns text such as " (--passphrase-file and --key-file together)".
    private static func named(_ options: [String]) -> String {
        switch options.count {
        case 0: ""
        case 1: " (\(options[0]))"
        default: " (\(options.joined(separator: " and ")) together)"
        }
    }

    /// Returns text such as "it opens with a passphrase, or with a passphrase and a key file (--key-file)".
    static func text(_ slots: [SlotInfo]) -> String {
        var ways: [String] = []
        for slot in slots where slot.isKnown {
            let way = Self.way(slot.factors, provider: slot.provider)
            if !ways.contains(way) { ways.append(way) }
        }
        if !ways.isEmpty && slots.contains(where: { !$0.isKnown }) {
            ways.append("factors that only a newer vaultfmt supports")
        }
        guard let last = ways.popLast() else { return "its slots are of a later version: a newer vaultfmt is needed" }
        return "it opens with " + (ways.isEmpty ? last : ways.joined(separator: ", with ") + ", or with " + last)
    }

    /// Returns text such as "it opens with a passphrase and a key file together", for a slot that was just created.
    package static func words(_ slot: FactorKinds) -> String {
        let isBoth = slot.contains(.passphrase) && slot != .passphrase
        return "it opens with " + way(slot, withOptions: false) + (isBoth ? " together" : "")
    }

    private static func way(_ slot: FactorKinds, withOptions: Bool = true, provider: String? = nil) -> String {
        let (rawKey, keyFile) = withOptions ? (" (--raw-key-file)", " (--key-file)") : ("", "")
        if slot.contains(.rawKey) { return "a raw key\(rawKey)" }
        var parts: [String] = []
        if slot.contains(.passphrase) { parts.append("a passphrase") }
        if slot.contains(.generatedKeyFile) { parts.append("a generated key file\(keyFile)") }
        if slot.contains(.otherKeyFile) { parts.append("a key file\(keyFile)") }
        if slot.contains(.externalKey) { parts.append(externalKey(provider, withOptions: withOptions)) }
        return parts.joined(separator: " and ")
    }

    private static func externalKey(_ provider: String?, withOptions: Bool) -> String {
        guard !withOptions || provider == AgeFactor.name else { return "a key that another program provides" }
        return withOptions ? "an age identity (--identity)" : "the identity of any of its recipients"
    }
}
