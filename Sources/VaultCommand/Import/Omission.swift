/// Something in a source that the vault will not contain.
struct Omission {
    /// A description of the omission, and its place in the source.
    let text: String
    /// Whether leaving it out loses nothing, or was requested by an option.
    let isIntended: Bool

    /// Something that is lost.
    static func loss(_ text: String) -> Omission { Omission(text: text, isIntended: false) }

    /// Something that is not a loss, or that an option would import.
    static func intended(_ text: String) -> Omission { Omission(text: text, isIntended: true) }
}
