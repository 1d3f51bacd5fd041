package import ArgumentParser
import FoundationEssentials
import VaultBytes
package import VaultFmt

/// An item's class, given by name.
package struct ClassName: ExpressibleByArgument {
    let value: ItemClass

    package init?(argument: String) {
        guard let value = ItemClass(name: argument) else { return nil }
        self.value = value
    }

    package static var allValueStrings: [String] { ItemClass.allCases.map(\.name) }
    package static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
}

/// An accessibility, given by name.
package struct AccessibilityName: ExpressibleByArgument {
    package let value: Accessibility

    package init?(argument: String) {
        guard let value = Accessibility(name: argument) else { return nil }
        self.value = value
    }

    package static var allValueStrings: [String] { Accessibility.allCases.map(\.name) }
    package static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
}

/// The public key of a vault's owners: 64 hexadecimal digits.
package struct OwnerArgument: ExpressibleByArgument {
    package let value: OwnersPublicKey

    package init?(argument: String) {
        guard let value = OwnersPublicKey(argument) else { return nil }
        self.value = value
    }
}

/// Bytes on the command line: `hex:…`, `base64:…`, or text.
struct BytesArgument: ExpressibleByArgument {
    let bytes: [UInt8]

    init?(argument: String) {
        if argument.hasPrefix("hex:") {
            guard let bytes = Hex.decode(argument.dropFirst(4)) else { return nil }
            self.bytes = bytes
        } else if argument.hasPrefix("base64:") {
            guard let data = Data(base64Encoded: String(argument.dropFirst(7))) else { return nil }
            bytes = Array(data)
        } else {
            bytes = Array(argument.utf8)
        }
    }
}

/// The number of a key's class or type. Common numbers have names.
struct NamedNumber: ExpressibleByArgument {
    let value: UInt32
    /// Apple's constants for keys: the classes are numbered from 0 to 2, and the types have the numbers that CSSM
    /// assigns to them.
    static let names: [String: UInt32] = [
        "public": 0, "private": 1, "symmetric": 2, "rsa": 42, "ec": 73, "aes": 2_147_483_649,
    ]

    init?(argument: String) {
        guard let value = UInt32(argument) ?? Self.names[argument.lowercased()] else { return nil }
        self.value = value
    }
}
