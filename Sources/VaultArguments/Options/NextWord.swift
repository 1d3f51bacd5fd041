package import ArgumentParser

/// Options that always take the next word as their value, because names and paths may begin with a dash.
extension Option {
    /// An option that may be omitted.
    /// - `value`: The name of the option's value in the help.
    /// - `isFile`: Whether shells complete the value with files.
    /// - `completion`: How shells complete the value, if not with files.
    package init<Wrapped: ExpressibleByArgument>(
        _ help: ArgumentHelp, name: NameSpecification = .long, value: String? = nil, isFile: Bool = false,
        completion: CompletionKind? = nil
    ) where Value == Wrapped? {
        self.init(
            name: name, parsing: .unconditional, help: help.named(value), completion: isFile ? .file() : completion)
    }

    /// An option with a default.
    package init(
        wrappedValue: Value, _ help: ArgumentHelp, name: NameSpecification = .long, value: String? = nil
    ) where Value: ExpressibleByArgument {
        self.init(wrappedValue: wrappedValue, name: name, parsing: .unconditional, help: help.named(value))
    }

    /// An option that may be repeated.
    package init<Element: ExpressibleByArgument>(
        wrappedValue: [Element], _ help: ArgumentHelp, name: NameSpecification = .long, value: String? = nil,
        isFile: Bool = false, completion: CompletionKind? = nil
    ) where Value == [Element] {
        self.init(
            wrappedValue: wrappedValue, name: name, parsing: .unconditionalSingleValue, help: help.named(value),
            completion: isFile ? .file() : completion)
    }
}

extension ArgumentHelp {
    fileprivate func named(_ value: String?) -> ArgumentHelp {
        var help = self
        if let value { help.valueName = value }
        return help
    }
}
