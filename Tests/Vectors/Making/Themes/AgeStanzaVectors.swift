internal import TestSupport
internal import VaultBytes

/// Stanzas that a reader ignores, alone (R-9.2) or with all others of their slot (R-9.1).
extension Collection {
    // MARK: text

    /// Each slot has a right stanza, and one fault in its text: nothing of it is used.
    mutating func addAgeText(_ bases: Bases) throws {
        let right = AgeIdentity.x25519.stanza().encoded
        let rightText = String(decoding: right, as: UTF8.self)
        func body(_ text: String) -> [UInt8] { Array("-> unknown\n\(text)\n".utf8) + right }
        func head(_ text: String) -> [UInt8] { Array("\(text)\n\n".utf8) + right }
        let line = String(repeating: "A", count: 64)
        let texts: [(String, String, [UInt8])] = [
            ("empty", "no byte", []), ("one-line-feed", "a line feed only", [10]),
            ("line-feed-first", "a line feed before the stanza", [10] + right),
            ("line-feed-after", "a line feed after the stanza", right + [10]),
            ("text-after", "a text after the stanza", right + Array("text".utf8)),
            ("footer", "the last line of an age file's header after the stanza", right + Array("--- \(line)\n".utf8)),
            ("version-line", "the first line of an age file", Array("age-encryption.org/v1\n".utf8) + right),
            ("no-last-line-feed", "no line feed at its end", right.dropLast()),
            ("head-only", "a stanza without a body's line at its end", right + Array("-> unknown\n".utf8)),
            ("crlf", "lines that end with CR LF", Array(rightText.replacing("\n", with: "\r\n").utf8)),
            ("arrow", "a stanza that starts with =>", head("=> unknown")),
            ("no-space", "a stanza without a space after the arrow", head("->unknown")),
            ("no-type", "a stanza without a type", head("->")), ("empty-type", "an empty type", head("-> ")),
            ("two-spaces-first", "two spaces after the arrow", head("->  unknown")),
            ("two-spaces", "two spaces between arguments", head("-> unknown  a")),
            ("space-last", "a space after the last argument", head("-> unknown a ")),
            ("tab", "a tab in an argument", head("-> unknown a\tb")),
            ("delete", "a byte 127 in an argument", head("-> unknown a\u{7F}")),
            ("not-ascii", "bytes above 127 in an argument", head("-> unknown \u{E9}")),
            ("zero", "a byte 0 in an argument", head("-> unknown \u{0}")),
            ("padding", "a body with base64's padding", body("AAA=")),
            ("unused-bits", "a body whose last character has unused bits that are not zero", body("AAB")),
            ("unused-bits-4", "a body whose unused four bits are not all zero", body("AF")),
            ("one-character", "a body of one character, which is not base64 of any bytes", body("A")),
            ("url-alphabet", "a body in base64's other alphabet", body("A-_A")),
            ("body-space", "a space in a body", body("AA AA")),
            ("body-255", "a byte 255 in a body", Array("-> unknown\nAA".utf8) + [0xFF, 0x41, 10] + right),
            ("line-65", "a line of 65 characters in a body", body(line + "A")),
            ("line-68", "a line of 68 characters in a body", body(line + "AAAA")),
            ("short-line-first", "a body that goes on after a line of fewer than 64 characters", body("AAAA\nAAAA")),
            (
                "full-last-line", "a body of 48 bytes whose last line has 64 characters, and no empty line after it",
                body(line)
            ),
        ]
        for (name, what, parameters) in texts {
            try age("text-\(name)", "R-9.1", .noSlotOpens, bases, "The parameters have \(what).", parameters)
        }
    }

    // MARK: limits

