"""The work of peer/sqlcipher.c, done from Python with the SQLCipher of the wheel sqlcipher3-binary, which is a later one than Debian's. Its figures include
what Python takes for each call.

    python wheel.py fill|open|get|scan|set|rekey FILE ITEMS
"""
import json
import random
import statistics
import sys
import time

import sqlcipher3

TABLE = """create table item(class text, service text, account text, secret blob, attrs blob,
           primary key(class, service, account)) without rowid"""
GET = "select secret from item where class='genp' and service=? and account=?"
SECRET = b"s" * 64


def opened(path):
    database = sqlcipher3.connect(path, isolation_level=None)
    database.execute(f"""pragma key = "x'{'2b' * 32}'" """)
    for setting in ("journal_mode=wal", "synchronous=full"):
        database.execute(f"pragma {setting}").fetchall()
    return database


def key(number):
    return f"service-{number % 997:04d}.example.com", f"user{number:07d}@example.com"


def timed(work, count):
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) / count * 1e6


def read_one(database, number):
    assert database.execute(GET, key(number)).fetchone()


def fill(path, items):
    database = opened(path)
    database.execute(TABLE)

    def insert():
        database.execute("begin")
        attributes = '{"label":"Item %d","created":1700000000,"modified":1700000000}'
        rows = ((*key(number), SECRET, (attributes % number).encode()) for number in range(items))
        database.executemany("insert into item values('genp',?,?,?,?)", rows)
        database.execute("commit")

    return {"fill_us_per_item": timed(insert, items)}


def open_one(path, items):
    times = []
    for _ in range(201):
        kept = []

        def once():
            kept.append(opened(path))
            read_one(kept[0], random.randrange(items))

        times.append(timed(once, 1))
        kept[0].close()
    return {"open_get_us": statistics.median(times)}


def get(path, items):
    database = opened(path)

    def read():
        for _ in range(3000):
            read_one(database, random.randrange(items))

    return {"get_us": timed(read, 3000)}


def scan(path, items):
    times = []
    for _ in range(max(1, min(7, 100_000 // items))):
        database = opened(path)

        def read():
            assert sum(len(row[3]) for row in database.execute("select * from item")) == 64 * items

        times.append(timed(read, items))
        database.close()
    return {"scan_us_per_item": statistics.median(times)}


def change(path, items):
    database = opened(path)

    def write():
        for _ in range(300):
            # Another secret each time: SQLite leaves out the write where nothing changes.
            values = (random.randbytes(64), *key(random.randrange(items)))
            database.execute("update item set secret=? where class='genp' and service=? and account=?", values)

    return {"durable_update_us": timed(write, 300)}


def rekey(path, items):
    database = opened(path)

    def write():
        for setting in ("wal_checkpoint(truncate)", "journal_mode=delete", f"""rekey = "x'{'3c' * 32}'" """):
            database.execute(f"pragma {setting}").fetchall()

    return {"rekey_us_per_item": timed(write, items)}


random.seed(1)
WORK = {"fill": fill, "open": open_one, "get": get, "scan": scan, "set": change, "rekey": rekey}
print(json.dumps(WORK[sys.argv[1]](sys.argv[2], int(sys.argv[3]))))
