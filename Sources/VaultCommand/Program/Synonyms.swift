/// The words that users of op, gopass, pass, bw, keepassxc-cli or macOS's security are used to typing.
enum Synonyms {
    /// Synonyms of our commands, keyed by the parent command; "" is the program itself. Names of our own commands are
    /// not looked up.
    static let commands: [String: [String: [String]]] = [
        "": [
            "-V": ["--version"],
            "add-generic-password": ["add"],
            "audit": ["check"],
            "cat": ["get"],
            "clip": ["get", "--clip"],
            "create-keychain": ["create"],
            "db-create": ["create"],
            "db-info": ["inspect"],
            "del": ["remove"],
            "delete": ["remove"],
            "delete-generic-password": ["remove"],
            "diceware": ["generate", "--words", "6"],
            "exec": ["run"],
            "find": ["list"],
            "fsck": ["verify"],
            "info": ["inspect"],
            "init": ["create"],
            "insert": ["set"],
            "locate": ["list"],
            "lock-keychain": ["lock"],
            "login": ["unlock"],
            "logout": ["lock"],
            "mv": ["move"],
            "passwd": ["rekey"],
            "pwgen": ["generate"],
            "recipients": ["slot", "list"],
            "rename": ["move"],
            "search": ["list"],
            "signin": ["unlock"],
            "signout": ["lock"],
            "ssh-agent": ["agent"],
            "store": ["set"],
            "totp": ["otp"],
            "unlock-keychain": ["unlock"],
            "version": ["--version"],
        ],
        "slot": [
            "create": ["add"],
            "del": ["remove"],
            "delete": ["remove"],
            "ls": ["list"],
            "new": ["add"],
            "show": ["list"],
        ],
        "ssh": [
            "ls": ["list"],
            "pub": ["public"],
        ],
        "conflicts": [
            "ls": ["list"],
            "resolve": ["settle"],
        ],
    ]

    /// Advice for words that have no direct counterpart here.
    static let advice: [String: String] = [
        "backup": backup,
        "grant": share,
        "rollback": backup,
        "share": share,
        "snapshot": backup,
        "clone": "a vault is a single file: copy it with cp, or see 'vaultfmt sync --help'",
        "config": "vaultfmt has no settings file; 'vaultfmt help environment' lists the variables it reads",
        "attach": file,
        "document": file,
        "dump-keychain": "'vaultfmt list' shows items without secrets; see also 'vaultfmt export --help'",
        "estimate": "'vaultfmt generate --words 5' makes a strong passphrase and shows its strength",
        "find-generic-password": "name the service and the account as arguments; see 'vaultfmt get --help'",
        "find-internet-password": "name the server and the account as arguments; see 'vaultfmt get --help'",
        "grep": "vaultfmt never searches secrets; 'vaultfmt list' searches names and labels",
        "item": "leave out 'item', as in 'vaultfmt list'; 'vaultfmt help commands' lists all commands",
        "purge": purge,
        "rotate":
            "'vaultfmt set NAME --generate' gives an item a new secret; 'vaultfmt rekey --rotate' replaces the vault's keys",
        "send": otherVault,
        "shares": "'vaultfmt slot list' shows who can open the vault; copies in other vaults are not recorded",
        "tag": tags,
        "tags": tags,
        "mkdir": "a group is created along with its first item, by --group; see 'vaultfmt set --help'",
        "template": "'vaultfmt set' prompts for the secret; see 'vaultfmt set --help'",
        "vault": "a vault is a file, named by --vault; 'vaultfmt inspect' describes it",
    ]

