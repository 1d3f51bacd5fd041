#!/usr/bin/env python3
"""Reads what make_vendors.py wrote back by other means and compares it with the expected lists.

usage: check_vendors.py FOLDER
"""
import base64, csv, hashlib, hmac, io, json, os, subprocess, sys, tempfile, urllib.parse, zipfile
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import make_vendors as M
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

D = sys.argv[1]
bad = []


def ok(cond, what):
    if not cond:
        bad.append(what)
        print("BAD", what)


# --- the cryptography, written a second time with other functions, and against published files
def keys(pw, doc):
    salt = doc["salt"].encode()
    if doc["kdfType"] == 0:
        k = PBKDF2HMAC(hashes.SHA256(), 32, salt, doc["kdfIterations"]).derive(pw.encode())
    else:
        k = Argon2id(salt=hashlib.sha256(salt).digest(), length=32, iterations=doc["kdfIterations"],
                     lanes=doc["kdfParallelism"], memory_cost=doc["kdfMemory"] * 1024).derive(pw.encode())
    return [HKDFExpand(hashes.SHA256(), 32, i).derive(k) for i in (b"enc", b"mac")]


def dec(s, ks):
    assert s[:2] == "2."
    iv, ct, mac = (base64.b64decode(x, validate=True) for x in s[2:].split("|"))
    if not hmac.compare_digest(mac, hmac.new(ks[1], iv + ct, "sha256").digest()):
        raise ValueError("mac")
    d = Cipher(algorithms.AES(ks[0]), modes.CBC(iv)).decryptor()
    p = d.update(ct) + d.finalize()
    assert 1 <= p[-1] <= 16 and p.endswith(bytes([p[-1]]) * p[-1])
    return p[:-p[-1]].decode()


PUBLISHED = [  # github.com/elliotwutingfeng/bitwarden_backup_decryptor, test/
    ("passphrase", {"salt": "rNYWSe/wFO1k+Qxia0A96A==", "kdfType": 1, "kdfIterations": 3, "kdfMemory": 64, "kdfParallelism": 4},
     "2.BCUsoLRgNgqJeJxut3xweg==|oEEkWdOX9yhyg0rloZtnLSJhqrrKxXswp6oHcfnMlF2xKVLgpnL7q36zq4YolQH1|j7ffuM4uu0bs1biwc6H4XfDjJ1+YxxDdO+pZfq6bhSY="),
    ("passphrase", {"salt": "rNYWSe/wFO1k+Qxia0A96A==", "kdfType": 0, "kdfIterations": 600000},
     "2.BCUsoLRgNgqJeJxut3xweg==|un2qvs/69JzyKytAsJeixvUAt2UJ5fesAyTZk9X5kIApYwoTPAWxlNpXQvr+PQti|yScEwAMqNKZUpRAFxs1x2ULT+NwtE5QontXJ+G52fZY="),
]
for pw, d, v in PUBLISHED:
    try:
        print("published vector, kdfType", d["kdfType"], "->", dec(v, keys(pw, d)))
        ok(tuple(keys(pw, d)) == M.bw_key(pw, d["salt"], d), "own derivation differs")
    except Exception as e:
        ok(False, "published vector %r %r" % (d, e))

index = json.load(open(os.path.join(D, "INDEX.json"), encoding="utf-8"))["files"]
exp = {n: json.load(open(os.path.join(D, n + ".expected.json"), encoding="utf-8")) for n in index}
raw = {n: open(os.path.join(D, n), "rb").read() for n in index}
plain, org = raw["bitwarden.json"].decode(), raw["bitwarden-org.json"].decode()
for n, i in index.items():
    ok(set(os.listdir(D)) >= {n, n + ".expected.json"}, n)
    for e in exp[n]:
        ok(list(e) == ["kind", "title", "username", "password", "urls", "notes", "totp", "folder", "tags", "favourite",
                       "custom_fields", "history", "created", "modified", "other"], n + " keys")
    if n.endswith(".json"):
        doc = json.loads(raw[n])
        if "password" in i and i["must"] == "import":
            ks = keys(i["password"], doc)
            dec(doc["encKeyValidation_DO_NOT_EDIT"], ks)
            t = dec(doc["data"], ks)
            ok(t == (org if "org" in n else M.js({"encrypted": False, "folders": [], "items": []}) if "empty" in n else plain), n + " text")
            try:
                dec(doc["data"], keys(i["wrong_password"], doc)); ok(False, n + " wrong password")
            except ValueError:
                pass
        if n.endswith(("damaged.json", "wrong-mac.json")):
            try:
                dec(doc["data"], keys(i["password"], doc)); ok(False, n + " mac")
            except ValueError:
                pass
        if "account" in n:
            leak = [w for w in ("alice@example.com", "correct horse", "Mustermann", "https://", "OPENSSH") if w.encode() in raw[n]]
            ok(not leak and doc["encrypted"] and "passwordProtected" not in doc, n + str(leak))

