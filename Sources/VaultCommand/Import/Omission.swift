/// What a source has and the vault will not have.
struct Omission {
    /// What it is, and where.
    let text: String
    /// Whether nothing is lost by it, or an option asks for it.
    let isIntended: Bool

    /// Something that is lost.
    static func loss(_ text: String) -> Omission { Omission(text: text, isIntended: false) }

    /// Something that an option brings, or that is no loss.
    static func intended(_ text: String) -> Omission { Omission(text: text, isIntended: true) }
}