    /// Options of other programs, and the corresponding options here.
    static let options: [String: String] = [
        "--2fa": "--second-factor",
        "--attachment": "--attach",
        "--binary": "--attach",
        "--document": "--attach",
        "--file": "--attach",
        "--deep": "--notes",
        "--in-notes": "--notes",
        "--note": "--notes",
        "--search-notes": "--notes",
        "--change-every": "--rotate-every",
        "--interval": "--rotate-every",
        "--renew-every": "--rotate-every",
        "--rotate": "--rotate-every",
        "--rotation": "--rotate-every",
        "--rotation-interval": "--rotate-every",
        "--age": "--older-than",
        "--breached": "--hibp",
        "--expires-in": "--expires-within",
        "--expiring": "--expires-within",
        "--hashes": "--hibp",
        "--leaked": "--hibp",
        "--leaks": "--hibp",
        "--max-age": "--older-than",
        "--missing-otp": "--second-factor",
        "--no-otp": "--second-factor",
        "--old": "--older-than",
        "--older": "--older-than",
        "--otp": "--second-factor",
        "--pwned": "--hibp",
        "--totp": "--second-factor",
        "--clipboard": "--clip",
        "--all-fields": "--all",
        "--delete-attribute": "--remove-attribute",
        "--delete-field": "--remove-attribute",
        "--remove": "--remove-attribute",
        "--remove-field": "--remove-attribute",
        "--recent": "--sort",
        "--timeout": "--for",
        "--copy": "--clip",
        "--filename": "--vault",
        "--item": "--all",
        "--name": "--label",
        "--tag": "--add-tag",
        "--tags": "--add-tag",
        "--title": "--label",
        "--user": "--account",
        "--username": "--account",
        "-u": "--account",
        "-v": "--vault",
        "--whole": "--all",
        "--add-secret": "--secret-attribute",
        "--conceal": "--secret-attribute",
        "--hidden": "--secret-attribute",
        "--hidden-attribute": "--secret-attribute",
        "--sealed": "--secret-attribute",
        "--sealed-attribute": "--secret-attribute",
        "--secret-field": "--secret-attribute",
        "--exclude": "--without",
        "--omit": "--without",
        "--out": "--output",
        "--out-file": "--output",
        "--outfile": "--output",
    ]

    /// Advice for options of other programs that have no counterpart here.
    static let optionAdvice: [String: String] = [
        "--all-fields": "'vaultfmt list WORD --notes' searches in notes too",
        "--access": group, "--groups": group, "--read": group, "--read-only": group,
        "--exempt": exemption, "--ignore": exemption, "--ignore-check": exemption, "--skip": exemption,
        "--expires": expiry, "--expires-on": expiry, "--expiry": expiry, "--valid-until": expiry,
        "--add-secret": secretAttribute, "--conceal": secretAttribute, "--hidden": secretAttribute,
        "--hidden-attribute": secretAttribute, "--secret-field": secretAttribute, "--secret-attribute": secretAttribute,
        "--backup-codes": secretAttribute, "--recovery-codes": secretAttribute,
        "--characters": characters, "--chars": characters, "--positions": characters,
        "--duplicates": allChecks, "--reused": allChecks, "--weak": allChecks,
        "--encrypted": encryptedExport,
        "--exclude": attributesOfCopy, "--without": attributesOfCopy,
        "--qr": seed, "--uri": seed, "--url-otp": seed,
        "--stdin": "a secret is read from standard input unless that is a terminal: pipe it to the command",
        "--address": address, "--url": address, "--website": address,
        "--attach": file, "--attachment": file, "--binary": file, "--document": file, "--file": file,
        "--note": "notes are an attribute: --attribute notes=TEXT, or 'vaultfmt edit --all' for several lines",
        "--notes": "notes are an attribute: --attribute notes=TEXT, or 'vaultfmt edit --all' for several lines",
        "--out": redirect, "--out-file": redirect, "--output": redirect,
        "--detach": "'vaultfmt update NAME --remove-attribute file:FILE' removes an attached file",
        "--purge": purge, "--permanent": purge, "--permanently": purge,
        "--save": "'vaultfmt set SERVICE ACCOUNT --generate' generates a password and stores it",
        "--store": "'vaultfmt set SERVICE ACCOUNT --generate' generates a password and stores it",
        "--tag": tags, "--tags": tags,
        "--target": otherVault, "--to-vault": otherVault,
        "--all-vaults": "name the vaults: 'vaultfmt list WORD --vault FILE --vault FILE' searches several",
    ]

