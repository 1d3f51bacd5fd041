import VaultConsole
import VaultFmt
package import VaultLocal

/// This machine, with notices written to standard error.
package enum ThisMachine {
    package static func current() throws -> Machine {
        try Machine(notices: say)
    }

    private static func say(_ notice: Notice) {
        switch notice.kind {
        case .note: Terminal.note(notice.text)
        case .warning: Terminal.warning(notice.text)
        }
    }
}