    mutating func addAgeLimits(_ bases: Bases) throws {
        let right = AgeIdentity.x25519.stanza().encoded
        func unknown(_ arguments: [String], body: Int = 0) -> [UInt8] { AgeStanza(arguments, [7].times(body)).encoded }
        let other = AgeIdentity.x25519Other.stanza().encoded
        let ignored: [(String, String, [UInt8])] = [
            ("unknown", "a stanza of an unknown type without a body", unknown(["unknown"])),
            ("unknown-body-47", "an unknown stanza with a body of 63 characters", unknown(["unknown"], body: 47)),
            (
                "unknown-body-48", "an unknown stanza with a body of 64 characters, and its empty line",
                unknown(["unknown"], body: 48)
            ),
            (
                "unknown-body-96", "an unknown stanza with a body of 128 characters, and its empty line",
                unknown(["unknown"], body: 96)
            ),
            (
                "unknown-characters", "an unknown stanza with every character that arguments may have",
                unknown(["!\"#", String(decoding: Array(33...126) as [UInt8], as: UTF8.self), "->", "~"])
            ),
            ("arguments-64", "64 arguments, the most", unknown(["unknown"] + Array(repeating: "a", count: 63))),
            ("type-case", "a stanza x25519, which is another type", unknown(["x25519", "AAAA"], body: 32)),
            (
                "stanzas-64", "64 stanzas, the most; the last one opens",
                Array(repeating: other, count: 63).flatMap { $0 }
            ),
            (
                "largest", "as many bytes as fit, nearly all of them of an unknown stanza",
                unknown(["unknown", String(repeating: "a", count: 16_384 - right.count - 13)])
            ),
        ]
        for (name, what, before) in ignored {
            try age(name, "R-9.2, R-11.1", .success, bases, "A right stanza, and before it: \(what).", before + right)
        }
        try age(
            "unknown-only", "R-9.2", .noSlotOpens, bases, "A stanza of an unknown type, whose body would open.",
            AgeStanza(["X25519-2"] + AgeIdentity.x25519.stanza().arguments[1...], AgeIdentity.x25519.stanza().body)
                .encoded)
        try age(
            "unknown-after", "R-9.2", .success, bases, "A right stanza, and an unknown one after it.",
            right + unknown(["unknown", "a"], body: 3))
        try age(
            "arguments-65", "R-9.1, R-11.1", .noSlotOpens, bases,
            "A right stanza, and before it one of 65 arguments, its type included.",
            unknown(["unknown"] + Array(repeating: "a", count: 64)) + right)
        try age(
            "stanzas-65", "R-9.1, R-11.1", .noSlotOpens, bases, "65 stanzas, the last of which would open.",
            Array(repeating: other, count: 64).flatMap { $0 } + right)
    }

    // MARK: arguments

    /// A stanza alone, which nothing opens; and before a right one, which is still used.
    private mutating func ignored(
        _ name: String, _ bases: Bases, _ comment: String, _ stanza: AgeStanza, _ identity: AgeIdentity,
        spec: String = "R-9.2", fileKey: [UInt8] = AgeStanza.fileKey
    ) throws {
        try age(name, spec, .noSlotOpens, bases, comment, stanza.encoded, identity, fileKey: fileKey)
        try age(
            name + "-and-right", spec, .success, bases, "The same before a right stanza.",
            stanza.encoded + identity.stanza().encoded, identity)
    }

    /// Bodies are right, so that a reader that is less strict opens them.
    mutating func addMalformedStanzas(_ bases: Bases) throws {
        for (name, identity) in [("x25519", AgeIdentity.x25519), ("hybrid", .hybrid), ("ssh", .ssh)] {
            let right = identity.stanza()
            let share = right.arguments[right.arguments.count - 1]
            let before = Array(right.arguments.dropLast())
            let bytes = AgePlain.bytes(base64: Array(share.utf8)) ?? []
            let wrongs: [(String, String, [String])] = [
                ("no-share", "without its last argument", before),
                ("extra", "with an argument too many", right.arguments + ["AAAA"]),
                ("share-short", "with a share that is a byte too short", before + [AgePlain.base64(bytes.dropLast())]),
                ("share-long", "with a share that is a byte too long", before + [AgePlain.base64(bytes + [0])]),
                ("share-padded", "with base64's padding after the share", before + [share + "="]),
                (
                    "share-character", "with a character in the share that is not base64",
                    before + [String(share.dropLast()) + "-"]
                ),
            ]
            for (wrong, what, arguments) in wrongs {
                try ignored(
                    "\(name)-\(wrong)", bases, "A stanza \(right.arguments[0]) \(what).",
                    AgeStanza(arguments, right.body), identity)
            }
        }
        for (name, identity) in [("x25519", AgeIdentity.x25519), ("ssh", .ssh)] {
            // The unused bits are the last two of the last character: the next one in the alphabet has one of them.
            var right = identity.stanza()
            let share = right.arguments.removeLast()
            let next = AgePlain.successor(share.utf8.last ?? 0)
            right.arguments.append(String(share.dropLast()) + String(Character(UnicodeScalar(next))))
            try ignored(
                "\(name)-share-unused-bits", bases, "The share's last character has an unused bit that is not zero.",
                right, identity)
            let zero = [0].times(32) as [UInt8]
            var recipe = ShareRecipe(identity, share: zero, shared: zero)
            recipe.fileKey = AgeStanza.fileKey
            try ignored(
                "\(name)-share-zero", bases, "The share is a point of small order; the body is for a secret of zeros.",
                recipe.stanza, identity)
        }
        try ignored(
            "hybrid-share-small-order", bases,
            "The encapsulated key ends in a point of order 8; the body is for a secret of zeros.",
            HybridSample.smallOrder.stanza(AgeStanza.fileKey), .hybrid)
        let ssh = AgeIdentity.ssh.stanza()
        let (share, tag) = (ssh.arguments[2], AgeIdentity.ssh.wire)
        for (name, what, arguments) in [
            ("other", "another key's tag", ["ssh-ed25519", AgeIdentity.sshOther.arguments[1], share]),
            ("case", "a tag in other letters", ["ssh-ed25519", ssh.arguments[1].uppercased(), share]),
            (
                "short", "a tag of three bytes",
                ["ssh-ed25519", AgePlain.base64(Array(AgePlain.sha256(tag)[..<3])), share]
            ),
            (
                "long", "a tag of five bytes",
                ["ssh-ed25519", AgePlain.base64(Array(AgePlain.sha256(tag)[..<5])), share]
            ),
            ("padded", "a tag with base64's padding", ["ssh-ed25519", ssh.arguments[1] + "==", share]),
            ("last", "its arguments in the other order", ["ssh-ed25519", share, ssh.arguments[1]]),
        ] {
            try ignored(
                "ssh-tag-\(name)", bases, "A stanza ssh-ed25519 with \(what).", AgeStanza(arguments, ssh.body), .ssh)
        }
    }