    private static let backup =
        "a vault is a single file: 'cp VAULT BACKUP' backs it up, and 'vaultfmt restore --from BACKUP' goes back to it"
    private static let share =
        "'vaultfmt copy NAME --to FILE' copies items to a separate vault to give away; 'vaultfmt slot add --grant-group GROUP' "
        + "lets someone else read one group, and see the names of the other items"
    private static let characters = "'vaultfmt get NAME | cut -c 3,7' prints single characters"
    private static let allChecks =
        "'vaultfmt check' reports weak and repeated secrets together and, with --older-than 1y, old ones"
    private static let encryptedExport =
        "'vaultfmt export --format kdbx' asks for the passphrase of an encrypted export; the vault itself can be copied as it is"
    private static let attributesOfCopy =
        "'vaultfmt copy NAME --to FILE --without ATTRIBUTE' makes a copy that lacks the attribute"
    private static let seed = "'vaultfmt get NAME --field otp' prints the key or address that generates the codes"
    private static let group =
        "to add a read-only slot for a single group, use 'vaultfmt slot add --grant-group GROUP'"
    /// Advice for an option of one command, keyed by command and option.
    static let commandOptionAdvice: [String: String] = [
        "slot add --expires": slotEnd, "slot add --expires-in": slotEnd, "slot add --for": slotEnd,
        "slot add --until": slotEnd, "slot add --valid-for": slotEnd,
        "export --password": encryptedExport, "export --passphrase": encryptedExport,
        "rm --dry-run": asked, "remove --dry-run": asked,
        "forget --dry-run": "'vaultfmt history NAME' lists the earlier values; without --yes, you are asked first",
        "slot rm --dry-run": slotsFirst, "slot remove --dry-run": slotsFirst,
        "history --reveal": earlierSecret, "history --show": earlierSecret,
        "copy --name": copying, "copy --new-name": copying, "copy --to-account": copying, "copy --to-name": copying,
        "copy --to-service": copying,
        "list --tags":
            "--tag TAG shows the items with a tag; if it is repeated, an item must have all the tags; to add a tag, use 'vaultfmt update'",
        "move --to": moving,
        "add --folder": folder, "otp --url": seed, "set --folder": folder,
    ]

    private static let asked =
        "without --yes, you see the items and are asked before they are removed; 'vaultfmt undo' brings them back"
    private static let slotsFirst = "'vaultfmt slot list' shows the slots; without --yes, you are asked first"
    private static let earlierSecret = "'vaultfmt get NAME --earlier NUMBER' shows an earlier value"
    private static let folder = "--attribute folder=FOLDER puts an item into a folder"
    private static let moving =
        "--to-account, --to-service, --to-group and --to-folder move inside the vault; 'vaultfmt copy NAME --to FILE' copies to another"
    private static let copying =
        "'vaultfmt copy NAME --as NEW-NAME' makes a copy in this vault, which 'vaultfmt move' can then change"
    private static let slotEnd = "a slot opens the vault until 'vaultfmt slot remove' removes it"
    private static let purge =
        "'vaultfmt rm' removes items, and 'vaultfmt compact' then erases from the file everything that was removed"
    private static let exemption = "use an attribute to exempt an item: 'vaultfmt update NAME --attribute check=off'"
    private static let expiry = "use an attribute: --attribute expires=2026-12-31, which 'vaultfmt check' reads"
    private static let address = "an address is an attribute: --attribute url=ADDRESS"
    private static let secretAttribute =
        "'vaultfmt update NAME --secret-attribute ATTRIBUTE' asks for a further secret, which 'vaultfmt get NAME --field ATTRIBUTE' prints"
    private static let file =
        "'vaultfmt update NAME --attach FILE' attaches a file, and 'vaultfmt get NAME --field FILE' writes it to standard output"
    private static let redirect =
        "secrets go to standard output: run 'umask 077', so that no other user can read the file, and write '> FILE' after the command"
    private static let tags = "'vaultfmt update SERVICE ACCOUNT --add-tag TAG' adds a tag"
    private static let otherVault =
        "'vaultfmt copy NAME --to FILE' copies items to another vault; 'vaultfmt rm NAME' then removes them from this one"

    /// Options of other programs that pass a secret as an argument, which every user of the machine could read.
    static let secretOptions: Set<String> = [
        "--master-password", "--pass", "--passphrase", "--password", "--pin", "--secret", "--token", "--value", "-p",
        "-w",
    ]
}
