/// The form of an option's values, for the message about an invalid value.
enum ValueForms {
    /// Returns the form that the given option requires, as part of a sentence; nil if any text is valid.
    /// - `option`: The option in the argument parser's form, such as `--for <time>`.
    static func form(of option: Substring) -> String? {
        let parts = option.split(separator: " ", maxSplits: 1)
        guard let name = parts.first else { return nil }
        if let form = byName[String(name)] { return form }
        let valueName = parts.dropFirst().first?.filter { !"<>".contains($0) } ?? ""
        return numbers.contains(valueName) ? "a whole number" : nil
    }

    private static let byName: [String: String] = [
        "--for": duration, "--time": duration, "--idle": duration,
        "--older-than": age, "--expires-within": age,
        "--kdf-memory": memory, "--max-kdf-memory": memory, "--max-kdf-work": memory,
        "--owner": "64 hexadecimal digits",
        "--key-class": "public, private, symmetric or a number",
        "--key-type": "rsa, ec, aes or a number",
        "--application-tag": bytes, "--application-label": bytes, "--issuer": bytes, "--serial-number": bytes,
        "--kdf-time": "a number of seconds, such as 0.5", "--wait": "a number of seconds, such as 0.5",
        "--patience": "a number of seconds, such as 30",
    ]

    private static let duration = "a number with s, m, h or d, such as 15m, up to 30d"
    private static let age = "a number with d, w, m or y, such as 90d"
    private static let memory = "a number of MiB, or one with a unit, such as 512KiB or 1GiB"
    private static let bytes = "text, or bytes as hex:… or base64:…"

    private static let numbers: Set<String> = [
        "n", "number", "seconds", "bits", "port", "to-port", "length", "words", "generation", "certificate-type",
        "passphrase-fd", "new-passphrase-fd",
    ]
}
