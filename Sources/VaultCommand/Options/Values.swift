import ArgumentParser
import VaultFmt

/// An item's class by its name.
struct ClassName: ExpressibleByArgument {
    let value: ItemClass

    init?(argument: String) {
        guard let value = ItemClass(name: argument) else { return nil }
        self.value = value
    }

    static var allValueStrings: [String] { ItemClass.allCases.map(\.name) }
}

/// When a secret may be read, by its name.
struct AccessibilityName: ExpressibleByArgument {
    let value: Accessibility

    init?(argument: String) {
        guard let value = Accessibility(name: argument) else { return nil }
        self.value = value
    }

    static var allValueStrings: [String] { Accessibility.allCases.map(\.name) }
}

/// The public key of a vault's owners: 64 hexadecimal digits.
struct OwnerArgument: ExpressibleByArgument {
    let value: OwnersPublicKey

    init?(argument: String) {
        guard let value = OwnersPublicKey(argument) else { return nil }
        self.value = value
    }
}

/// Bytes on the command line: `hex:…`, `base64:…`, or text.
struct BytesArgument: ExpressibleByArgument {
    let bytes: [UInt8]

    init?(argument: String) {
        if argument.hasPrefix("hex:") {
            guard let bytes = Self.hex(argument.dropFirst(4)) else { return nil }
            self.bytes = bytes
        } else if argument.hasPrefix("base64:") {
            guard let bytes = Self.base64(argument.dropFirst(7)) else { return nil }
            self.bytes = bytes
        } else {
            bytes = Array(argument.utf8)
        }
    }

    private static func hex(_ text: Substring) -> [UInt8]? {
        let digits = text.compactMap(\.hexDigitValue)
        guard digits.count == text.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    private static func base64(_ text: Substring) -> [UInt8]? {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        let digits = text.prefix { $0 != "=" }
        guard text.count.isMultiple(of: 4), text.count - digits.count <= 2,
            text.dropFirst(digits.count).allSatisfy({ $0 == "=" })
        else {
            return nil
        }
        var bytes: [UInt8] = []
        var bits = 0
        var held = 0
        for digit in digits {
            guard let value = alphabet.firstIndex(of: digit) else { return nil }
            bits = (bits << 6 | value) & 0xFFFF
            held += 6
            if held >= 8 {
                held -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> held))
            }
        }
        return bytes
    }
}

/// A number of a key's class or type, which has a name for the common ones.
struct NamedNumber: ExpressibleByArgument {
    let value: UInt32
    /// Apple's constants for keys: classes 0 to 2; types as CSSM numbers them.
    static let names: [String: UInt32] = [
        "public": 0, "private": 1, "symmetric": 2, "rsa": 42, "ec": 73, "aes": 2_147_483_649,
    ]

    init?(argument: String) {
        guard let value = UInt32(argument) ?? Self.names[argument.lowercased()] else { return nil }
        self.value = value
    }
}