    // MARK: keys and bodies

    /// Stanzas whose text is right, wrapped otherwise than the table says.
    mutating func addAlteredStanzas(_ bases: Bases) throws {
        for (name, identity) in [("x25519", AgeIdentity.x25519), ("ssh", .ssh)] {
            let point = identity.point
            let other = name == "ssh" ? "X25519" : "ssh-ed25519"
            let wrongs: [(String, String, (inout ShareRecipe) -> Void)] = [
                ("no-salt", "without a salt", { $0.salt = [] }),
                ("salt-order", "with the salt's halves in the other order", { $0.salt = point + $0.share }),
                ("salt-share", "with the share alone as salt", { $0.salt = $0.share }),
                ("info", "with the info of \(other)", { $0.info = "age-encryption.org/v1/\(other)" }),
                ("nonce", "with a nonce that is not zeros", { $0.nonce[11] = 1 }),
            ]
            for (wrong, what, edit) in wrongs {
                var recipe = ShareRecipe(to: identity)
                edit(&recipe)
                try age(
                    "\(name)-\(wrong)", "R-9.2", .noSlotOpens, bases, "The file key is wrapped \(what).",
                    recipe.stanza.encoded, identity)
            }
            // RFC 7748 ignores the highest bit of a point.
            var recipe = ShareRecipe(to: identity)
            recipe.share[31] |= 0x80
            recipe.salt = recipe.share + point
            try age(
                "\(name)-share-high-bit", "R-9.2", .success, bases,
                "The share's highest bit is set: it is not part of the point, but of the salt.",
                recipe.stanza.encoded, identity)
        }
        var untweaked = ShareRecipe(to: .ssh)
        untweaked.secret = AgePlain.x25519(AgeIdentity.ssh.scalar, untweaked.share)
        try age(
            "ssh-untweaked", "R-9.2", .noSlotOpens, bases, "The secret is not multiplied by the key's tweak.",
            untweaked.stanza.encoded, .ssh)
        for (name, identity) in [("x25519", AgeIdentity.x25519), ("hybrid", .hybrid), ("ssh", .ssh)] {
            for at in [0, 31] {
                var altered = identity.stanza()
                altered.body.flip(at)
                try age(
                    "\(name)-body-altered-\(at)", "R-9.2", .noSlotOpens, bases,
                    "Byte \(at) of the body is another one.",
                    altered.encoded, identity)
            }
            var altered = identity.stanza()
            var share = AgePlain.bytes(base64: Array(altered.arguments.removeLast().utf8)) ?? []
            share.flip(5)
            altered.arguments.append(AgePlain.base64(share))
            try age(
                "\(name)-share-altered", "R-9.2", .noSlotOpens, bases, "A byte of the share is another one.",
                altered.encoded, identity)
        }
    }

    /// The tag is right, and the slot's external key is the one of the file key that comes out.
    mutating func addAgeBodies(_ bases: Bases) throws {
        for (name, identity) in [("x25519", AgeIdentity.x25519), ("hybrid", .hybrid), ("ssh", .ssh)] {
            for size in [1, 15, 17, 32] {
                let fileKey = [0xF5].times(size) as [UInt8]
                try ignored(
                    "\(name)-file-key-\(size)", bases, "A body of \(size + 16) bytes, for a file key of \(size).",
                    identity.stanza(fileKey), identity, spec: "R-9.3, R-9.4", fileKey: fileKey)
            }
            for size in [0, 31] {
                let cut = AgeStanza(identity.stanza().arguments, Array(identity.stanza().body.prefix(size)))
                try ignored(
                    "\(name)-body-\(size)", bases, "A body of \(size) bytes.", cut, identity, spec: "R-9.3")
            }
        }
    }
}

extension AgePlain {
    /// The character after another one in base64's alphabet.
    static func successor(_ character: UInt8) -> UInt8 {
        let at = alphabet.firstIndex(of: character) ?? 0
        return alphabet[(at + 1) % 64]
    }
}
