package import VaultAge
import VaultConsole
package import VaultFmt
import VaultLocal

/// Recreates slots for recipients in a rotation, without their identities.
package struct SlotRemaking {
    package let factor: AgeFactor
    private let resolve: AgeFactor.Resolver

    package init(mayAsk: Bool) {
        resolve = AgeKeys.resolver(AgeKeys.plugins(mayAsk: mayAsk))
        factor = AgeFactor(resolver: resolve)
    }

    /// Returns whether a slot needs only its recipients.
    package static func canRemake(_ slot: SlotInfo) -> Bool {
        slot.factors == .externalKey && slot.provider == AgeFactor.name
    }

    /// Keeps the slots that can be recreated, and lists their recipients. A slot that cannot be recreated is reported
    /// and will be dropped.
    /// - Returns: The number of slots kept.
    package func apply(to rotation: inout Rotation) throws -> Int {
        var remade = 0
        for slot in rotation.dropped where Self.canRemake(slot) {
            let recipients: [RecipientText]
            do throws(AgeError) { recipients = try self.recipients(slot) } catch {
                Terminal.warning("slot \(slot.id) cannot be recreated: \(error.detail)")
                continue
            }
            try whileOpening { try rotation.keep(slot.id, madeAgainBy: factor) }
            let name = slot.name.map { $0.isEmpty ? "" : " \(TerminalText.quoted($0))" } ?? ""
            for recipient in recipients {
                Terminal.note("slot \(slot.id)\(name) can be opened by \(TerminalText.escaped(recipient.text))")
            }
            remade += 1
        }
        return remade
    }

    /// Returns the slot's recipients, if all recipients can be used here.
    private func recipients(_ slot: SlotInfo) throws(AgeError) -> [RecipientText] {
        guard let recipients = try AgeSlot(slot)?.recipients else {
            throw AgeError(.invalidRecipient, "it does not name its recipients")
        }
        for recipient in recipients { _ = try resolve(recipient) }
        return recipients
    }
}
