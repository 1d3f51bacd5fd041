import VaultFmt

/// Times in KeePass's format, in UTC.
enum KDBXTime {
    /// Parses "2024-01-31T23:59:59Z", with or without a fraction and with any offset, into milliseconds since 1970;
    /// returns nil for any other form.
    static func milliseconds(_ text: String) -> Int64? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes[4] == 0x2D, bytes[7] == 0x2D, bytes[10] == 0x54, bytes[13] == 0x3A,
            bytes[16] == 0x3A, let year = number(bytes[0..<4]), let month = number(bytes[5..<7]),
            let day = number(bytes[8..<10]), let hour = number(bytes[11..<13]), let minute = number(bytes[14..<16]),
            let second = number(bytes[17..<19]), let days = CivilDay.number(year, month, day), hour < 24,
            minute < 60, second <= 60
        else { return nil }
        var rest = bytes[19...]
        var fraction: Int64 = 0
        if rest.first == UInt8(ascii: ".") {
            let digits = rest.dropFirst().prefix { (0x30...0x39).contains($0) }
            fraction = number((digits + [0x30, 0x30, 0x30]).prefix(3)) ?? 0
            rest = rest[digits.endIndex...]
        }
        guard let offset = offset(rest) else { return nil }
        let minutes = (days * 24 + hour) * 60 + minute - offset
        return (minutes * 60 + second) * 1000 + fraction
    }

    /// Parses "Z" or "+01:00" into minutes.
    private static func offset(_ text: ArraySlice<UInt8>) -> Int64? {
        guard text != [UInt8(ascii: "Z")] else { return 0 }
        guard text.count == 6, let sign = text.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"),
            let hours = number(text.dropFirst().prefix(2)), let minutes = number(text.suffix(2)), hours < 24
        else { return nil }
        return (hours * 60 + minutes) * (sign == UInt8(ascii: "-") ? -1 : 1)
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        digits.reduce(.some(0)) { sum, byte in
            guard let sum, (0x30...0x39).contains(byte) else { return nil }
            return sum * 10 + Int64(byte - 0x30)
        }
    }

    /// Converts to seconds since the year 1, which version 4 uses.
    static func seconds(_ milliseconds: Int64) -> Int64 {
        let seconds = milliseconds / 1000 - (milliseconds % 1000 < 0 ? 1 : 0)
        return seconds + KDBX.secondsBefore1970
    }
}
