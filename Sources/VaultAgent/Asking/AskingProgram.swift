/// A program that asks a person, and how it is started: as the leader of a process group, without a terminal.
package enum AskingProgram {
    /// One like ssh-askpass, which gets the question as its argument, and a descriptor as its standard output.
    case askpass((_ question: String, _ output: Int32) throws -> Int32)
    case pinentry(Pinentry)
}

/// How a pinentry is started: a program that asks on a screen or on a terminal, and reads commands from its standard
/// input.
package struct Pinentry {
    /// Starts the program with two descriptors as its standard input and output; returns its process. Throws
    /// `AgentError` with a reason for people.
    package typealias Starting = (_ input: Int32, _ output: Int32) throws(AgentError) -> Int32

    let options: [String]
    let start: Starting
    let ended: () -> Void

    /// - `options`: Its options, each `NAME=VALUE`, such as the terminal on which it asks.
    /// - `ended`: Called once when the program has ended, for whatever reason.
    package init(options: [String], start: @escaping Starting, ended: @escaping () -> Void = {}) {
        self.options = options
        self.start = start
        self.ended = ended
    }
}

/// The programs that ask a person.
package struct AskingPrograms {
    /// The one that asks whether something may be done; nil if none can.
    let consent: AskingProgram?
    /// The one that asks for a passphrase; nil if none can.
    let passphrase: Pinentry?
    /// Which they are, for `agent status`.
    let names: String

    package init(consent: AskingProgram? = nil, passphrase: Pinentry? = nil, names: String = "") {
        self.consent = consent
        self.passphrase = passphrase
        self.names = names
    }

    /// Whether there is a program that asks for consent.
    package var canAskForConsent: Bool { consent != nil }

    /// Whether there is a program that asks for passphrases.
    package var canAskForPassphrase: Bool { passphrase != nil }

    /// The one for a question; nil if there is none.
    func program(for query: PersonQuery) -> AskingProgram? {
        switch query.wanted {
        case .consent: consent
        case .passphrase: passphrase.map { AskingProgram.pinentry($0) }
        }
    }
}
