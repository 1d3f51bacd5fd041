import VaultLocal

/// The colour and weight of text, used only on a terminal, and never if NO_COLOR is set (https://no-color.org) or TERM
/// is "dumb".
package struct Style {
    package enum Role: String {
        case heading = "1"
        case warning = "33"
        case failure = "31"
    }

    let isOn: Bool

    package static var standardOutput: Style { Style(isOn: Terminal.outputIsTerminal && wanted) }
    static var standardError: Style { Style(isOn: Terminal.errorIsTerminal && wanted) }

    package func apply(_ role: Role, to text: String) -> String {
        isOn ? "\u{1B}[\(role.rawValue)m\(text)\u{1B}[0m" : text
    }

    private static var wanted: Bool {
        let noColor = Environment.value("NO_COLOR") ?? ""
        return noColor.isEmpty && Environment.value("TERM") != "dumb"
    }
}
