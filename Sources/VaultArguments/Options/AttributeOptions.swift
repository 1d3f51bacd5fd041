package import ArgumentParser
import VaultConsole
import VaultExchange
package import VaultFmt
import VaultLocal

/// The attributes of an item: everything except its name and its secret.
package struct AttributeOptions: ParsableArguments {
    @Option("A human-readable label.")
    var label: String?

    @Option("A human-readable comment.")
    var comment: String?

    @Option("A human-readable description of the kind of item.")
    var description: String?

    @Option("Any other attribute; may be repeated.", value: "name=value")
    var attribute: [String] = []

    @Option(
        "Attach a file of at most 16 MiB, under its name or as NAME=FILE, which a pipe needs; may be repeated.",
        value: "file", isFile: true)
    var attach: [String] = []

    @Option("How often to change the secret, such as 90d, 26w, 6m or 1y; or never.", value: "time")
    var rotateEvery: ChangeInterval?

    @Option("When the secret may be read, and whether on this device only.", value: "when")
    var accessible: AccessibilityName?

    package init() {}

    /// The secret's accessibility, if given.
    package var accessibility: Accessibility? { accessible?.value }

    /// True if the command must create this machine's device, which some accessibilities require.
    package var deviceNeed: DeviceNeed { accessibility?.isThisDeviceOnly == true ? .create : .ifThere }

    /// The attributes that the options remove.
    package var removed: [String] { rotateEvery == .never ? [AttributeName.changeInterval] : [] }

    /// Refuses new attributes whose names could be mistaken for the secret. Imports keep such fields of other programs,
    /// so an item's sealed attribute of that name can still be changed, and stays sealed.
    /// - `items`: The items before the change; none for a new item.
    package func checkNames(in items: [Item]) throws {
        for (name, _) in try named() where AttributeRules.isMistakable(name) {
            let isSealed = items.map { $0.attributes.attribute(name)?.flags.contains(.sealed) ?? false }
            guard isSealed.isEmpty || isSealed.contains(false) else { continue }
            try AttributeRules.requireNotSecret(name, .option)
        }
    }

    /// The attributes that the options specify. Their names are checked by `checkNames(in:)`.
    package func values() throws -> Attributes {
        var values = Attributes()
        for (name, value) in try named() {
            guard name != AttributeName.oneTimePassword else {
                throw CommandFailure(
                    .usage,
                    "the seed for one-time codes must not be given as an argument, because other programs can read arguments; use --otp"
                )
            }
            guard values[name] == nil else {
                let several =
                    name == AttributeName.address
                    ? "; to store several addresses, use one value with one address per line" : ""
                throw CommandFailure(
                    .usage, "the attribute \(TerminalText.quoted(name)) is given twice; leave one out\(several)")
            }
            if AttributeRules.restrictsValue(of: name) {
                try AttributeRules.check(name, String(decoding: value, as: UTF8.self), .option)
            }
            AttributeRules.noteNotes(name)
            values[name] = value
        }
        var interval: String?
        if case .every(let text, _)? = rotateEvery { interval = text }
        let options = [
            ("label", "label", label), ("comment", "comment", comment), ("description", "description", description),
            ("rotate-every", AttributeName.changeInterval, interval),
        ]
        for (option, name, value) in options {
            guard let value else { continue }
            guard values[name] == nil else {
                throw CommandFailure(.usage, "--\(option) and --attribute \(name)=… are both given; leave one out")
            }
            values[name] = Array(value.utf8)
        }
        for path in attach {
            let file = try Attachment.read(path)
            guard values.attribute(file.name) == nil else {
                let name = TerminalText.quoted(Attachment.title(file.name))
                throw CommandFailure(
                    .usage, "two attachments are named \(name); give one of them another name with NAME=FILE")
            }
            values.set(file)
        }
        return values
    }

    /// Reports attributes that look like secrets, but are stored readably.
    /// - `items`: The items before the change, in which a sealed attribute stays sealed; none for a new item.
    package func noteReadable(in items: [Item]) throws {
        for (name, value) in try named() {
            AttributeRules.noteReadable(Attribute(name, value), in: items, .option)
        }
    }

    /// The names and values given by --attribute.
    package func named() throws -> [(name: String, value: [UInt8])] { try attribute.map(AttributeArgument.split) }
}

/// Attributes to remove.
package struct AttributeRemoval: ParsableArguments {
    @Option("Remove an attribute; may be repeated.", value: "name")
    package var removeAttribute: [String] = []

    package init() {}
}

/// Filters for properties that are not part of an item's name; an item must match all filters.
package struct ItemFilters: ParsableArguments {
    @Option("The label.")
    package var label: String?

    @Option("When the secret may be read.", value: "when")
    package var accessible: AccessibilityName?

    @Option("An attribute with this value; may be repeated.", value: "name=value")
    package var attribute: [String] = []

    package init() {}

    /// True if any filter is given.
    package var isAnyGiven: Bool { label != nil || accessible != nil || !attribute.isEmpty }

    /// The conditions that a query does not cover.
    /// - `place`: Filters by folder and tag.
    /// - `words`: The words to search for.
    package func filter(_ place: PlaceFilters, words: [String] = []) throws -> ItemFilter {
        var filter = place.filter
        filter.words = words
        for text in attribute { filter.attributes.append(try AttributeArgument.split(text)) }
        guard let name = filter.attributes.map(\.name).first(where: { Attribute.Flags.usual(for: $0) != [] }) else {
            return filter
        }
        let advice =
            name == AttributeName.notes
            ? "'vaultfmt list WORD --notes' searches in notes" : "filter by another attribute"
        throw CommandFailure(
            .usage, "\(TerminalText.quoted(name)) is sealed and cannot be compared; \(advice)")
    }
}

/// Filters by folder and tag.
package struct PlaceFilters: ParsableArguments {
    @Option("The folder, including its subfolders.", completion: .custom(VaultCompletion.folders))
    package var folder: String?

    @Option("A tag; may be repeated.", completion: .custom(VaultCompletion.tags))
    package var tag: [String] = []

    package init() {}

    /// True if any filter is given.
    package var isAnyGiven: Bool { folder != nil || !tag.isEmpty }

    /// The filter for these options.
    var filter: ItemFilter { ItemFilter(folder: folder, tags: tag) }
}

/// An attribute written as `NAME=VALUE`.
enum AttributeArgument {
    /// The name and the value.
    static func split(_ text: String) throws -> (name: String, value: [UInt8]) {
        guard let sign = text.firstIndex(of: "="), sign != text.startIndex else {
            throw CommandFailure(.usage, "--attribute takes NAME=VALUE; see 'vaultfmt help items'")
        }
        return (String(text[..<sign]), Array(text[text.index(after: sign)...].utf8))
    }
}
