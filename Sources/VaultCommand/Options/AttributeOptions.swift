import ArgumentParser
import VaultFmt
import VaultLocal

/// What an item carries besides its name and its secret.
struct AttributeOptions: ParsableArguments {
    @Option("A label for people.")
    var label: String?

    @Option("A comment for people.")
    var comment: String?

    @Option("What kind of item it is, for people.")
    var description: String?

    @Option("Any other attribute; may be repeated.", value: "name=value")
    var attribute: [String] = []

    @Option("When the secret may be read, and whether on this device only.", value: "when")
    var accessible: AccessibilityName?

    /// When the secret may be read, where given.
    var accessibility: Accessibility? { accessible?.value }

    /// Whether this machine's device is needed for it.
    var deviceNeed: DeviceNeed { accessibility?.isThisDeviceOnly == true ? .create : .ifThere }

    /// The attributes given.
    func values() throws -> Attributes {
        var values = Attributes()
        for text in attribute {
            guard let sign = text.firstIndex(of: "="), sign != text.startIndex else {
                throw CommandFailure(.usage, "--attribute takes NAME=VALUE, not \(TerminalText.quoted(text))")
            }
            let name = String(text[..<sign])
            guard values[name] == nil else {
                throw CommandFailure(.usage, "the attribute \(TerminalText.quoted(name)) is given twice; leave one out")
            }
            values[name] = Array(text[text.index(after: sign)...].utf8)
        }
        for (name, value) in [("label", label), ("comment", comment), ("description", description)] {
            guard let value else { continue }
            guard values[name] == nil else {
                throw CommandFailure(.usage, "--\(name) and --attribute \(name)=… are both given; leave one out")
            }
            values[name] = Array(value.utf8)
        }
        return values
    }
}

/// Attributes to take away.
struct AttributeRemoval: ParsableArguments {
    @Option("Take an attribute away; may be repeated.", value: "name")
    var removeAttribute: [String] = []
}

/// Filters that are no part of an item's name.
struct ItemFilters: ParsableArguments {
    @Option("The label.")
    var label: String?

    @Option("When the secret may be read.", value: "when")
    var accessible: AccessibilityName?
}
