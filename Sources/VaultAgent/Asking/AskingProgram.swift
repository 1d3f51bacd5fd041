/// A program that asks a person, and how to start it: as the leader of a process group, without a terminal.
package enum AskingProgram {
    /// A program like ssh-askpass. It receives the question as its argument, and `output` as its standard output.
    case askpass((_ question: String, _ output: Int32) throws -> Int32)
    case pinentry(Pinentry)
}

/// How to start a pinentry, a program that asks on a screen or on a terminal and reads commands from its standard
/// input.
package struct Pinentry {
    /// Starts the program with these descriptors as its standard input and output, and returns its process id. Throws
    /// an `AgentError` with a reason to show to the user.
    package typealias Starting = (_ input: Int32, _ output: Int32) throws(AgentError) -> Int32

    let options: [String]
    let start: Starting
    let ended: () -> Void

    /// - `options`: Options for pinentry, each `NAME=VALUE`, such as the terminal to ask on.
    /// - `ended`: Called once when the program has ended, for whatever reason.
    package init(options: [String], start: @escaping Starting, ended: @escaping () -> Void = {}) {
        self.options = options
        self.start = start
        self.ended = ended
    }
}

/// The programs that ask a person.
package struct AskingPrograms {
    /// The program that asks for consent; nil if there is none.
    let consent: AskingProgram?
    /// The program that asks for a passphrase; nil if there is none.
    let passphrase: Pinentry?
    /// The names of these programs, for `agent status`.
    let names: String

    package init(consent: AskingProgram? = nil, passphrase: Pinentry? = nil, names: String = "") {
        self.consent = consent
        self.passphrase = passphrase
        self.names = names
    }

    /// True if there is a program that asks for consent.
    package var canAskForConsent: Bool { consent != nil }

    /// True if there is a program that asks for passphrases.
    package var canAskForPassphrase: Bool { passphrase != nil }

    /// Returns the program that asks a question; nil if there is none.
    func program(for query: PersonQuery) -> AskingProgram? {
        switch query.wanted {
        case .consent: consent
        case .passphrase: passphrase.map { AskingProgram.pinentry($0) }
        }
    }
}
