import VaultAge
package import VaultFmt
import VaultLocal

/// The recipients of an age slot as shown to people: owners see the recipients, everyone else sees only their types.
package enum RecipientList {
    /// Returns the contents of an age slot; nil if the slot belongs to another provider or its data cannot be read.
    static func slot(_ slot: SlotInfo) -> AgeSlot? {
        do throws(AgeError) { return try AgeSlot(slot) } catch { return nil }
    }

    /// Returns, for example, "recipients age1ql3z7hjy54…, ssh-ed25519 AAAA…" or "recipients of the kinds X25519,
    /// ssh-ed25519".
    static func text(_ slot: SlotInfo) -> String? {
        guard let age = Self.slot(slot) else { return nil }
        if let recipients = age.recipients {
            return "recipients \(recipients.map { short($0.text) }.joined(separator: ", "))"
        }
        let kinds = Set(age.stanzaTypes.map { TerminalText.escaped($0) }).sorted()
        return kinds.isEmpty ? "recipients" : "recipients of the kinds \(kinds.joined(separator: ", "))"
    }

    /// Returns enough of a recipient to distinguish it from others: a short text unchanged, or the start and end of a
    /// long one.
    static func short(_ text: String) -> String {
        let shown = TerminalText.escaped(text)
        return shown.count <= 96 ? shown : "\(shown.prefix(24))…\(shown.suffix(12))"
    }

    /// Returns "not post-quantum" if the slot is known not to be post-quantum.
    package static func mark(_ slot: SlotInfo) -> String? {
        guard let age = Self.slot(slot) else { return nil }
        return age.isPostQuantum == false ? "not post-quantum" : nil
    }
}
