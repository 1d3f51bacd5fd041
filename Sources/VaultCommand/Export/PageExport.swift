import CVaultPage
import CVaultShim
import Crypto
import FoundationEssentials
import Glibc
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// Writes the page that opens a vault in a browser (`Docs/page.md`). The page contains the encrypted bytes of a vault,
/// or only the parts of a vault that anyone can see, or no vault at all.
struct PageExport {
    /// The largest vault that a page can hold: browsers limit the length of a page's text and of the text in scripts.
    private static let longest = 256 << 20
    /// The number of bytes that are encoded at a time: a multiple of three, so that no padding occurs between pieces.
    private static let step = 3 << 14

    private let output: Output
    private var hash = SHA256()

    init(_ output: Output) { self.output = output }

    /// Writes the page.
    ///
    /// - `vault`: The path of the vault to include; nil for a page without a vault.
    /// - `pause`: Called between the parts; throws if a signal has asked the process to end.
    /// - Returns: The page's SHA-256, in hexadecimal digits.
    mutating func write(_ vault: String?, pause: () throws -> Void) throws -> String {
        let file = try vault.map { try VaultBytes($0) }
        try put(vaultfmt_page_before_name())
        if let file { try put(Self.escaped(file.name).utf8) }
        try put(vaultfmt_page_before_vault())
        if let file { try put(file, pause) }
        return try end()
    }

    /// Writes a page that shows the outline of a vault and opens nothing; returns the page's SHA-256.
    mutating func write(_ outline: PageOutline, of vault: String) throws -> String {
        try put(vaultfmt_page_before_name())
        try put(Self.escaped(VaultBytes.name(vault)).utf8)
        try put(vaultfmt_page_before_vault())
        try put(outline.json.utf8)
        return try end()
    }

    private mutating func end() throws -> String {
        try put(vaultfmt_page_after_vault())
        try output.flush()
        return hash.finalize().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private mutating func put(_ part: vaultfmt_page_part) throws {
        try put(UnsafeRawBufferPointer(start: part.bytes, count: part.length))
    }

    private mutating func put(_ text: some Sequence<UInt8>) throws {
        try Array(text).withUnsafeBytes { try put($0) }
    }

    private mutating func put(_ bytes: UnsafeRawBufferPointer) throws {
        hash.update(bufferPointer: bytes)
        try output.write(bytes)
    }

    /// Writes a vault's bytes in base 64.
    private mutating func put(_ file: VaultBytes, _ pause: () throws -> Void) throws {
        var left = file.count
        while left > 0 {
            try pause()
            let piece = try file.read(min(left, Self.step))
            left -= piece.count
            try put(piece.base64EncodedString().utf8)
        }
    }

    /// Escapes a text for an attribute in quotes, code point by code point, because a quote with a combining mark must
    /// also be escaped.
    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { out, scalar in
            switch scalar {
            case "&": out += "&amp;"
            case "<": out += "&lt;"
            case ">": out += "&gt;"
            case "\"": out += "&quot;"
            case "'": out += "&#x27;"
            default: out.unicodeScalars.append(scalar)
            }
        }
    }

    /// A vault's file. Only the bytes that the file had when it was opened are read, without the zeros that a writer
    /// reserves at the end, because a change that begins in the meantime overwrites those zeros.
    private final class VaultBytes {
        let name: String
        let count: Int
        private let descriptor: Int32
        private let path: String

        init(_ path: String) throws {
            // Throws an error if the file is not a vault.
            _ = try Vault.id(at: path)
            self.path = path
            name = Self.name(path)
            descriptor = vault_open(path, O_RDONLY, 0)
            guard descriptor >= 0 else {
                throw CommandFailure(system: -descriptor, "cannot open \(TerminalText.path(path))")
            }
            // The open file is measured, even if its name now belongs to another file.
            let opened = "/proc/self/fd/\(descriptor)"
            count = Int(clamping: try whileOpening { try Vault.contentEnd(at: opened) })
            guard count <= PageExport.longest else {
                throw CommandFailure(
                    .overLimit,
                    "\(TerminalText.path(path)) has \(count >> 20) MiB, and a page can hold at most \(PageExport.longest >> 20) MiB; "
                        + "leave out --with-vault, and open the vault's file in the page")
            }
        }

        static func name(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

        deinit { if descriptor >= 0 { close(descriptor) } }

        /// Reads the given number of bytes.
        func read(_ count: Int) throws -> Data {
            var bytes = [UInt8](repeating: 0, count: count)
            var used = 0
            while used < count {
                let start = used
                let got = bytes.withUnsafeMutableBytes {
                    Glibc.read(descriptor, $0.baseAddress?.advanced(by: start), count - start)
                }
                if got < 0, errno == EINTR { continue }
                guard got > 0 else {
                    throw CommandFailure(
                        .io,
                        "cannot read \(TerminalText.path(path)): \(got == 0 ? "it became shorter" : Descriptor.message(errno)); try again"
                    )
                }
                used += got
            }
            return Data(bytes)
        }
    }
}
