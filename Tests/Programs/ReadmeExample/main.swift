import VaultFmt

let factors = try Factors(passphrase: Secret(text: "correct horse battery staple"))
let vault = try Vault.create(at: "example.vault", factors: factors)
let key = try ItemKey.genericPassword(service: "example.org", account: "ann")
try vault.add(key, secret: Secret(text: "s3cret"), attributes: ["label": "Example"])
if let opened = try vault.get(key) {
    opened.secret.withUnsafeBytes { bytes in print("the secret has \(bytes.count) bytes") }
}
var items = try vault.items()
while let item = try items.next() { print(item.key.service ?? "", item.key.account ?? "", item.attributes.label ?? "") }
