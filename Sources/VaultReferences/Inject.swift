package import ArgumentParser
import CVaultShim
import Glibc
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// `inject`: fills in the references in a template.
package struct Inject: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "inject",
        abstract: "Insert secrets into a template.",
        discussion: """
            Replaces each {{ vaultfmt:SERVICE/ACCOUNT }} with the unmodified secret and leaves everything else unchanged. See 'vaultfmt read --help' \
            for references. If a reference matches no item, nothing is written. The output file is readable only by you.

            Examples:
              vaultfmt inject msmtprc.template --output ~/.msmtprc
              vaultfmt inject < config.template | ssh host 'umask 077; cat > config'
            """)

    @Argument(help: "The template; standard input if none is given.", completion: .file())
    var template: String?

    @Option("A file to write instead of standard output (-).", name: [.short, .long], isFile: true)
    var output: String?

    @Flag(help: "Replace the output file if it exists.")
    var force = false

    @OptionGroup var vault: VaultOptions

    package init() {}

    package func run() throws {
        let output = self.output == "-" ? nil : self.output
        if let output, !force, try UserFiles.exists(output) {
            throw CommandFailure(
                .outputExists,
                "\(TerminalText.path(output)) already exists; choose another name, or replace it with --force")
        }
        guard template != nil || vault.access.factors.passphraseFd != STDIN_FILENO else {
            throw CommandFailure(
                .usage,
                "standard input cannot provide both the passphrase and the template; read one of them from a file")
        }
        let source = try readTemplate()
        let pieces = try Template.pieces(source)
        let filled = try fill(source, pieces)
        guard let output else {
            guard !Terminal.outputIsTerminal || SecretText.isPlain(filled) else {
                throw CommandFailure(
                    .usage,
                    "the result is not plain text, so it is not shown on a terminal; send it to a pipe, or give --output"
                )
            }
            let stream = Output.standard()
            try stream.write(filled)
            return try stream.flush()
        }
        let folder = UserFiles.parent(of: output)
        guard try UserFiles.exists(folder) else {
            throw CommandFailure(
                .noSuchFile, "there is no folder \(TerminalText.path(folder)) to write to; create it first")
        }
        try NewFile.create(output, what: "output", filled, replaces: force)
    }

    private func readTemplate() throws -> Secret {
        if let template { return try Descriptor.readFile(template, what: "template", limit: Template.longest) }
        return try Descriptor.readAll(STDIN_FILENO, name: "the template on standard input", limit: Template.longest)
    }

    private func fill(_ source: borrowing Secret, _ pieces: [Template.Piece]) throws -> Secret {
        let needsVault = pieces.contains { if case .reference = $0 { true } else { false } }
        let opened = needsVault ? try vault.openVault() : nil
        var filled = SecretBuffer()
        for piece in pieces {
            switch piece {
            case .text(let range): source.withUnsafeBytes { filled.append(UnsafeRawBufferPointer(rebasing: $0[range])) }
            case .reference(let reference):
                guard let opened else { continue }
                filled.append(try reference.value(in: opened))
            }
        }
        return filled.secret()
    }
}

/// A template's text and references.
enum Template {
    enum Piece {
        case text(Range<Int>)
        case reference(Reference)
    }

    static let longest = 16 << 20

    /// Splits a template into pieces. A reference begins with `{{`, blanks and `vaultfmt:`, and ends with blanks and
    /// `}}`; other braces are text.
    static func pieces(_ source: borrowing Secret) throws -> [Piece] {
        try source.withUnsafeBytes { bytes in
            var pieces: [Piece] = []
            var textStart = 0
            var at = 0
            while let open = find("{{", in: bytes, from: at) {
                let start = skipBlanks(bytes, open + 2)
                guard bytes[start...].starts(with: Reference.scheme.utf8) else {
                    at = open + 1
                    continue
                }
                let line = bytes[..<open].count { $0 == 0x0A } + 1
                guard let close = find("}}", in: bytes, from: start), !bytes[start..<close].contains(0x0A) else {
                    throw CommandFailure(.usage, "line \(line): the reference does not end with }} on the same line")
                }
                var end = close
                while end > start, bytes[end - 1] == 0x20 || bytes[end - 1] == 0x09 { end -= 1 }
                guard let text = String(validating: bytes[start..<end], as: UTF8.self) else {
                    throw CommandFailure(.usage, "line \(line): the reference is not UTF-8; percent-encode it")
                }
                pieces.append(.text(textStart..<open))
                do { pieces.append(.reference(try Reference(text))) } catch let error as CommandFailure {
                    throw CommandFailure(error.status, "line \(line): \(error.message)")
                }
                textStart = close + 2
                at = textStart
            }
            pieces.append(.text(textStart..<bytes.count))
            return pieces
        }
    }

    private static func find(_ mark: StaticString, in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        let (first, second) = (mark.utf8Start[0], mark.utf8Start[1])
        var at = start
        while at + 1 < bytes.count {
            if bytes[at] == first && bytes[at + 1] == second { return at }
            at += 1
        }
        return nil
    }

    private static func skipBlanks(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Int {
        bytes[start...].firstIndex { $0 != 0x20 && $0 != 0x09 } ?? bytes.count
    }
}
