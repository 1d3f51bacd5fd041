"""Makes the files of KDBX/ with programs that are not ours: pykeepass (4.2) and keepassxc-cli (2.7), and, under a second
Python from 3.12 on, kdbxtool (0.1.7, with oxifish 0.1.1). Run by hand, as make_kdbx says; the files are committed.

All of them hold the same entries; the names say how they are encrypted:
VERSION-CIPHER-KDF-COMPRESSION-KEY.kdbx. The passphrase is `päss wörd`.
"""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "KDBX"
PASSPHRASE = "päss wörd"
OTP = "otpauth://totp/Example:alice?secret=JBSWY3DPEHPK3PXP&period=30&digits=6&issuer=Example"
HEX = "00112233445566778899aabbccddeeff0123456789abcdef0123456789abcdef"
XML1 = """<?xml version="1.0" encoding="UTF-8"?>
<KeyFile>
  <Meta>
    <Version>1.00</Version>
  </Meta>
  <Key>
    <Data>ABEiM0RVZneImaq7zN3u/wEjRWeJq83vASNFZ4mrze8=</Data>
  </Key>
</KeyFile>
"""
XML2 = """<?xml version="1.0" encoding="utf-8"?>
<KeyFile>
  <Meta>
    <Version>2.0</Version>
  </Meta>
  <Key>
    <Data Hash="{hash}">
      00112233 44556677 8899AABB CCDDEEFF
      01234567 89ABCDEF 01234567 89ABCDEF
    </Data>
  </Key>
</KeyFile>
"""

# What opens a file, by the name of its kind of key: a passphrase, and a key file.
KEYS = {
    "passphrase": (PASSPHRASE, None),
    "xml1": (None, str(FOLDER / "xml1.keyx")),
    "xml2": (None, str(FOLDER / "xml2.keyx")),
    "raw": (None, str(FOLDER / "raw.key")),
    "hex": (None, str(FOLDER / "hex.key")),
    "any": (None, str(FOLDER / "any.key")),
    "both": (PASSPHRASE, str(FOLDER / "xml2.keyx")),
}


def key_files():
    """One key file of each kind."""
    import hashlib

    raw = bytes.fromhex(HEX)
    files = {
        "xml1.keyx": XML1.encode(),
        "xml2.keyx": XML2.format(hash=hashlib.sha256(raw).hexdigest()[:8].upper()).encode(),
        "raw.key": raw,
        "hex.key": HEX.encode(),
        "any.key": b"any file at all\n" * 3,
    }
    for name, content in files.items():
        (FOLDER / name).write_bytes(content)


def fill_pykeepass(database):
    """The entries that every file holds, by pykeepass."""
    from datetime import datetime, timezone

    web = database.add_group(database.root_group, "Web/Shops")
    inner = database.add_group(web, "Inner")
    entry = database.add_entry(
        inner, "Example", "alice", "first", url="https://example.com/login", notes="a note\nof two lines & <tags>",
        tags=["one", "two"], otp=OTP, icon="12",
    )
    entry.set_custom_property("pin", "1234", protect=True)
    entry.set_custom_property("colour", "blue ümlaut", protect=False)
    entry.save_history()
    entry.password = "second"
    entry.save_history()
    entry.password = "p<&>\"' \U0001f511"
    entry.add_attachment(database.add_binary(bytes(range(256)) * 4), "bytes.bin")
    entry.add_attachment(database.add_binary(b"text\n"), "text.txt")
    entry.expires = True
    entry.expiry_time = datetime(2031, 2, 3, 4, 5, 6, tzinfo=timezone.utc)
    database.add_entry(database.root_group, "Wifi", "", "pw2")
    database.add_entry(
        database.root_group, "Refers", "{REF:U@I:%s}" % entry.uuid.hex.upper(), "<{REF:P@T:Wifi}>",
    )
    seed = database.add_entry(database.root_group, "Seed", "bob", "pw3")
    seed.set_custom_property("TOTP Seed", "JBSW Y3DP EHPK 3PXP", protect=True)
    seed.set_custom_property("TOTP Settings", "60;8", protect=False)
    steam = database.add_entry(database.root_group, "Steam", "bob", "pw4")
    steam.set_custom_property("TOTP Seed", "JBSWY3DPEHPK3PXP", protect=True)
    steam.set_custom_property("TOTP Settings", "30;S", protect=False)
    timed = database.add_entry(database.root_group, "Timed", "bob", "pw5")
    timed.set_custom_property("TimeOtp-Secret-Hex", "48656c6c6f21deadbeef", protect=True)
    timed.set_custom_property("TimeOtp-Period", "45", protect=False)
    timed.set_custom_property("TimeOtp-Algorithm", "HMAC-SHA-256", protect=False)
    gone = database.add_entry(database.root_group, "Gone", "bob", "pw6")
    database.trash_entry(gone)


def save(database, name, cipher, compressed, kdf=None):
    """Saves a database of pykeepass with another cipher, compression and cost."""
    from pykeepass.kdbx_parsing.kdbx4 import kdf_uuids

    header = database.kdbx.header.value.dynamic_header
    header.cipher_id.data = cipher
    header.compression_flags.data.compression = compressed
    header.encryption_iv.data = bytes(12 if cipher == "chacha20" else 16)
    if kdf:
        values = header.kdf_parameters.data.dict
        values["$UUID"].value = kdf_uuids[kdf]
        if kdf == "aeskdf":
            # A number and a seed in place of the parameters of Argon2; each names the type of the next one.
            rounds, seed = values["I"], values["S"]
            for key in ("I", "M", "P", "S", "V"):
                del values[key]
            rounds.key, rounds.value, rounds.next_byte = "R", 1000, 0x42
            seed.next_byte = 0
            values["$UUID"].next_byte = 5
            values["R"], values["S"] = rounds, seed
        else:
            values["I"].value, values["M"].value, values["P"].value = 2, 65536, 2
    database.filename = str(FOLDER / name)
    database.save()