# --- CSV: read with the csv module
COL = {  # file prefix: title, username, password, url, notes, totp, folder
    "chrome": ("name", "username", "password", "url", "note"), "edge": ("name", "username", "password", "url", "note"),
    "variant-chrome": ("name", "username", "password", "url", "note"),
    "firefox": (None, "username", "password", "url", None), "safari": ("Title", "Username", "Password", ("URL", "Url"), "Notes", "OTPAuth"),
    "variant-safari": ("Title", "Username", "Password", "URL", "Notes", "OTPAuth"),
    "1password": ("Title", "Username", "Password", "Url", "Notes", "OTPAuth"), "keepassxc": ("Title", "Username", "Password", "URL", "Notes", "TOTP", "Group"),
    "keepass1": ("Account", "Login Name", "Password", "Web Site", "Comments"),
    "dashlane-credentials": ("title", "username", "password", "url", "note", ("otpUrl", "otpSecret"), "category"),
    "bitwarden": ("name", "login_username", "login_password", None, "notes", "login_totp", "folder"),
    "lastpass": ("name", "username", "password", None, None, "totp", "grouping"),
    "nordpass": ("name", "username", "password", "url", None, None, "folder"),
    "protonpass": ("name", None, "password", None, None, "totp", "vault"),
}
for n, i in index.items():
    if not n.endswith(".csv"):
        continue
    b = raw[n]
    ok(b.startswith(b"\xef\xbb\xbf") == i["bom"], n + " bom")
    text = b.decode("utf-8-sig")
    eol = {"LF": "\n", "CRLF": "\r\n", "CRCRLF": "\r\r\n"}[i["eol"]]
    ok(text.endswith(eol) == i.get("last_eol", True), n + " last line end")
    if i["eol"] == "CRCRLF":
        ok(text.count("\n") == text.count("\r\r\n"), n); text = text.replace("\r\r\n", "\n")
    kw = dict(doublequote=False, escapechar="\\") if n.startswith("keepass1") else {}
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True, **kw))
    if n.startswith("enpass"):
        rows = rows[1:] if n == "enpass5.csv" else rows
        ok(len(rows) == len(exp[n]), n + " count")
        for r, e in zip(rows, exp[n]):
            has_note = len(r) % 2 == 0
            ok(r[0] == e["title"] and (r[-1] if has_note else "") == (e["notes"] or ""), n + " " + r[0])
            pairs = list(zip(r[1::2], r[2::2]))
            for label, field in (("password", "password"), ("username", "username")):
                v = [x for l, x in pairs if l.lstrip("*").lower() == label]
                ok(not v or v[0] == e[field], n + " " + r[0])
        continue
    head, rows = rows[0], rows[1:]
    ok(all(len(r) == len(head) for r in rows), n + " width")
    ds = [dict(zip(head, r)) for r in rows]
    if n.startswith("nordpass"):
        ds = [d for d in ds if d["type"] != "folder"]
    ok(len(ds) == len(exp[n]), "%s count %d %d" % (n, len(ds), len(exp[n])))
    pre = [p for p in sorted(COL, key=len, reverse=True) if n.startswith(p)]
    if not pre:
        continue
    for d, e in zip(ds, exp[n]):
        for c, k in zip(COL[pre[0]], ("title", "username", "password", "urls", "notes", "totp", "folder")):
            c = c if not isinstance(c, tuple) else next((x for x in c if x in d), None)
            if c is None or c not in d:
                continue
            want = e[k] if k != "urls" else (e[k][0] if e[k] else "")
            ok(d[c] == (want or ""), "%s %s %r %r" % (n, k, d[c], want))
        if n.startswith("protonpass"):
            if e["kind"] == "login" and not e["other"].get("proton_type"):
                ok(e["username"] == (d["username"] or d["email"]) and d["note"] == e["notes"], n + " user")
                if "autofillUrls" in d:
                    ok([x["url"] for x in json.loads(d["autofillUrls"] or "[]")] == e["urls"], n + " urls")
        if n.startswith("lastpass") and e["kind"] == "login":
            ok(d["extra"] == e["notes"] and e["urls"] == ([d["url"]] if d["url"] != "http://" else []), n + " extra")

z = zipfile.ZipFile(os.path.join(D, "dashlane.zip"))
ok(all(z.read(n) == raw["dashlane-" + n] for n in z.namelist()) and z.testzip() is None, "dashlane.zip")

# --- keys
doc = json.loads(plain)
from cryptography.hazmat.primitives.serialization import load_ssh_private_key, load_der_private_key, Encoding, PublicFormat
for it in doc["items"]:
    if it["type"] == 5:
        k = load_ssh_private_key(it["sshKey"]["privateKey"].encode(), None)
        pub = k.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
        ok(it["sshKey"]["publicKey"].split()[:2] == pub.split()[:2], it["name"])
        with tempfile.NamedTemporaryFile("w", suffix=".pub") as f:
            f.write(it["sshKey"]["publicKey"] + "\n"); f.flush()
            try:
                fp = subprocess.run(["ssh-keygen", "-lf", f.name], capture_output=True, text=True).stdout.split()[1]
                ok(fp == it["sshKey"]["keyFingerprint"], "fingerprint " + fp)
            except FileNotFoundError:
                want = "SHA256:" + base64.b64encode(hashlib.sha256(base64.b64decode(pub.split()[1])).digest()).decode().rstrip("=")
                ok(want == it["sshKey"]["keyFingerprint"], "fingerprint")
    for p in (it.get("login") or {}).get("fido2Credentials", []):
        v = p["keyValue"]
        k = load_der_private_key(base64.urlsafe_b64decode(v + "=" * (-len(v) % 4)), None)
        ok(k.curve.name == "secp256r1", "passkey")
ok(sorted({u["match"] for i in doc["items"] if i["type"] == 1 for u in i["login"]["uris"] if u["match"] is not None}) == [0, 1, 2, 3, 4, 5], "match types")
ok({f["type"] for i in doc["items"] for f in i.get("fields", [])} == {0, 1, 2, 3}, "field types")
print("%d files, %d entries, %s" % (len(index), sum(len(e) for e in exp.values()), "all well" if not bad else "%d BAD" % len(bad)))
sys.exit(bool(bad))
