import ArgumentParser

/// The commands' options take the next word as their value, whatever it is: names and secrets' files may begin with a
/// dash.
extension Option {
    /// An option that may be left out.
    /// - `value`: What the help calls its value.
    /// - `isFile`: Whether shells complete it with files.
    init<Wrapped: ExpressibleByArgument>(
        _ help: ArgumentHelp, name: NameSpecification = .long, value: String? = nil, isFile: Bool = false
    ) where Value == Wrapped? {
        self.init(
            name: name, parsing: .unconditional, help: help.named(value), completion: isFile ? .file() : nil)
    }

    /// An option with a default.
    init(
        wrappedValue: Value, _ help: ArgumentHelp, name: NameSpecification = .long, value: String? = nil
    ) where Value: ExpressibleByArgument {
        self.init(wrappedValue: wrappedValue, name: name, parsing: .unconditional, help: help.named(value))
    }

    /// An option that may be repeated.
    init<Element: ExpressibleByArgument>(
        wrappedValue: [Element], _ help: ArgumentHelp, value: String? = nil, isFile: Bool = false
    ) where Value == [Element] {
        self.init(
            wrappedValue: wrappedValue, parsing: .unconditionalSingleValue, help: help.named(value),
            completion: isFile ? .file() : nil)
    }
}

extension ArgumentHelp {
    fileprivate func named(_ value: String?) -> ArgumentHelp {
        var help = self
        if let value { help.valueName = value }
        return help
    }
}
