#!/usr/bin/env python3
"""Write sample export files of password managers, and beside each file the entries it holds.

usage: make_vendors.py FOLDER

Needs PyPI's cryptography and argon2-cffi. Every value is invented, every "random" byte comes from a
fixed seed: two runs write the same bytes. Beside NAME stands NAME.expected.json (a list of entries);
INDEX.json says for each file what it is, its password if it has one, its line ends, byte-order mark
and quoting, and whether a reader should import or refuse it. Where a fact about a format is
documented is in SOURCES.md.
"""
import base64
import datetime
import hashlib
import hmac
import io
import json
import os
import random
import sys
import urllib.parse
import uuid
import zipfile

from argon2.low_level import Type, hash_secret_raw
from cryptography.hazmat.primitives import padding, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

SEED = 20240229
EPOCH = 1_700_000_000


# --------------------------------------------------------------------------------------------------
# small helpers

def rng(*what):
    """A fresh generator for each purpose, so that adding a sample does not move the others."""
    return random.Random(hashlib.sha256(repr((SEED,) + what).encode()).digest())


def rbytes(n, *what):
    return rng(*what).randbytes(n)


def ruuid(*what):
    return str(uuid.UUID(bytes=rbytes(16, "uuid", *what), version=4))


def b64(data):
    return base64.b64encode(data).decode()