def pykeepass_files():
    from pykeepass import create_database

    def made(password, keyfile=None):
        database = create_database(str(FOLDER / "new.tmp"), password=password, keyfile=keyfile)
        fill_pykeepass(database)
        return database

    for key, (password, key_file) in KEYS.items():
        for cipher in ("aes256", "twofish", "chacha20"):
            for kdf in ("argon2", "argon2id", "aeskdf"):
                for word in ("gzip", "plain"):
                    name = f"4.0-{cipher}-{kdf}-{word}-{key}.kdbx"
                    save(made(password, key_file), name, cipher, word == "gzip", kdf)
    (FOLDER / "new.tmp").unlink()


def keepassxc_files():
    """Version 3.1: keepassxc-cli makes it, and pykeepass fills it."""
    from pykeepass import PyKeePass

    for key, (password, key_file) in KEYS.items():
        start = FOLDER / "new.tmp"
        start.unlink(missing_ok=True)
        command = ["keepassxc-cli", "db-create", "--quiet", "--decryption-time", "100", str(start)]
        if password:
            command.insert(3, "--set-password")
        if key_file:
            command[3:3] = ["--set-key-file", key_file]
        subprocess.run(command, input=f"{PASSPHRASE}\n{PASSPHRASE}\n", text=True, check=True, capture_output=True)
        for cipher in ("aes256", "twofish", "chacha20"):
            for word in ("gzip", "plain"):
                database = PyKeePass(str(start), password=password, keyfile=key_file)
                fill_pykeepass(database)
                database.kdbx.header.value.dynamic_header.transform_rounds.data = 1000
                # pykeepass leaves the old header's hash there, with which no program would open the file.
                for element in database.tree.findall("Meta/HeaderHash"):
                    element.getparent().remove(element)
                save(database, f"3.1-{cipher}-aeskdf-{word}-{key}.kdbx", cipher, word == "gzip")
        start.unlink()
    # One that keepassxc-cli alone has written, with the header's hash.
    path = FOLDER / "3.1-keepassxc.kdbx"
    path.unlink(missing_ok=True)
    subprocess.run(
        ["keepassxc-cli", "db-create", "--quiet", "--set-password", "--decryption-time", "100", str(path)],
        input=f"{PASSPHRASE}\n{PASSPHRASE}\n", text=True, check=True, capture_output=True,
    )
    for title, secret in (("Wifi", "pw2"), ("Other", "pw7")):
        subprocess.run(
            ["keepassxc-cli", "add", "--quiet", "--password-prompt", "--username", "bob", str(path), title],
            input=f"{PASSPHRASE}\n{secret}\n", text=True, check=True, capture_output=True,
        )


def fill_kdbxtool(database):
    """The same entries by kdbxtool, but for those of the recycle bin."""
    from datetime import datetime, timezone

    web = database.root_group.create_subgroup("Web/Shops")
    inner = web.create_subgroup("Inner")
    entry = inner.create_entry(
        title="Example", username="alice", password="first", url="https://example.com/login",
        notes="a note\nof two lines & <tags>", tags=["one", "two"],
    )
    entry.otp = OTP
    entry.icon_id = "12"
    entry.set_custom_property("pin", "1234", protected=True)
    entry.set_custom_property("colour", "blue ümlaut")
    entry.save_history()
    entry.password = "second"
    entry.save_history()
    entry.password = "p<&>\"' \U0001f511"
    database.add_attachment(entry, "bytes.bin", bytes(range(256)) * 4)
    database.add_attachment(entry, "text.txt", b"text\n")
    entry.times.expires = True
    entry.times.expiry_time = datetime(2031, 2, 3, 4, 5, 6, tzinfo=timezone.utc)
    database.root_group.create_entry(title="Wifi", password="pw2")


def kdbxtool_files():
    import dataclasses

    from kdbxtool import AesKdfConfig, Argon2Config, Cipher, Database, KdfType
    from kdbxtool.parsing import CompressionType

    kdfs = {
        "argon2": Argon2Config(16384, 3, 2, bytes(range(32)), KdfType.ARGON2D),
        "argon2id": Argon2Config(16384, 3, 2, bytes(range(32)), KdfType.ARGON2ID),
        "aeskdf": AesKdfConfig(60000, bytes(range(32))),
    }
    ciphers = {"aes256": Cipher.AES256_CBC, "twofish": Cipher.TWOFISH256_CBC, "chacha20": Cipher.CHACHA20}
    for key, (password, key_file) in KEYS.items():
        for cipher, cipher_id in ciphers.items():
            for kdf, config in kdfs.items():
                database = Database.create(password=password, keyfile=key_file, cipher=cipher_id, kdf_config=config)
                fill_kdbxtool(database)
                for word, compression in (("gzip", CompressionType.GZIP), ("plain", CompressionType.NONE)):
                    path = FOLDER / f"4.1-{cipher}-{kdf}-{word}-{key}.kdbx"
                    # It has no setting for this: what it saves is as its header says.
                    database.save(path, kdf_config=config, cipher=cipher_id)
                    database._header = dataclasses.replace(database._header, compression=compression)
                    database.save(path)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    if sys.argv[1:] == ["kdbxtool"]:
        kdbxtool_files()
    else:
        key_files()
        pykeepass_files()
        keepassxc_files()
