/// Invocations as people mistype them, with the exit code that each deserves. The vault has the items `svc ann`,
/// `two a` and `two b`; `text.txt` is a file that is no vault, `wrong.txt` holds a wrong passphrase.
enum MistypedLines {
    static let all: [(status: Int32, arguments: [String])] = table.split(separator: "\n").map { line in
        let parts = line.split(separator: "|", maxSplits: 1)
        return (Int32(parts[0]) ?? -1, parts[1].split(separator: " ").map(String.init))
    }

    private static let table = """
        64|lsit
        64|gte svc ann
        64|shwo svc
        64|sett svc ann
        64|crate new.vault --kdf testing
        64|histroy svc
        64|inpsect
        64|verfiy
        64|exprot
        64|statsu
        64|updaet svc ann --label Svc
        64|lgo
        64|slot lsit
        64|slto list
        64|help lits
        64|help exitcodes
        64|genrate
        64|compcat
        64|set svc ann --generate=many
        64|set svc ann --generate 24
        64|get svc ann --clip=soon
        64|get svc ann --clip 20
        64|get --clip 2024 ann
        64|get svc --vault a.vault --vault b.vault
        64|run --env A=S3cret-Value-77 -- true
        64|list --class certifcate
        64|zzzzzzzzzz
        64|help nonsense
        64|config get editor
        64|copy svc other
        64|vault list
        64|document create x
        64|grep s3cret
        64|find-internet-password -s svc
        64|get
        64|get svc ann S3cret-Value-77
        64|get svc -p
        64|get svc -w
        64|get svc --lable x
        64|get svc --clipboard
        1|get nosuch
        1|get svc nobody
        1|get svc --class certificate
        1|get svc --group nosuch
        1|get svc --folder nosuch
        1|get svc --tag nosuch
        1|get svc ann --field nosuch
        1|get svc ann --version 9
        64|get svc ann --version zero
        1|get --id abcd
        64|get svc --class keys
        64|get svc --accessible sometimes
        64|get svc --attribute =x
        64|get svc ann --account bob
        1|get dup
        64|set svc ann S3cret-Value-77
        64|set svc -w S3cret-Value-77
        64|set svc --secret S3cret-Value-77
        64|set svc --generate --length 0
        64|set svc --separator +
        64|set svc --multiline --generate
        64|set svc --class key
        64|set new --key-size big --class key
        64|set svc --attribute x
        1|add svc ann --generate
        64|update svc ann
        1|update nosuch --label x
        64|move
        64|move svc ann bob carol dave
        1|move nosuch other
        64|mv svc ann --to-service
        64|rm svc ann
        1|rm nosuch --yes
        1|rm --tag nosuch --yes
        64|rm svc --yes=please
        1|history nosuch
        1|restore nosuch
        64|forget svc ann
        64|undo --steps many
        1|redo
        1|otp svc ann
        1|otp nosuch
        64|list --sort size
        64|list --columns
        1|list nosuch
        1|list --folder nosuch
        1|list --tag nosuch
        1|list --group nosuch
        64|ls -la
        66|list --vault nosuch.vault
        65|list --vault text.txt
        64|list --wait forever
        64|list --passphrase S3cret-Value-77
        64|list --passphrase-fd out
        66|list --passphrase-file nosuch
        77|list --passphrase-file wrong.txt
        64|list --owner nonsense
        73|create
        64|create new.vault --kdf nonsense
        66|create no/such/folder.vault
        64|create --vault a.vault b.vault
        66|unlock nosuch.vault
        64|unlock --for 99d
        66|inspect nosuch
        65|inspect text.txt
        66|status nosuch.vault
        66|verify nosuch.vault
        65|verify text.txt
        64|verify --fix
        64|check --hibp
        66|check --hibp nosuch.txt
        64|import
        66|import nosuch.csv
        65|import text.txt
        64|import text.txt --on-duplicate ask
        64|import text.txt --json --dry-run
        64|export out.json extra.json
        73|export --output text.txt
        64|rekey --nonsense
        64|rekey --keep many
        66|rekey --new-passphrase-file nosuch
        64|slot add --grant-group
        64|slot remove
        1|slot remove nosuch
        66|compact nosuch.vault
        66|repair nosuch.vault
        64|merge
        66|merge test.vault nosuch.vault
        64|merge --conflicts --accept-old-keys
        66|diff test.vault nosuch.vault
        64|conflicts show
        64|read svc
        64|read vaultfmt:a/b/c
        1|read vaultfmt:nosuch
        64|run
        64|run --env
        64|run --env =vaultfmt:svc -- true
        1|run --env A=vaultfmt:nosuch -- true
        66|run --env-file nosuch.env -- true
        127|run -- nosuchprogram
        126|run -- ./text.txt
        64|inject --in
        66|inject nosuch.txt
        64|generate 24
        64|generate --length 0
        64|generate --length 5 --words 3
        64|generate --separator +
        66|generate --words 3 --list nosuch-list
        64|generate --symbols
        64|generate --key-file a.key --length 3
        73|generate --key-file text.txt
        64|-x
        """
}