def b64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def iso_s(sec):
    return datetime.datetime.fromtimestamp(sec, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def iso_ms(ms):
    t = datetime.datetime.fromtimestamp(ms // 1000, datetime.timezone.utc)
    return t.strftime("%Y-%m-%dT%H:%M:%S") + ".%03dZ" % (ms % 1000)


def js(value):
    """JSON.stringify(value, null, "  ")"""
    return json.dumps(value, indent=2, ensure_ascii=False)


def js_tight(value):
    """JSON.stringify(value)"""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def host(url):
    h = urllib.parse.urlsplit(url).hostname if "://" in url else url.split("/")[0]
    return h or ""


def entry(kind="login", title=None, username=None, password=None, urls=(), notes=None, totp=None,
          folder=None, tags=(), favourite=None, custom_fields=(), history=(), created=None,
          modified=None, other=None):
    """One expected entry. null: this format cannot say; "": it says that the value is empty."""
    return {"kind": kind, "title": title, "username": username, "password": password,
            "urls": [u for u in urls if u], "notes": notes, "totp": totp, "folder": folder,
            "tags": list(tags), "favourite": favourite, "custom_fields": list(custom_fields),
            "history": list(history), "created": created, "modified": modified,
            "other": other or {}}


def cf(name, value, hidden=None):
    return {"name": name, "value": value, "hidden": hidden}


# --------------------------------------------------------------------------------------------------
# CSV, as each program writes it

def _dq(s):
    return '"' + s.replace('"', '""') + '"'


def q_all(s):
    return _dq(s)


def q_needed(s):
    """Chromium, lastpass-cli, Rust's csv crate: only for comma, quote, CR, LF."""
    return _dq(s) if any(c in s for c in ',"\r\n') else s


def q_papa(s):
    """Papa Parse's unparse: also for U+FEFF and a space at either end."""
    return _dq(s) if any(c in s for c in ',"\r\n\ufeff') or s[:1] == " " or s[-1:] == " " else s


def q_keepass1(s):
    return '"' + s.replace("\\", "\\\\").replace('"', '\\"') + '"'


def q_firefox(s):
    return "" if s is None else _dq(s)


def make_csv(rows, quote, eol, last_eol=True, bom=False):
    text = eol.join(",".join(quote(c) for c in r) for r in rows) + (eol if last_eol else "")
    return (b"\xef\xbb\xbf" if bom else b"") + text.encode("utf-8")


# --------------------------------------------------------------------------------------------------
# the common stock: hostile but legal logins

def long_text(n, *what):
    r = rng("long", *what)
    words = ["lorem", "ipsum", "Größe", "naïve", "日本", "data,", "\"quoted\"", "a;b", "x\ty", "🙂", "end."]
    out, size = [], 0
    while size < n:
        w = r.choice(words) + ("\n" if r.random() < 0.08 else " ")
        out.append(w)
        size += len(w)
    return ("".join(out)[:n - 3]).rstrip() + "EOF"


OTP_PLAIN = "otpauth://totp/Example:alice%40example.com?secret=JBSWY3DPEHPK3PXP&issuer=Example"
OTP_ODD = ("otpauth://totp/B%C3%BCcherei%3Aj%C3%BCrgen?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
           "GEZDGNBVGY3TQOJQ&issuer=B%C3%BCcherei&algorithm=SHA256&digits=8&period=60")
OTP_BARE = "jbsw y3dp ehpk 3pxp"
OTP_BARE_TIGHT = "JBSWY3DPEHPK3PXP"
OTP_STEAM = "steam://HXDMVJECJJWSRB3HWIZR4IFUGFTMXBOZ"


def stock():
    s = []

    def add(key, title, url, username, password, notes="", totp="", folder=(), tags=(), fav=False):
        n = len(s)
        s.append({"key": key, "title": title, "url": url, "username": username, "password": password,
                  "notes": notes, "totp": totp, "folder": list(folder), "tags": list(tags), "fav": fav,
                  "created": EPOCH + n * 86_461, "modified": EPOCH + n * 86_461 + 3_601 * (n % 7)})

    add("plain", "Example", "https://example.com/login", "alice@example.com", "correct horse battery staple",
        folder=["Personal"], fav=True)
    add("comma-quote", 'Widgets, "Inc."', "https://widgets.example/a,b?q=%22x%22", "o'brien, \"pat\"",
        'pa"ss,wo""rd;\'', 'comma, "quote", semicolon; pipe| tab\tend', folder=["Work"])
    add("multiline", "Line breaks", "https://lines.example/", "liner", "l1ne-br3ak",
        'first line\nsecond, line\n\n"fourth" line', folder=["Work"])
    add("crlf-note", "Windows line breaks", "https://crlf.example/", "bill", "w1nd0ws",
        "first\r\nsecond\r\nthird", folder=["Work"])
    add("emoji", "🔐 Safe 👩‍👩‍👧‍👦", "https://emoji.example/", "🦊fox", "🐴🔋📎pw✅", "flags 🇩🇪🇯🇵, skin 👍🏽, music 𝄞",
        folder=["🏠 Home"])
    add("spaces", "Spaces in the password", "https://spaces.example/", "spacey", "  two before, three after   ",
        folder=["Personal"])
    add("spaces-plain", "Spaces without a comma", "https://spaces2.example/", " lead and trail ", " x ",
        folder=["Personal"])
    add("tab", "Tab in the password", "https://tab.example/", "tabby", "\ta\tb\t")
    add("empty-password", "No password", "https://empty.example/", "nobody", "", "there is none on purpose")
    add("empty-username", "No user name", "http://192.168.1.1:8443/admin?x=1&y=2#frag", "", "r0uter-pw")
    add("formula", "=1+1", "https://formula.example/", "+49 30 1234567", "@SUM(A1:A9)",
        "-2+3+cmd|' /C calc'!A0\n=HYPERLINK(\"https://evil.example\",\"x\")", folder=["=cmd"])
    add("formula-2", "-5", "https://formula2.example/", "=A1", "=1+1", "'quoted away", fav=True)
    add("duplicate", "Twice", "https://twice.example/", "dup", "same-same", "same note", folder=["Work"])
    add("duplicate", "Twice", "https://twice.example/", "dup", "same-same", "same note", folder=["Work"])
    add("near-duplicate", "Twice", "https://twice.example/", "dup", "other-password", "same note",
        folder=["Work"])
    add("folder-slash", "Deep folder", "https://deep.example/", "deep", "d33p", folder=["Work", "Servers", "Berlin"],
        tags=["ops", "Ünïcode tag"])
    add("otp", "With OTP address", "https://otp.example/", "alice@example.com", "0tp-pw", totp=OTP_PLAIN,
        folder=["Personal"], tags=["2fa"])
    add("otp-odd", "OTP, 8 digits", "https://otp8.example/", "jürgen", "0tp8-pw", totp=OTP_ODD)
    add("german", "Straßenverkehrsamt Köln – Bürgerbüro", "https://münchen.example/übersicht", "Jörg Müßig",
        "Grüße_ÄÖÜß€§", "Zulassung fällig am 3. März; Gebühr 30,70 €\nAnsprechpartnerin: Frau Özdemir",
        folder=["Behörden", "Köln"], tags=["Ämter"])
    add("nfd", "Decomposed accents", "https://nfd.example/", "ame\u0301lie", "Cafe\u0301-A\u030angstro\u0308m",
        "password and user name are NFD: they must not be normalised")
    add("japanese", "楽天市場 東京支店", "https://www.rakuten.example/会員", "山田 太郎", "ﾊﾟｽﾜｰﾄ＝１２３・〜",
        "暗証番号は「秘密」です。\n改行、読点、全角スペース　あり", folder=["仕事", "経理"], tags=["重要"])
    add("rtl", "שלום עולם", "https://rtl.example/", "مرحبا", "סיסמה-123-كلمة", "mixed العربية and English")
    add("numbers", "007", "https://numbers.example/", "0049123", "1e10", "0.10")
    add("truthy", "TRUE", "https://truthy.example/", "null", "2024-01-02", "false")
    add("backslash", "C:\\temp\\new", "https://backslash.example/", "DOMAIN\\user", "ends with\\", 'a\\"b\\\\c\\n')
    add("quote-only", '"', "https://quotes.example/", '""', '"', '"""')
    add("headerlike", "Title", "https://headers.example/", "Username", "Password", "Notes")
    add("no-scheme", "Router", "router.local", "admin", "admin")
    add("no-url", "Just a password", "", "door", "12#34*")
    add("no-title", "", "https://untitled.example/", "someone", "unt1tled")
    add("controls", "Zero\u200bwidth", "https://zw.example/", "bi\u202eid", "zw\u200dj\u00a0nbsp", "soft\u00adhyphen\ufeffmid")
    add("long", "Very long note", "https://long.example/", "long", "p" * 300, "<long>")
    return s


def with_long(limit):
    out = []
    for e in stock():
        e = dict(e)
        if e["notes"] == "<long>":
            e["notes"] = long_text(limit, limit)
        out.append(e)
    return out


# --------------------------------------------------------------------------------------------------
# what is written

class Out:
    def __init__(self, folder):
        self.folder = folder
        self.index = {}

    def put(self, name, data, expected, fmt, **facts):
        if isinstance(data, str):
            data = data.encode("utf-8")
        with open(os.path.join(self.folder, name), "wb") as f:
            f.write(data)
        with open(os.path.join(self.folder, name + ".expected.json"), "w", encoding="utf-8", newline="\n") as f:
            f.write(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")
        info = {"format": fmt, "must": "import", "entries": len(expected), "bytes": len(data),
                "sha256": hashlib.sha256(data).hexdigest()}
        info.update(facts)
        self.index[name] = info

    def finish(self):
        with open(os.path.join(self.folder, "INDEX.json"), "w", encoding="utf-8", newline="\n") as f:
            f.write(json.dumps({
                "about": [
                    "must = import: NAME.expected.json lists what the file holds, in the file's order.",
                    "must = refuse: nothing can be read from it; the list is empty.",
                    "null in an entry: the format cannot say. An empty string: it says that the value is empty.",
                    "Strings are verbatim (spaces, NFD, control characters). A reader may turn CR LF inside notes into LF.",
                    "folder is verbatim; folder_separator says what splits it. totp is verbatim.",
                    "created and modified are UTC. other holds whatever else the file says of an entry.",
                ],
                "files": dict(sorted(self.index.items()))}, indent=1, ensure_ascii=False) + "\n")


# --------------------------------------------------------------------------------------------------
# browsers

ANDROID = ("android://Jzj5T2E45Hb33D-lk-EHZVCrb7a064dEicTwrTYQYGXO99JqE2YERhbMP1qLogwJiy87OsBzC09Gk094Z-U_hg=="
           "@com.netflix.mediaclient/")


def chromium_rows():
    rows = []
    for e in with_long(1000):                     # the note field takes 1,000 characters
        if not e["url"] or "://" not in e["url"]:
            continue                              # a browser has no entry without an address
        u = urllib.parse.urlsplit(e["url"])       # an address is stored as the browser spells it
        url = urllib.parse.urlunsplit((u.scheme, u.netloc.encode("idna").decode() if not u.netloc.isascii()
                                       else u.netloc, urllib.parse.quote(u.path, safe="/,%"), u.query, u.fragment))
        rows.append((host(url), url, e["username"], e["password"], e["notes"]))
    rows.append(("Netflix", ANDROID, "alice@example.com", "n3tfl1x", ""))
    rows.append(("localhost", "http://localhost:8080/", "dev", "dev, \"local\"", ""))
    return sorted(rows, key=lambda r: [c.encode() for c in r])   # Chromium sorts the rows


def chromium(out):
    head = ("name", "url", "username", "password", "note")
    rows = chromium_rows()
    exp = [entry(title=n, urls=[u], username=us, password=p, notes=no) for n, u, us, p, no in rows]
    facts = {"quoting": "needed", "bom": False}
    out.put("chrome.csv", make_csv([head] + rows, q_needed, "\n"), exp, "Chrome CSV (macOS, Linux)", eol="LF", **facts)
    out.put("chrome-windows.csv", make_csv([head] + rows, q_needed, "\r\n"), exp, "Chrome CSV (Windows)", eol="CRLF", **facts)
    out.put("edge.csv", make_csv([head] + rows, q_needed, "\r\n"), exp, "Edge CSV (Windows)", eol="CRLF", **facts)
    old = [r[:4] for r in rows]
    exp_old = [dict(e, notes=None) for e in exp]
    out.put("chrome-without-note.csv", make_csv([head[:4]] + old, q_needed, "\n"), exp_old,
            "Chrome CSV before notes (also Edge's)", eol="LF", **facts)
    out.put("variant-chrome-bom.csv", make_csv([head] + rows, q_needed, "\r\n", bom=True), exp,
            "Chrome CSV saved again by another program (no browser writes the mark)", eol="CRLF", quoting="needed", bom=True)
    out.put("chrome-empty.csv", make_csv([head], q_needed, "\n"), [], "Chrome CSV without entries", eol="LF", **facts)


def firefox(out):
    head = ("url", "username", "password", "httpRealm", "formActionOrigin", "guid", "timeCreated", "timeLastUsed",
            "timePasswordChanged")
    rows, exp = [], []

    def add(origin, username, password, realm, action, n, internal=False):
        c = (EPOCH + n * 86_461) * 1000 + (n * 37) % 1000
        used, changed = c + 5_000_000 * (n % 5), c + 1_000_000 * (n % 3)
        guid = "{" + ruuid("firefox", n) + "}"
        rows.append((origin, username, password, realm, action, guid, str(c), str(used), str(changed)))
        o = {"httpRealm": realm, "formActionOrigin": action, "guid": guid, "last_used": iso_ms(used)}
        if internal:
            o["internal"] = "the browser's own sync account: a reader may leave it out"
        exp.append(entry(urls=[origin], username=username, password=password, created=iso_ms(c),
                         modified=iso_ms(changed), other=o))

    n = 0
    for e in stock():
        if not e["url"] or "://" not in e["url"]:
            continue
        u = urllib.parse.urlsplit(e["url"])
        netloc = u.netloc if u.netloc.isascii() else u.netloc.encode("idna").decode()
        origin = u.scheme + "://" + netloc                       # no path: Firefox keeps the origin
        add(origin, e["username"], e["password"], None, "" if n % 4 == 0 else origin, n)
        n += 1
    add("https://nas.example:5001", "admin", "b4sic", 'Restricted, "Area"', None, n)
    add("moz-proxy://proxy.example:3128", "proxyuser", "pr0xy", "Proxy Ünïcode", None, n + 1)
    quoting = "all, except a missing value"
    out.put("firefox.csv", make_csv([head] + rows, q_firefox, "\r\n", last_eol=False), list(exp), "Firefox CSV",
            eol="CRLF", last_eol=False, quoting=quoting, bom=False)
    add("chrome://FirefoxAccounts", "8e6117d643b5416c8e6117d643b5416c",
        js_tight({"version": 1, "accountData": {"scopedKeys": {}}}), "Firefox Accounts credentials", None, n + 2, True)
    out.put("firefox-with-sync-account.csv", make_csv([head] + rows, q_firefox, "\r\n", last_eol=False), exp,
            "Firefox CSV with the sync account's row", eol="CRLF", last_eol=False, quoting=quoting, bom=False)


def safari(out):
    head = ("Title", "URL", "Username", "Password", "Notes", "OTPAuth")
    rows = []
    for e in with_long(20_000):
        title = e["title"]
        if e["key"] in ("plain", "no-title", "spaces"):          # the title a site gets by itself
            title = "%s (%s)" % (host(e["url"]), e["username"])
        rows.append((title, e["url"], e["username"], e["password"], e["notes"], e["totp"]))
    exp = [entry(title=t, urls=[u], username=us, password=p, notes=no, totp=o) for t, u, us, p, no, o in rows]
    out.put("safari.csv", make_csv([head] + rows, q_needed, "\n"), exp, "Safari / Apple Passwords CSV", eol="LF",
            quoting="needed", bom=False)
    out.put("variant-safari-bom-crlf.csv", make_csv([head] + rows, q_needed, "\r\n", bom=True), exp,
            "Safari CSV saved again with a byte-order mark and CR LF", eol="CRLF", quoting="needed", bom=True)
    out.put("safari-macos12.csv", make_csv([("Title", "Url", "Username", "Password", "OTPAuth")] +
                                           [r[:4] + r[5:] for r in rows], q_needed, "\n"),
            [dict(e, notes=None) for e in exp], "Safari CSV, first form (no Notes, Url in mixed case)", eol="LF",
            quoting="needed", bom=False)


# --------------------------------------------------------------------------------------------------
# LastPass, Dashlane, NordPass, Proton Pass, Enpass, 1Password, KeePass, KeePassXC

def lastpass(out):
    head = ("url", "username", "password", "totp", "extra", "name", "grouping", "fav")
    rows, exp = [], []

    def add(url, username, password, totp, extra, name, grouping, fav, e):
        rows.append((url, username, password, totp, extra, name, grouping, "1" if fav else "0"))
        exp.append(dict(e, folder=grouping, favourite=fav))

    for s in with_long(40_000):
        # LastPass keeps the bare secret; the other parameters of an OTP address have no place in its CSV
        totp = ""
        if s["totp"]:
            totp = urllib.parse.parse_qs(urllib.parse.urlsplit(s["totp"]).query)["secret"][0]
        url = s["url"] or "http://"                              # an entry without an address
        add(url, s["username"], s["password"], totp, s["notes"], s["title"], "\\".join(s["folder"]), s["fav"],
            entry(title=s["title"], urls=[s["url"]], username=s["username"], password=s["password"],
                  notes=s["notes"], totp=totp))
    add("https://shared.example/", "team", "sh4red", "", "", "Shared login", "Shared-Team\\Ops/2024, \"new\"", False,
        entry(title="Shared login", urls=["https://shared.example/"], username="team", password="sh4red", notes="", totp=""))
    add("https://spaced.example/", "sp", "sp", OTP_BARE, "", "OTP secret with spaces", "", False,
        entry(title="OTP secret with spaces", urls=["https://spaced.example/"], username="sp", password="sp", notes="",
              totp=OTP_BARE))
    add("http://sn", "", "", "", "Wi-Fi of the office\nline two, with \"quotes\"", "Secure note", "Notes", True,
        entry("note", title="Secure note", notes="Wi-Fi of the office\nline two, with \"quotes\""))
    add("http://sn", "", "", "", "", "Empty note", "", False, entry("note", title="Empty note", notes=""))

    def typed(kind, name, note_type, fields, notes, grouping="Notes"):
        raw = "NoteType:%s\nLanguage:en-US\n" % note_type + "".join("%s:%s\n" % f for f in fields) + "Notes:" + notes
        add("http://sn", "", "", "", raw, name, grouping, False,
            entry(kind, title=name, notes=notes, other={"note_type": note_type, "fields": [list(f) for f in fields],
                                                        "raw": raw}))

    typed("card", "Visa", "Credit Card", [
        ("Name on Card", "Erika Mustermann"), ("Type", "Visa"), ("Number", "4111111111111111"), ("Security Code", "123"),
        ("Start Date", "February,2021"), ("Expiration Date", "January,2031")], "limit: 1,000 €\nsecond line", "Cards")
    typed("identity", "Home address", "Address", [
        ("Title", "mrs"), ("First Name", "Erika"), ("Middle Name", ""), ("Last Name", "Mustermann"), ("Username", ""),
        ("Gender", "f"), ("Birthday", "August,12,1964"), ("Company", ""), ("Address 1", "Heidestraße 17"), ("Address 2", ""),
        ("Address 3", ""), ("City / Town", "Köln"), ("County", ""), ("State", ""), ("Zip / Postal Code", "51147"),
        ("Country", "DE"), ("Timezone", ""), ("Email Address", "erika@example.de"),
        ("Phone", '{"num":"4922112345","ext":"","cc3l":"DEU"}'), ("Evening Phone", ""), ("Mobile Phone", ""), ("Fax", "")], "")
    private, public, _ = SSH["ed25519"]
    typed("ssh key", "Server key", "SSH Key", [
        ("Bit Strength", "256"), ("Format", "ed25519"), ("Passphrase", "k3y: with colon"), ("Private Key", private.rstrip("\n")),
        ("Public Key", public), ("Hostname", "srv.example.com"), ("Date", "January,31,2024")], "rotate: yearly")
    typed("note", "Office Wi-Fi", "Wi-Fi Password", [
        ("SSID", "büro,5G"), ("Password", "w1f1: \"pw\""), ("Connection Type", ""), ("Connection Mode", ""),
        ("Authentication", "WPA2"), ("Encryption", ""), ("Use 802.1X", ""), ("FIPS Mode", ""), ("Key Type", ""),
        ("Protected", ""), ("Key Index", "")], "")
    typed("note", "Bank", "Bank Account", [
        ("Bank Name", "Sparkasse"), ("Account Type", "Giro"), ("Routing Number", ""), ("Account Number", "0532013000"),
        ("SWIFT Code", "COLSDE33"), ("IBAN Number", "DE89370400440532013000"), ("Pin", "0042"), ("Branch Address", ""),
        ("Branch Phone", "")], "")
    typed("note", "My own kind", "Custom_657088934083173965", [
        ("text", "value"), ("date", "January,31,2001"), ("my password", "s3cret:with:colons")], "line1 \"q\"\nline2")
    facts = {"quoting": "needed", "bom": False, "folder_separator": "\\"}
    out.put("lastpass.csv", make_csv([head] + rows, q_needed, "\r\n"), exp, "LastPass CSV", eol="CRLF", **facts)
    out.put("lastpass-lf.csv", make_csv([head] + rows, q_needed, "\n"), exp, "LastPass CSV as other routes write it",
            eol="LF", **facts)
    # Windows: some routes end the lines with CR CR LF
    simple = [(r, e) for r, e in zip(rows, exp) if not any("\n" in c or "\r" in c for c in r)]
    out.put("lastpass-crcrlf.csv", make_csv([head] + [r for r, _ in simple], q_needed, "\r\r\n"),
            [e for _, e in simple], "LastPass CSV with CR CR LF line ends (seen on Windows)", eol="CRCRLF", **facts)
    no_totp = [r[:3] + r[4:] for r in rows]
    out.put("lastpass-without-totp.csv", make_csv([head[:3] + head[4:]] + no_totp, q_needed, "\r\n"),
            [dict(e, totp=None) for e in exp], "LastPass CSV before the totp column", eol="CRLF", **facts)


def dashlane(out):
    head = ("username", "username2", "username3", "title", "password", "note", "url", "category", "otpUrl")
    rows, exp = [], []

    def add(username, u2, u3, title, password, note, url, category, otp):
        rows.append((username, u2, u3, title, password, note, url, category, otp))
        o = {k: v for k, v in (("username2", u2), ("username3", u3)) if v}
        exp.append(entry(title=title, urls=[url], username=username, password=password, notes=note, totp=otp,
                         folder=category, other=o))

    for s in with_long(30_000):
        add(s["username"], "", "", s["title"], s["password"], s["notes"], s["url"], "/".join(s["folder"]), s["totp"])
    add("first@example.com", "second, login", "third", "Three logins", "thr33", "", "https://three.example", "Work, \"Infra\"",
        "otpauth://totp/?secret=JBSWY3DPEHPK3PXP&algorithm=SHA1&digits=6&period=30")
    add("", "only-second", "", "Second login only", "s3cond", "", "second.example", "", "")
    cred = make_csv([head] + rows, q_papa, "\r\n", last_eol=False)
    facts = {"eol": "CRLF", "last_eol": False, "quoting": "needed, also for spaces at the ends", "bom": False}
    out.put("dashlane-credentials.csv", cred, exp, "Dashlane credentials.csv", **facts)

    def bare(otp):
        return urllib.parse.parse_qs(urllib.parse.urlsplit(otp).query)["secret"][0] if otp else ""
    out.put("dashlane-credentials-otpsecret.csv",
            make_csv([head[:8] + ("otpSecret",)] + [r[:8] + (bare(r[8]),) for r in rows], q_papa, "\r\n", last_eol=False),
            [dict(e, totp=bare(e["totp"])) for e in exp], "Dashlane credentials.csv, older (otpSecret)", **facts)

    notes_rows = [("Wi-Fi, \"home\"", "line 1\nline 2, \"q\""), ("=1+1", "@SUM(A1)"), ("メモ", "日本語の\nノート"), ("Empty", ""),
                  ("Long", long_text(30_000, "dashlane"))]
    notes_exp = [entry("note", title=t, notes=n) for t, n in notes_rows]
    notes_csv = make_csv([("title", "note")] + notes_rows, q_papa, "\r\n", last_eol=False)
    out.put("dashlane-securenotes.csv", notes_csv, notes_exp, "Dashlane securenotes.csv", **facts)

    pay_head = ("type", "account_name", "account_holder", "cc_number", "code", "expiration_month", "expiration_year",
                "routing_number", "account_number", "country", "issuing_bank", "note", "name")
    pay_rows = [
        ("payment_card", "Erika Mustermann", "", "4111111111111111", "007", "03", "2031", "", "", "DE", "", "", ""),
        ("payment_card", "山田 太郎", "", "5555555555554444", "123", "12", "2029", "", "", "JP", "", "line1\nline2, \"q\"", "my card"),
        ("bank", "Girokonto", "Erika Mustermann", "", "", "", "", "COLSDE33", "DE89370400440532013000", "DE", "Sparkasse, Köln",
         "", "")]
    pay_exp = []
    for r in pay_rows:
        d = dict(zip(pay_head, r))
        title = d["name"] or d["account_name"]
        pay_exp.append(entry("card" if d["type"] == "payment_card" else "note", title=title, notes=d["note"],
                             other={k: v for k, v in d.items() if v}))
    pay_csv = make_csv([pay_head] + pay_rows, q_papa, "\r\n", last_eol=False)
    out.put("dashlane-payments.csv", pay_csv, pay_exp, "Dashlane payments.csv", **facts)

    ids_head = ("type", "number", "name", "issue_date", "expiration_date", "place_of_issue", "state")
    ids_rows = [("card", "L01X00T471", "Erika Mustermann", "2021-08-01", "2031-07-31", "DE", ""),
                ("passport", "C01X00T47", "Erika Mustermann", "2019-11-08", "2029-11-07", "Köln, DE", ""),
                ("license", "B072RRE2I55", "Erika Mustermann", "2001-01-19", "", "", "NRW"),
                ("social_security", "12 345678 M 901", "Erika Mustermann", "", "", "", ""),
                ("tax_number", "12345678911", "", "", "", "", "")]
    ids_exp = [entry("identity", title=None, other={k: v for k, v in zip(ids_head, r) if v}) for r in ids_rows]
    ids_csv = make_csv([ids_head] + ids_rows, q_papa, "\r\n", last_eol=False)
    out.put("dashlane-ids.csv", ids_csv, ids_exp, "Dashlane ids.csv", **facts)

    per_head = ("type", "title", "first_name", "middle_name", "last_name", "login", "date_of_birth", "place_of_birth",
                "email", "email_type", "item_name", "phone_number", "address", "country", "state", "city", "zip",
                "address_recipient", "address_building", "address_apartment", "address_floor", "address_door_code",
                "job_title", "url")

    def person(**kw):
        return tuple(kw.get(k, "") for k in per_head)
    per_rows = [person(type="name", title="MRS", first_name="Erika", middle_name="Maria", last_name="Mustermann",
                       login="erika", date_of_birth="1964-08-12", place_of_birth="Berlin"),
                person(type="email", email="erika@example.de", email_type="personal", item_name="Email 1"),
                person(type="number", item_name="Mobile", phone_number="+49 221 12345"),
                person(type="address", item_name="Home", address="Heidestraße 17,\n3. OG", country="DE", city="Köln", zip="51147",
                       address_recipient="Erika \"E.\" Mustermann", address_door_code="=1+1"),
                person(type="company", item_name="ACME, Inc.", job_title="Leiterin"),
                person(type="website", item_name="Blog", url="https://blog.example")]
    per_exp = [entry("identity", title=dict(zip(per_head, r))["item_name"] or None, urls=[r[-1]],
                     other={k: v for k, v in zip(per_head, r) if v}) for r in per_rows]
    per_csv = make_csv([per_head] + per_rows, q_papa, "\r\n", last_eol=False)
    out.put("dashlane-personalInfo.csv", per_csv, per_exp, "Dashlane personalInfo.csv", **facts)

    buf = io.BytesIO()
    with zipfile.ZipFile(buf, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in (("credentials.csv", cred), ("securenotes.csv", notes_csv), ("payments.csv", pay_csv),
                           ("ids.csv", ids_csv), ("personalInfo.csv", per_csv)):
            zi = zipfile.ZipInfo(name, (2024, 2, 29, 12, 0, 0))
            zi.compress_type = zipfile.ZIP_DEFLATED
            zi.create_system = 3
            zi.external_attr = 0o600 << 16
            z.writestr(zi, data)
    out.put("dashlane.zip", buf.getvalue(), exp + notes_exp + pay_exp + ids_exp + per_exp, "Dashlane's ZIP of the five CSV files",
            note="entries in the order credentials, securenotes, payments, ids, personalInfo")


NORD = ("name", "url", "additional_urls", "username", "password", "note", "cardholdername", "cardnumber", "cvc", "pin",
        "expirydate", "zipcode", "folder", "full_name", "phone_number", "email", "address1", "address2", "city", "country",
        "state", "type", "custom_fields")


def nordpass(out):
    rows, exp = [], []

    def add(e, **kw):
        rows.append(tuple(kw.get(k, "") for k in NORD))
        if e is not None:
            exp.append(dict(e, folder=kw.get("folder", "")))

    data = with_long(5_000)
    for f in sorted({"/".join(s["folder"]) for s in data if s["folder"]}):
        add(None, name=f, type="folder")                         # folders have rows of their own
    for s in data:
        f = "/".join(s["folder"])
        add(entry(title=s["title"], urls=[s["url"]], username=s["username"], password=s["password"], notes=s["notes"]),
            name=s["title"], url=s["url"], username=s["username"], password=s["password"], note=s["notes"], folder=f,
            type="password")
    fields = [{"type": "text", "label": "Kundennr., \"alt\"", "value": "=1+1"},
              {"type": "hidden", "label": "PIN", "value": " 0042 "}, {"type": "date", "label": "since", "value": "1706659200"}]
    extra = ["https://second.example/a,b", "https://third.example/?q=\"x\""]
    add(entry(title="Everything", urls=["https://first.example/"] + extra, username="ever", password="ev3ry", notes="n",
              custom_fields=[cf(x["label"], x["value"], x["type"] == "hidden") for x in fields]),
        name="Everything", url="https://first.example/", additional_urls=js_tight(extra), username="ever", password="ev3ry",
        note="n", folder="Work", type="password", custom_fields=js_tight(fields))
    add(entry("note", title="メモ, \"private\"", notes="一行目\n二行目"), name="メモ, \"private\"", note="一行目\n二行目", type="note")
    add(entry("card", title="Visa", notes="limit, 1.000 €", other={
        "cardholdername": "Erika Mustermann", "cardnumber": "4111111111111111", "cvc": "007", "pin": "0042",
        "expirydate": "01/31", "zipcode": "51147"}),
        name="Visa", note="limit, 1.000 €", cardholdername="Erika Mustermann", cardnumber="4111111111111111", cvc="007",
        pin="0042", expirydate="01/31", zipcode="51147", folder="Personal", type="credit_card")
    ident = {"full_name": "Erika Mustermann", "phone_number": "+49 221 12345", "email": "erika@example.de",
             "address1": "Heidestraße 17", "address2": "3. OG, links", "city": "Köln", "country": "Germany",
             "state": "NRW", "zipcode": "51147"}
    add(entry("identity", title="Erika", notes="n1\nn2", other=dict(ident)), name="Erika", note="n1\nn2", type="identity", **ident)
    facts = {"eol": "LF", "quoting": "needed", "bom": False, "folder_separator": None,
             "note": "rows of type folder are not entries"}
    out.put("nordpass.csv", make_csv([NORD] + rows, q_needed, "\n"), exp, "NordPass CSV", **facts)

    gone = ("additional_urls", "pin", "custom_fields")
    keep = [i for i, k in enumerate(NORD) if k not in gone]
    old_exp = []
    for e in exp:
        e = dict(e, custom_fields=[], urls=e["urls"][:1], other={k: v for k, v in e["other"].items() if k != "pin"})
        old_exp.append(e)
    out.put("nordpass-older.csv", make_csv([tuple(r[i] for i in keep) for r in [NORD] + rows], q_needed, "\n"), old_exp,
            "NordPass CSV before 2024 (20 columns)", **facts)


def proton(out):
    head = ("type", "name", "url", "autofillUrls", "email", "username", "password", "note", "totp", "createTime", "modifyTime", "vault")
    rows, exp = [], []

    def add(type_, name, urls=(), email="", username="", password="", note="", totp="", created=EPOCH, modified=EPOCH + 60,
            vault="Personal", e=None):
        default = ", ".join(u for u, m in urls if m == 0)
        full = js_tight([{"url": u, "mode": m} for u, m in urls]) if urls else ""
        rows.append((type_, name, default, full, email, username, password, note, totp, str(created), str(modified), vault))
        exp.append(dict(e, folder=vault, created=iso_s(created), modified=iso_s(modified)))

    vaults = ["Personal", "Work, \"Team\"", "仕事/経理"]
    for n, s in enumerate(with_long(25_000)):
        # Proton Pass splits a login name: what looks like a mail address goes into its own column
        email, username = (s["username"], "") if "@" in s["username"] else ("", s["username"])
        urls = [(s["url"], 0)] if s["url"] else []
        add("login", s["title"], urls, email, username, s["password"], s["notes"], s["totp"], s["created"], s["modified"],
            vaults[n % 3], entry(title=s["title"], urls=[s["url"]], username=username or email, password=s["password"],
                                 notes=s["notes"], totp=s["totp"], other={"email": email} if email else {}))
    many = [("https://one.example/", 0), ("https://two.example/a,b", 0), ("https://exact.example/", 1), ("https://never.example/", 2)]
    add("login", "Four addresses, mail and name", many, "both@example.com", "both", "b0th", "n", OTP_ODD,
        e=entry(title="Four addresses, mail and name", urls=[u for u, _ in many], username="both", password="b0th", notes="n",
                totp=OTP_ODD, other={"email": "both@example.com", "url_modes": [m for _, m in many]}))
    add("note", "Notiz, \"privat\"", note="erste Zeile\nzweite Zeile, €", vault=vaults[1],
        e=entry("note", title="Notiz, \"privat\"", notes="erste Zeile\nzweite Zeile, €"))
    add("alias", "Alias", email="alias.skipping290@passmail.example", note="forwards",
        e=entry("login", title="Alias", notes="forwards", other={"proton_type": "alias", "email": "alias.skipping290@passmail.example"}))
    card = {"cardholderName": "Erika \"E.\" Mustermann", "cardType": 0, "number": "4111111111111111", "verificationNumber": "007",
            "expirationDate": "2031-01", "pin": "0042"}
    add("creditCard", "Karte", note=js_tight(dict(card, note="Limit, 1.000 €\nZeile 2")),
        e=entry("card", title="Karte", notes="Limit, 1.000 €\nZeile 2", other=card))
    ident = {"fullName": "山田 太郎", "email": "taro@example.jp", "phoneNumber": "+81 3 1234 5678", "firstName": "太郎",
             "middleName": "", "lastName": "山田", "birthdate": "1980-01-02", "gender": "",
             "extraPersonalDetails": [
                 {"fieldName": "血液型", "type": "text", "data": {"content": "A"}},
                 {"fieldName": "暗証", "type": "hidden", "data": {"content": " 0042 "}}],
             "organization": "株式会社, \"例\"", "streetAddress": "千代田 1-1", "zipOrPostalCode": "100-0001", "city": "東京",
             "stateOrProvince": "東京都", "countryOrRegion": "JP", "floor": "", "county": "", "extraAddressDetails": [],
             "socialSecurityNumber": "", "passportNumber": "TK1234567", "licenseNumber": "", "website": "", "xHandle": "",
             "secondPhoneNumber": "", "linkedin": "", "reddit": "", "facebook": "", "yahoo": "", "instagram": "",
             "extraContactDetails": [], "company": "", "jobTitle": "経理", "personalWebsite": "", "workPhoneNumber": "",
             "workEmail": "", "extraWorkDetails": [],
             "extraSections": [{"sectionName": "Extra", "sectionFields": [
                 {"fieldName": "f1", "type": "text", "data": {"content": "v1"}}]}]}
    add("identity", "身分", note=js_tight(dict(ident, note="備考")), vault=vaults[2],
        e=entry("identity", title="身分", notes="備考",
                custom_fields=[cf("血液型", "A", False), cf("暗証", " 0042 ", True), cf("f1", "v1", False)], other=ident))
    add("wifi", "Büro-WLAN", password="w1f1, \"pw\"", note="Gäste",
        e=entry("note", title="Büro-WLAN", password="w1f1, \"pw\"", notes="Gäste", other={"proton_type": "wifi"}))
    add("sshKey", "Server key", note="only name and note are in the CSV",
        e=entry("ssh key", title="Server key", notes="only name and note are in the CSV", other={"proton_type": "sshKey"}))
    facts = {"eol": "CRLF", "last_eol": False, "quoting": "needed, also for spaces at the ends", "bom": False,
             "note": "expected username: the user name, or the mail address where there is no user name"}
    out.put("protonpass.csv", make_csv([head] + rows, q_papa, "\r\n", last_eol=False), exp, "Proton Pass CSV", **facts)
    old_exp = []
    for e, r in zip(exp, rows):
        e = dict(e, other={k: v for k, v in e["other"].items() if k != "url_modes"})
        if len(e["urls"]) > 1:
            e["urls"] = ["https://one.example/", "https://two.example/a,b"]
            e["other"]["url_cell"] = r[2]
        old_exp.append(e)
    out.put("protonpass-older.csv", make_csv([tuple(c for i, c in enumerate(r) if i != 3) for r in [head] + rows], q_papa, "\r\n",
                                             last_eol=False), old_exp, "Proton Pass CSV before the autofillUrls column",
            **dict(facts, note=facts["note"] + "; several addresses share the url cell, joined by comma and space"))


def enpass(out):
    v6, v5, exp6, exp5 = [], [], [], []

    def add(title, fields, note, e5, e6):
        """fields: (label in version 5, label in version 6 without the star, sensitive, value)"""
        r5, r6 = [title], [title]
        for l5, l6, sensitive, value in fields:
            r5 += [l5, value]
            r6 += [("*" if sensitive else "") + l6, value]
        v5.append(tuple(r5 + [note]))                            # version 5: the note always stands last
        v6.append(tuple(r6 + ([note] if note else [])))          # version 6: only if there is one
        exp5.append(e5)
        exp6.append(e6)

    for s in with_long(15_000):
        fields = [("Username", "Username", False, s["username"]), ("Email", "E-mail", False, ""),
                  ("Password", "Password", True, s["password"]), ("URL", "Website", False, s["url"])]
        if s["totp"]:
            fields.append(("TOTP", "One-time code", False, s["totp"]))
        e = entry(title=s["title"], urls=[s["url"]], username=s["username"], password=s["password"], notes=s["notes"],
                  totp=s["totp"] or None)
        add(s["title"], fields, s["notes"], e, e)
    fields = [("Username", "Username", False, "multi"), ("Email", "E-mail", False, "multi@example.com"),
              ("Password", "Password", True, "mult1"), ("URL", "Website", False, "https://one.example/"),
              ("URL", "Website", False, "https://two.example/a,b"), ("Phone", "Phone number", False, "+49 30 1"),
              ("Security question", "Security question", False, "Erster \"Hund\", Name?"),
              ("Security answer", "Security answer", True, " Waldi "), ("TOTP", "One-time code", True, OTP_BARE_TIGHT)]

    def multi(labels, hidden):
        return entry(title="Many fields", urls=["https://one.example/", "https://two.example/a,b"], username="multi",
                     password="mult1", notes="n1\nn2", totp=OTP_BARE_TIGHT,
                     custom_fields=[cf(labels[i], fields[i][3], fields[i][2] if hidden else None) for i in (5, 6, 7)],
                     other={"email": "multi@example.com"})
    add("Many fields", fields, "n1\nn2", multi([f[0] for f in fields], False), multi([f[1] for f in fields], True))
    add("Notiz, \"privat\"", [], "erste Zeile\nzweite Zeile", *[entry("note", title="Notiz, \"privat\"", notes="erste Zeile\nzweite Zeile")] * 2)
    card = [("Cardholder", "Cardholder", False, "Erika Mustermann"), ("Type", "Type", False, "Visa"),
            ("Number", "Number", False, "4111111111111111"), ("CVC", "CVC", True, "007"), ("PIN", "PIN", True, "0042"),
            ("Expiry date", "Expiry date", False, "01/31")]
    ce = entry("card", title="Visa", notes="limit, 1.000 €", other={f[0]: f[3] for f in card})
    add("Visa", card, "limit, 1.000 €", ce, ce)
    passport = [("Type", "Type", False, "ordinary"), ("Full name", "Full name", False, "山田 太郎"), ("Number", "Number", False, "TK1234567"),
                ("Nationality", "Nationality", False, "日本"), ("Expiry date", "Expiry date", False, "2031-07-31")]
    pe = entry("identity", title="パスポート", notes="", other=dict({f[0]: f[3] for f in passport},
                                                           kind_is_a_guess="the CSV does not name the category"))
    add("パスポート", passport, "", pe, pe)
    head5 = '"Title","Field","Value","Field","Value",.........,"Note"\n'.encode()
    facts = {"eol": "LF", "quoting": "all", "bom": False,
             "note": "rows have different lengths: title, then label and value in turn, then the note"}
    out.put("enpass5.csv", head5 + make_csv(v5, q_all, "\n"), exp5, "Enpass 5 CSV", **facts)
    out.put("enpass.csv", make_csv(v6, q_all, "\n"), exp6, "Enpass 6 CSV (no header; * before a sensitive label)", **facts)


def onepassword(out):
    head = ("Title", "Url", "Username", "Password", "OTPAuth", "Favorite", "Archived", "Tags", "Notes")
    rows, exp = [], []

    def add(s, archived=False):
        tags = list(s["tags"])
        if s["folder"]:
            tags.append("/".join(s["folder"]))                   # 1Password has nested tags, not folders
        rows.append((s["title"], s["url"], s["username"], s["password"], s["totp"], "true" if s["fav"] else "false",
                     "true" if archived else "false", ";".join(tags), s["notes"]))
        exp.append(entry(title=s["title"], urls=[s["url"]], username=s["username"], password=s["password"], notes=s["notes"],
                         totp=s["totp"], tags=tags, favourite=s["fav"], other={"archived": True} if archived else {}))
    for s in with_long(50_000):
        add(s)
    base = {"title": "Archived login", "url": "https://old.example/", "username": "old", "password": "0ld", "notes": "", "totp": "",
            "tags": ["Starter Kit", "a,b"], "folder": [], "fav": False}
    add(base, archived=True)
    add(dict(base, title="OTP without a label", totp="otpauth://totp/?secret=JBSWY3DPEHPK3PXP&period=30&algorithm=SHA1&digits=6", tags=[]))
    add(dict(base, title="Secret only", totp=OTP_BARE_TIGHT, tags=[]))
    out.put("1password.csv", make_csv([head] + rows, q_needed, "\n"), exp, "1Password 8 CSV", eol="LF", quoting="needed", bom=False,
            tag_separator=";")


def keepassxc_otp(e):
    """KeePassXC's own spelling of an OTP address."""
    if not e["totp"]:
        return ""
    q = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(e["totp"]).query))
    t = urllib.parse.quote(e["title"], safe="-._~") or "KeePassXC"
    u = urllib.parse.quote(e["username"], safe="-._~") or "none"
    url = "otpauth://totp/%s:%s?secret=%s&period=%s&digits=%s&issuer=%s" % (t, u, q["secret"], q.get("period", "30"), q.get("digits", "6"), t)
    return url + ("&algorithm=" + q["algorithm"] if q.get("algorithm", "SHA1") != "SHA1" else "")


def keepass(out):
    head = ("Group", "Title", "Username", "Password", "URL", "Notes", "TOTP", "Icon", "Last Modified", "Created")
    groups = {}
    for e in with_long(60_000):
        groups.setdefault(tuple(e["folder"]), []).append(e)
    groups.setdefault(("A/B with a slash", "in, its \"name\""), []).append(
        {"key": "x", "title": "Slash in a group's name", "url": "https://slash.example/", "username": "s", "password": "s", "notes": "",
         "totp": "", "folder": ["A/B with a slash", "in, its \"name\""], "created": EPOCH, "modified": EPOCH + 1})
    groups.setdefault(("Recycle Bin",), []).append(
        {"key": "x", "title": "Thrown away", "url": "", "username": "gone", "password": "g0ne", "notes": "", "totp": "",
         "folder": ["Recycle Bin"], "created": EPOCH, "modified": EPOCH + 2})
    steam = {"key": "x", "title": "Steam", "url": "https://steam.example/", "username": "gabe", "password": "st34m", "notes": "",
             "created": EPOCH, "modified": EPOCH + 3, "folder": ["Personal"]}
    steam_url = "otpauth://totp/Steam:gabe?secret=HXDMVJECJJWSRB3HWIZR4IFUGFTMXBOZ&period=30&digits=5&issuer=Steam&encoder=steam"
    groups[("Personal",)].append(steam)
    rows, exp = [], []
    for path, es in groups.items():
        group = "/".join(("Root",) + path)
        for n, e in enumerate(es):
            otp = steam_url if e is steam else keepassxc_otp(e)
            icon = str(n % 69)
            rows.append((group, e["title"], e["username"], e["password"], e["url"], e["notes"], otp, icon, iso_s(e["modified"]), iso_s(e["created"])))
            o = {"icon": icon}
            if path == ("Recycle Bin",):
                o["in_recycle_bin"] = "a reader may leave it out"
            exp.append(entry(title=e["title"], urls=[e["url"]], username=e["username"], password=e["password"], notes=e["notes"], totp=otp,
                             folder=group, created=iso_s(e["created"]), modified=iso_s(e["modified"]), other=o))
    facts = {"eol": "LF", "quoting": "all", "bom": False, "folder_separator": "/",
             "note": "the first part of a group is the database's root group; a slash inside a group's name is not escaped"}
    out.put("keepassxc.csv", make_csv([head] + rows, q_all, "\n"), exp, "KeePassXC CSV", **facts)
    out.put("keepassxc-older.csv", make_csv([head[:6]] + [r[:6] for r in rows], q_all, "\n"),
            [dict(e, totp=None, created=None, modified=None, other={k: v for k, v in e["other"].items() if k != "icon"}) for e in exp],
            "KeePassXC CSV before mid-2020, KeePassX 2 (6 columns)", **facts)

    rows, exp = [], []
    for e in with_long(60_000):
        notes = e["notes"].replace("\r\n", "\n").replace("\n", "\r\n")   # KeePass 1.x turns every line end into CR LF
        rows.append((e["title"], e["username"], e["password"], e["url"], notes))
        exp.append(entry(title=e["title"], urls=[e["url"]], username=e["username"], password=e["password"], notes=notes))
    out.put("keepass1.csv", make_csv([("Account", "Login Name", "Password", "Web Site", "Comments")] + rows, q_keepass1, "\r\n", bom=True),
            exp, "KeePass 1.x CSV", eol="CRLF", quoting="all; inside, \\\" for a quote and \\\\ for a backslash", bom=True)


# --------------------------------------------------------------------------------------------------
# SSH keys and passkeys (all made from the seed)

def _ssh_string(b):
    return len(b).to_bytes(4, "big") + b


def _mpint(n):
    return _ssh_string(n.to_bytes(n.bit_length() // 8 + 1, "big"))


def _openssh(kind, public_blob, private_parts, comment, *what):
    check = rbytes(4, "check", *what)
    body = check + check + _ssh_string(kind) + private_parts + _ssh_string(comment)
    body += bytes(range(1, 1 + (-len(body)) % 8))
    raw = (b"openssh-key-v1\0" + _ssh_string(b"none") + _ssh_string(b"none") + _ssh_string(b"") + (1).to_bytes(4, "big")
           + _ssh_string(public_blob) + _ssh_string(body))
    text = b64(raw)
    pem = "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "".join(text[i:i + 70] + "\n" for i in range(0, len(text), 70)) \
        + "-----END OPENSSH PRIVATE KEY-----\n"
    public = kind.decode() + " " + b64(public_blob) + (" " + comment.decode() if comment else "")
    return pem, public, "SHA256:" + b64(hashlib.sha256(public_blob).digest()).rstrip("=")


def _ed25519(comment, *what):
    seed = rbytes(32, "ed25519", *what)
    pub = ed25519.Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes(
        serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return _openssh(b"ssh-ed25519", _ssh_string(b"ssh-ed25519") + _ssh_string(pub),
                    _ssh_string(pub) + _ssh_string(seed + pub), comment, "ed25519", *what)


def _prime(r, bits):
    while True:
        n = r.getrandbits(bits) | 3 << (bits - 2) | 1
        if any(n % p == 0 for p in (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)) or (n - 1) % 65537 == 0:
            continue
        d, s = n - 1, 0
        while d % 2 == 0:
            d, s = d // 2, s + 1
        for _ in range(24):
            x = pow(r.randrange(2, n - 1), d, n)
            if x in (1, n - 1):
                continue
            for _ in range(s - 1):
                x = x * x % n
                if x == n - 1:
                    break
            else:
                break
        else:
            return n


def _rsa(comment, *what):
    r = rng("rsa", *what)
    p, q = _prime(r, 1024), _prime(r, 1024)
    e, n = 65537, p * q
    d = pow(e, -1, (p - 1) * (q - 1))
    return _openssh(b"ssh-rsa", _ssh_string(b"ssh-rsa") + _mpint(e) + _mpint(n),
                    _mpint(n) + _mpint(e) + _mpint(d) + _mpint(pow(q, -1, p)) + _mpint(p) + _mpint(q), comment, "rsa", *what)


SSH = {}


def make_ssh():
    SSH["ed25519"] = _ed25519(b"", "one")
    SSH["ed25519-comment"] = _ed25519("erika@rechner".encode(), "two")
    SSH["rsa"] = _rsa(b"backup@example", "one")


def passkey(name, rp, user, display, created, counter=0, discoverable=True):
    k = ec.derive_private_key(int.from_bytes(rbytes(31, "passkey", name), "big") + 1, ec.SECP256R1())
    der = k.private_bytes(serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return {"credentialId": ruuid("cred", name), "keyType": "public-key", "keyAlgorithm": "ECDSA", "keyCurve": "P-256",
            "keyValue": b64url(der), "rpId": rp, "userHandle": b64url(rbytes(24, "handle", name)), "userName": user,
            "counter": str(counter), "rpName": rp.capitalize(), "userDisplayName": display,
            "discoverable": "true" if discoverable else "false", "creationDate": created}


# --------------------------------------------------------------------------------------------------
# Bitwarden

BODY = {1: "login", 2: "secureNote", 3: "card", 4: "identity", 5: "sshKey", 6: "bankAccount"}
KIND = {1: "login", 2: "note", 3: "card", 4: "identity", 5: "ssh key", 6: "bank account"}
LINKED = {100: "username", 101: "password", 300: "cardholderName", 303: "code", 305: "number", 410: "email", 418: "full name"}
IDENTITY = ("title", "firstName", "middleName", "lastName", "address1", "address2", "address3", "city", "state", "postalCode",
            "country", "company", "email", "phone", "ssn", "username", "passportNumber", "licenseNumber")
CARD = ("cardholderName", "brand", "number", "expMonth", "expYear", "code")


def bw_login(username=None, password=None, totp=None, uris=(), passkeys=()):
    return {"fido2Credentials": list(passkeys), "uris": [{"match": m, "uri": u} for u, m in uris], "username": username,
            "password": password, "totp": totp}


def bw_item(n, scope, type_, name, body, notes=None, folder=None, fav=False, reprompt=0, fields=None, history=None,
            org=None, collections=None, created=None, modified=None, archived=None):
    c = created or iso_ms((EPOCH + n * 86_461) * 1000 + (n * 37) % 1000)
    m = modified or iso_ms((EPOCH + n * 86_461 + 3_601 * (n % 7)) * 1000 + (n * 53) % 1000)
    item = {"passwordHistory": history, "revisionDate": m, "creationDate": c, "deletedDate": None, "archivedDate": archived,
            "id": ruuid("bw", scope, n), "organizationId": org, "folderId": folder, "type": type_, "reprompt": reprompt, "name": name,
            "notes": notes, "favorite": fav}
    if fields is not None:
        item["fields"] = [{"name": a, "value": v, "type": t, "linkedId": l} for a, v, t, l in fields]
    item[BODY[type_]] = body
    item["collectionIds"] = collections
    return item


def bw_expect(item, folder_names, collection_names):
    body = item[BODY[item["type"]]]
    fields, other = [], {"id": item["id"]}
    for f in item.get("fields") or []:
        if f["type"] == 3:
            other.setdefault("linked_fields", []).append({"name": f["name"], "linked_id": f["linkedId"], "linked_to": LINKED[f["linkedId"]]})
        else:
            fields.append(cf(f["name"], f["value"], f["type"] == 1))
            if f["type"] == 2:
                other.setdefault("boolean_fields", []).append(f["name"])
    if item["reprompt"]:
        other["reprompt"] = True
    if item["archivedDate"]:
        other["archived"] = item["archivedDate"]
    names = [collection_names[c] for c in item["collectionIds"] or []]
    if names:
        other["collections"] = names
    e = dict(kind=KIND[item["type"]], title=item["name"], notes=item["notes"], favourite=item["favorite"], custom_fields=fields,
             folder=folder_names.get(item["folderId"]), created=item["creationDate"], modified=item["revisionDate"],
             history=[{"value": h["password"], "date": h["lastUsedDate"]} for h in item["passwordHistory"] or []], other=other)
    if item["type"] == 1:
        e.update(username=body["username"], password=body["password"], totp=body["totp"], urls=[u["uri"] for u in body["uris"]])
        if any(u["match"] is not None for u in body["uris"]):
            other["url_match"] = [u["match"] for u in body["uris"]]
        if body["fido2Credentials"]:
            other["passkeys"] = body["fido2Credentials"]
    elif item["type"] == 4:
        e.update(username=body["username"])
        other["identity"] = {k: v for k, v in body.items() if v is not None}
    elif item["type"] != 2:
        other[BODY[item["type"]]] = {k: v for k, v in body.items() if v is not None}
    return entry(**e)


def bw_personal():
    paths = []
    data = with_long(7_000)                                      # 10,000 characters when encrypted
    for s in data:
        if s["folder"] and "/".join(s["folder"]) not in paths:
            paths.append("/".join(s["folder"]))
    paths += ["Empty folder", "Trailing/"]
    folders = [{"id": ruuid("bw-folder", i), "name": p} for i, p in enumerate(paths)]
    fid = {f["name"]: f["id"] for f in folders}
    items = []

    def add(type_, name, body, **kw):
        items.append(bw_item(len(items), "personal", type_, name, body, **kw))

    for s in data:
        add(1, s["title"], bw_login(s["username"], s["password"], s["totp"] or None, [(s["url"], None)] if s["url"] else []),
            notes=s["notes"] or None, folder=fid.get("/".join(s["folder"])), fav=s["fav"])
    matches = [("https://default.example/", None), ("https://domain.example/", 0), ("https://host.example:8443/", 1),
               ("https://starts.example/app/", 2), ("https://exact.example/login?x=1,2", 3),
               ("^https://[a-z]+\\.example/(a|b)\\?q=\".*\"$", 4), ("https://never.example/", 5), ("androidapp://com.example.app", None),
               ("iosapp://com.example.app", None)]
    add(1, "Every match type", bw_login("matcher", "m4tch", None, matches), notes="nine addresses")
    fields = [("Text", "value, with \"quotes\"", 0, None), ("Verborgen", " geheim ", 1, None), ("Yes", "true", 2, None),
              ("No", "false", 2, None), ("Linked user", None, 3, 100), ("Linked password", None, 3, 101), ("", "no name", 0, None),
              ("Empty", "", 0, None), ("=1+1", "@SUM(A1)", 0, None), ("Same", "1", 0, None), ("Same", "2", 1, None),
              ("日本語", "値\n二行目", 0, None)]
    add(1, "Every field type", bw_login("fielder", "f13ld", None, [("https://fields.example/", None)]), fields=fields, reprompt=1, fav=True)
    history = [{"lastUsedDate": "2023-12-01T08:00:00.000Z", "password": "older, \"2\""},
               {"lastUsedDate": "2023-06-15T23:59:59.999Z", "password": "  old 1  "},
               {"lastUsedDate": "2022-01-01T00:00:00.000Z", "password": "パスワード"}]
    add(1, "Password history", bw_login("hist", "now", None, [("https://history.example/", None)]), history=history)
    add(1, "OTP secret only", bw_login("otp", "0tp", OTP_BARE), notes="lower case, with spaces")
    add(1, "OTP of Steam", bw_login("gabe", "st34m", OTP_STEAM))
    add(1, "Passkey and password", bw_login("erika", "p4ss", OTP_PLAIN, [("https://passkey.example/", 1)],
                                            [passkey("a", "passkey.example", "erika", "Erika Müstermann", "2024-01-02T03:04:05.678Z")]))
    add(1, "Passkey only", bw_login(None, None, None, [("https://webauthn.example/", None)],
                                    [passkey("b", "webauthn.example", "taro@example.jp", "山田 太郎", "2024-02-03T04:05:06.000Z", 7),
                                     passkey("c", "webauthn.example", "second", "Second", "2024-02-04T04:05:06.000Z", 0, False)]))
    add(1, "Nothing filled in", bw_login())
    add(1, "Archived", bw_login("arch", "1ved"), archived="2025-10-01T12:00:00.000Z")
    add(2, "Secure note, \"quoted\"", {"type": 0}, notes="Zeile 1\nZeile 2 – €\n\n終わり", folder=fid["Personal"], fav=True,
        fields=[("PIN", "0042", 1, None)])
    add(2, "Empty note", {"type": 0})
    add(2, "Long note", {"type": 0}, notes=long_text(7_000, "bw-note"))
    add(3, "Visa", dict(zip(CARD, ("Erika Mustermann", "Visa", "4111111111111111", "4", "2031", "007"))), notes="limit, 1.000 €",
        folder=fid["Personal"], fields=[("Linked number", None, 3, 305), ("PIN", "0042", 1, None)], reprompt=1)
    add(3, "Card, almost empty", dict(zip(CARD, (None, "Other", None, None, None, None))))
    add(4, "Erika", dict(zip(IDENTITY, ("Mrs", "Erika", "Maria", "Mustermann", "Heidestraße 17", "3. OG, links", "", "Köln", "NRW",
                                        "51147", "DE", "Öko \"GmbH\"", "erika@example.de", "+49 221 12345", "12 345678 M 901", "erika",
                                        "C01X00T47", "B072RRE2I55"))), notes="Identität", fields=[("Linked mail", None, 3, 410)])
    add(4, "山田", dict(zip(IDENTITY, (None, "太郎", None, "山田") + (None,) * 14)))
    for name, label in (("ed25519", "SSH key"), ("ed25519-comment", "SSH key with a comment"), ("rsa", "SSH key, RSA")):
        private, public, print_ = SSH[name]
        add(5, label, {"privateKey": private, "publicKey": public, "keyFingerprint": print_}, notes="server, \"prod\"" if name == "rsa" else None,
            folder=fid["Work/Servers/Berlin"] if name == "rsa" else None)
    doc = {"encrypted": False, "folders": folders, "items": items}
    return doc, [bw_expect(i, {f["id"]: f["name"] for f in folders}, {}) for i in items]


def bw_org():
    org = ruuid("bw-org")
    names = ["Marketing", "Engineering/Backend", "経理, \"Tokyo\"", "Empty collection"]
    cols = [{"id": ruuid("bw-col", i), "organizationId": org, "name": n, "externalId": "ext-1" if i == 1 else None} for i, n in enumerate(names)]
    ids = [c["id"] for c in cols]
    items = []

    def add(type_, name, body, col, **kw):
        items.append(bw_item(len(items), "org", type_, name, body, org=org, collections=[ids[i] for i in col], **kw))

    add(1, "One collection", bw_login("team@example.com", "t3am", None, [("https://team.example/", None)]), [0])
    add(1, "Two collections", bw_login("both", "b0th,\"x\"", OTP_PLAIN, [("https://both.example/", 3), ("https://b2.example/", None)]), [0, 1],
        notes="shared\nnote", fields=[("Team", "A", 0, None), ("Key", "k", 1, None)])
    add(1, "No collection", bw_login("none", "n0ne"), [])
    add(2, "共有メモ", {"type": 0}, [2], notes="本文")
    add(3, "Company card", dict(zip(CARD, ("ACME", "Mastercard", "5555555555554444", "12", "2029", "123"))), [2])
    add(4, "Company", dict(zip(IDENTITY, (None, "ACME") + (None,) * 9 + ("ACME, Inc.",) + (None,) * 6)), [1])
    private, public, print_ = SSH["ed25519"]
    add(5, "Deploy key", {"privateKey": private, "publicKey": public, "keyFingerprint": print_}, [1])
    doc = {"encrypted": False, "collections": cols, "items": items}
    return doc, [bw_expect(i, {}, {c["id"]: c["name"] for c in cols}) for i in items]


def hkdf_expand(key, info, n=32):
    out, t, i = b"", b"", 1
    while len(out) < n:
        t = hmac.new(key, t + info + bytes([i]), hashlib.sha256).digest()
        out, i = out + t, i + 1
    return out[:n]


def bw_key(password, salt, kdf):
    password, salt = password.encode("utf-8"), salt.encode("utf-8")
    if kdf["kdfType"] == 0:
        key = hashlib.pbkdf2_hmac("sha256", password, salt, kdf["kdfIterations"], 32)
    else:
        key = hash_secret_raw(password, hashlib.sha256(salt).digest(), kdf["kdfIterations"], kdf["kdfMemory"] * 1024,
                              kdf["kdfParallelism"], 32, Type.ID)
    return hkdf_expand(key, b"enc"), hkdf_expand(key, b"mac")


def enc_string(text, keys, *what):
    iv = rbytes(16, "iv", *what)
    pad = padding.PKCS7(128).padder()
    enc = Cipher(algorithms.AES(keys[0]), modes.CBC(iv)).encryptor()
    ct = enc.update(pad.update(text.encode("utf-8")) + pad.finalize()) + enc.finalize()
    return "2.%s|%s|%s" % (b64(iv), b64(ct), b64(hmac.new(keys[1], iv + ct, hashlib.sha256).digest()))


def bw_protect(text, password, kdf, *what):
    salt = b64(rbytes(16, "salt", *what))
    keys = bw_key(password, salt, kdf)
    doc = {"encrypted": True, "passwordProtected": True, "salt": salt, "kdfType": kdf["kdfType"], "kdfIterations": kdf["kdfIterations"]}
    if kdf["kdfType"] == 1:
        doc["kdfMemory"], doc["kdfParallelism"] = kdf["kdfMemory"], kdf["kdfParallelism"]
    doc["encKeyValidation_DO_NOT_EDIT"] = enc_string(ruuid("validation", *what), keys, "validation", *what)
    doc["data"] = enc_string(text, keys, "data", *what)
    return doc


def bw_account(doc, *what):
    """The account-restricted form: each text is encrypted with a key that is not in the file."""
    keys = (rbytes(32, "account-enc", *what), rbytes(32, "account-mac", *what))
    plain = {"id", "organizationId", "folderId", "collectionIds", "type", "reprompt", "favorite", "linkedId", "match", "revisionDate",
             "creationDate", "deletedDate", "archivedDate", "lastUsedDate", "externalId"}
    count = [0]

    def walk(v, key=None):
        if isinstance(v, dict):
            return {k: walk(x, k) for k, x in v.items()}
        if isinstance(v, list):
            return [walk(x, key) for x in v]
        if key in plain or not isinstance(v, str):
            return v
        count[0] += 1
        return enc_string(v, keys, "account", count[0], *what)
    out = {"encrypted": True, "encKeyValidation_DO_NOT_EDIT": enc_string(ruuid("account", *what), keys, "account", 0, *what)}
    for k in ("folders", "collections", "items"):
        if k in doc:
            out[k] = walk(doc[k], k)
    return out


def bw_csv(out, doc, expected):
    head = ("folder", "favorite", "type", "name", "notes", "fields", "reprompt", "archivedDate", "login_uri", "login_username", "login_password", "login_totp")
    names = {f["id"]: f["name"] for f in doc["folders"]}
    rows, exp = [], []
    for item, e in zip(doc["items"], expected):
        if item["type"] not in (1, 2):
            continue                                             # only logins and secure notes go into the CSV
        fields = [f for f in item.get("fields") or [] if f["type"] != 3 and "\n" not in f["value"] and f["name"]]
        lg = item.get("login") or {"uris": [], "username": None, "password": None, "totp": None}
        folder = names.get(item["folderId"])
        uris = ",".join(u["uri"] for u in lg["uris"])
        row = (folder, "1" if item["favorite"] else None, "login" if item["type"] == 1 else "note", item["name"], item["notes"],
               "\n".join("%s: %s" % (f["name"], f["value"]) for f in fields) or None, str(item["reprompt"]), item["archivedDate"],
               uris, lg["username"], lg["password"], lg["totp"])
        rows.append(tuple(c or "" for c in row))
        o = {k: e["other"][k] for k in ("reprompt", "archived") if k in e["other"]}
        urls = [u["uri"] for u in lg["uris"]]
        if any("," in u for u in urls):
            o["url_cell"] = uris                                 # several addresses are joined by a bare comma
        login = item["type"] == 1
        exp.append(entry(e["kind"], title=item["name"], username=(lg["username"] or "") if login else None,
                         password=(lg["password"] or "") if login else None, urls=urls, notes=item["notes"] or "",
                         totp=(lg["totp"] or "") if login else None, folder=folder or "", favourite=item["favorite"],
                         custom_fields=[cf(f["name"], f["value"]) for f in fields], other=o))
    facts = {"eol": "CRLF", "last_eol": False, "quoting": "needed, also for spaces at the ends", "bom": False, "folder_separator": "/"}
    out.put("bitwarden.csv", make_csv([head] + rows, q_papa, "\r\n", last_eol=False), exp, "Bitwarden CSV", **facts)
    out.put("bitwarden-older.csv", make_csv([tuple(c for i, c in enumerate(r) if i != 7) for r in [head] + rows], q_papa, "\r\n", last_eol=False),
            [dict(e, other={k: v for k, v in e["other"].items() if k != "archived"}) for e in exp],
            "Bitwarden CSV as the help page shows it (no archivedDate)", **facts)


def bw_org_csv(out, doc, expected):
    head = ("collections", "type", "name", "notes", "fields", "reprompt", "login_uri", "login_username", "login_password", "login_totp")
    names = {c["id"]: c["name"] for c in doc["collections"]}
    rows, exp = [], []
    for item, e in zip(doc["items"], expected):
        if item["type"] not in (1, 2):
            continue
        lg = item.get("login") or {"uris": [], "username": None, "password": None, "totp": None}
        cell = ",".join(names[c] for c in item["collectionIds"])
        fields = item.get("fields") or []
        row = (cell, "login" if item["type"] == 1 else "note", item["name"], item["notes"], "\n".join("%s: %s" % (f["name"], f["value"]) for f in fields),
               str(item["reprompt"]), ",".join(u["uri"] for u in lg["uris"]), lg["username"], lg["password"], lg["totp"])
        rows.append(tuple(c or "" for c in row))
        login = item["type"] == 1
        exp.append(entry(e["kind"], title=item["name"], username=(lg["username"] or "") if login else None,
                         password=(lg["password"] or "") if login else None, urls=[u["uri"] for u in lg["uris"]], notes=item["notes"] or "",
                         totp=(lg["totp"] or "") if login else None, custom_fields=[cf(f["name"], f["value"]) for f in fields],
                         other={"collections": [names[c] for c in item["collectionIds"]], "collections_cell": cell}))
    out.put("bitwarden-org.csv", make_csv([head] + rows, q_papa, "\r\n", last_eol=False), exp, "Bitwarden CSV of an organisation", eol="CRLF",
            last_eol=False, quoting="needed, also for spaces at the ends", bom=False)


def bitwarden(out):
    doc, exp = bw_personal()
    org, org_exp = bw_org()
    text, org_text = js(doc), js(org)
    out.put("bitwarden.json", text, exp, "Bitwarden JSON", folder_separator="/")
    out.put("bitwarden-org.json", org_text, org_exp, "Bitwarden JSON of an organisation")
    out.put("bitwarden-empty.json", js({"encrypted": False, "folders": [], "items": []}), [], "Bitwarden JSON of an empty vault")
    bank = bw_item(0, "new", 6, "Girokonto", {
        "bankName": "Sparkasse, Köln", "nameOnAccount": "Erika Mustermann", "accountType": "checking", "accountNumber": "0532013000",
        "routingNumber": None, "branchNumber": None, "pin": "0042", "swiftCode": "COLSDE33", "iban": "DE89370400440532013000",
        "bankContactPhone": None}, notes="a newer item type")
    plain = bw_item(1, "new", 1, "Login beside it", bw_login("u", "p"))
    new = {"encrypted": False, "folders": [], "items": [bank, plain]}
    out.put("bitwarden-new-type.json", js(new), [bw_expect(i, {}, {}) for i in new["items"]], "Bitwarden JSON with the newer type 6 (bank account)")
    bare = json.loads(org_text)                                  # exports from before the dates and passkeys
    for i in bare["items"]:
        for k in ("passwordHistory", "revisionDate", "creationDate", "deletedDate", "archivedDate"):
            del i[k]
        i.get("login", {}).pop("fido2Credentials", None)
        i["collectionIds"], i["organizationId"] = None, None
    old = {"encrypted": False, "folders": [], "items": [i for i in bare["items"] if i["type"] != 5]}
    old_exp = [dict(e, created=None, modified=None, other={k: v for k, v in e["other"].items() if k != "collections"})
               for e in org_exp if e["kind"] != "ssh key"]
    out.put("bitwarden-older.json", js(old), old_exp, "Bitwarden JSON without dates, history and passkeys")

    fast, slow = "correct horse battery staple", "Prüfung パスワード 🔑 2024 "
    p5k = {"kdfType": 0, "kdfIterations": 5_000}
    p600k = {"kdfType": 0, "kdfIterations": 600_000}
    argon = {"kdfType": 1, "kdfIterations": 3, "kdfMemory": 64, "kdfParallelism": 4}
    for name, t, e, pw, kdf in (
            ("bitwarden-pbkdf2-5000.json", text, exp, fast, p5k), ("bitwarden-pbkdf2-600000.json", text, exp, slow, p600k),
            ("bitwarden-argon2id.json", text, exp, slow, argon), ("bitwarden-org-pbkdf2-5000.json", org_text, org_exp, slow, p5k),
            ("bitwarden-empty-argon2id.json", js({"encrypted": False, "folders": [], "items": []}), [], fast, argon)):
        protected = bw_protect(t, pw, kdf, name)
        out.put(name, js(protected), e, "Bitwarden JSON, password-protected", password=pw, wrong_password=pw.strip() + "x", kdf=kdf, folder_separator="/")
        if name == "bitwarden-pbkdf2-5000.json":
            good = protected
    broken = dict(good)
    iv, ct, mac = broken["data"].split("|")
    broken["data"] = "|".join((iv, ct[:40] + ("A" if ct[40] != "A" else "B") + ct[41:], mac))
    out.put("bitwarden-pbkdf2-5000-damaged.json", js(broken), [], "password-protected, one character of the data changed", must="refuse", password=fast)
    broken = dict(good, data="|".join((iv, ct, b64(bytes(32)))))
    out.put("bitwarden-pbkdf2-5000-wrong-mac.json", js(broken), [], "password-protected, the data's MAC is zeros", must="refuse", password=fast)
    broken = {k: v for k, v in good.items() if k != "salt"}
    out.put("bitwarden-pbkdf2-5000-no-salt.json", js(broken), [], "password-protected, the salt is missing", must="refuse", password=fast)
    out.put("bitwarden-huge-kdf.json", js(dict(good, kdfType=1, kdfIterations=4_000_000_000, kdfMemory=4_000_000, kdfParallelism=4_000)), [],
            "password-protected, absurd KDF settings", must="refuse", password=fast, note="must be refused at once, without deriving a key")
    out.put("bitwarden-unknown-kdf.json", js(dict(good, kdfType=2)), [], "password-protected, kdfType 2", must="refuse", password=fast)
    out.put("bitwarden-account-encrypted.json", js(bw_account(doc, "personal")), [], "Bitwarden JSON, account-restricted", must="refuse",
            note="encrypted with the account's key, which is not in the file: to be refused with a word on the password-protected form")
    out.put("bitwarden-org-account-encrypted.json", js(bw_account(org, "org")), [], "Bitwarden JSON of an organisation, account-restricted", must="refuse",
            note="as bitwarden-account-encrypted.json")
    bw_csv(out, doc, exp)
    bw_org_csv(out, org, org_exp)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    os.makedirs(sys.argv[1], exist_ok=True)
    make_ssh()
    out = Out(sys.argv[1])
    for part in (bitwarden, chromium, firefox, safari, lastpass, dashlane, proton, nordpass, enpass, onepassword, keepass):
        part(out)
    out.finish()
    print("%d files in %s" % (len(out.index), sys.argv[1]))


if __name__ == "__main__":
    main()
