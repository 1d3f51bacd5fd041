// What the page's worker answers: texts, times, lists, anchors, codes, failures; and what is left in memory.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';

import { module, scripts, wasm, workerText } from './module.mjs';
import { vector } from './vectors.mjs';

const { Reader, ReaderModule, oneTimeCode, passphraseBytes, unassignedByUnicode13 } = scripts;
const RFC_SEED = '12345678901234567890';
const text = (bytes) => new TextDecoder().decode(bytes);
const status = (name) => (error) => error.status === name;

function opened(name, more = {}) {
    const { bytes, ...factors } = vector(name);
    const reader = new Reader(module);
    reader.load({ bytes });
    return { reader, state: reader.open({ ...factors, ...more }) };
}

function base32(ascii) {
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
    const bits = [...Buffer.from(ascii)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
    return bits.match(/.{1,5}/g).map((five) => letters[parseInt(five.padEnd(5, '0'), 2)]).join('');
}

// ---- The module ----

test('The module asks its host for nothing but bytes, Argon2id and its progress', () => {
    const imports = WebAssembly.Module.imports(module).map(({ module: from, name }) => `${from}.${name}`);
    assert.deepEqual(imports.sort(), ['reader.progress', 'reader.read', 'reader.stretch']);
    assert.ok(wasm.length <= 153_600, `${wasm.length} bytes`);
});

test('Argon2id that takes more memory than there is fails with its cost, and a later one works', () => {
    const reader = new ReaderModule(module);
    assert.equal(reader.argon2(new Uint8Array(64), 4_294_967_295, 1, 1), undefined);
    assert.equal(reader.argon2(new Uint8Array(64), 64, 1, 1).length, 32);
    const { bytes } = vector('kdf-default-memory-most');
    reader.load(bytes);
    const policy = { memory: 2 ** 40, total: 2 ** 40 };
    assert.throws(() => reader.open({ passphrase: passphraseBytes('words') }, policy), (error) => {
        assert.equal(error.status, 'crypto-failed');
        assert.deepEqual(error.more.kdf, { memoryKiB: 4_294_967_295, passes: 1, lanes: 1 });
        return true;
    });
});

test('Memory that a vault was in is zero when it is locked, in every instance', () => {
    const memories = [];
    const Original = WebAssembly.Instance;
    WebAssembly.Instance = class extends Original {
        constructor(...values) {
            super(...values);
            memories.push(this.exports.memory);
        }
    };
    try {
        const { reader } = opened('passphrase-ascii');
        const [{ key }] = reader.list().items;
        const secret = Buffer.from(reader.secret({ key }).bytes);
        assert.equal(Buffer.from(memories[0].buffer).indexOf(secret), -1, 'the secret stays in memory');
        assert.equal(memories.length, 2);
        assert.ok(new Uint8Array(memories[0].buffer).some((byte) => byte !== 0));
        reader.lock();
        for (const { buffer } of memories) assert.ok(new Uint8Array(buffer).every((byte) => byte === 0));
    } finally {
        WebAssembly.Instance = Original;
    }
});

test('A trap or an error within the module closes the reader with a status of its own', () => {
    const { bytes } = vector('feature-one-item');
    const failing = { length: bytes.length, subarray() { throw new WebAssembly.RuntimeError('unreachable'); } };
    const reader = new Reader(module);
    assert.throws(() => reader.load({ bytes: failing }), status('reader-failed'));
    assert.throws(() => reader.list(), status('not-open'));
    reader.load({ bytes });
    assert.equal(reader.open({ rawKey: vector('feature-one-item').rawKey }).items, 1);
});

// ---- Passphrases ----

test('The table of unassigned code points is that of the specification', () => {
    const isUnassigned = unassignedByUnicode13();
    const listed = new Uint8Array(0x110000);
    const table = readFileSync(new URL('../../Spec/unicode-13.txt', import.meta.url), 'utf8');
    for (const line of table.split('\n').filter((each) => each !== '' && !each.startsWith('#'))) {
        const [first, last = first] = line.trim().split('..').map((digits) => parseInt(digits, 16));
        listed.fill(1, first, last + 1);
    }
    for (let point = 0; point < listed.length; point += 1) {
        if (isUnassigned(point) !== (listed[point] === 1)) assert.fail(`U+${point.toString(16)}`);
    }
});

test('A passphrase with half a surrogate pair opens nothing', () => {
    assert.throws(() => passphraseBytes('a\ud800'), status('no-slot-opens'));
    assert.equal(text(passphraseBytes('e\u0301')), 'é');
    assert.equal(passphraseBytes('a'.repeat(65_537)).length, 0);
});

// ---- Loading and opening ----

test('A header tells the factors and the cost of its slots, without any factor', () => {
    const reader = new Reader(module);
    const header = reader.load({ bytes: vector('kdf-default-memory').bytes });
    assert.match(header.vault, /^[0-9a-f]{32}$/);
    const expected = { type: 'full', factors: ['passphrase'], kdf: { memoryKiB: 2_097_160, passes: 1, lanes: 1 } };
    const found = header.slots.find((slot) => slot.factors.includes('passphrase'));
    assert.deepEqual({ ...found, id: undefined }, { id: undefined, ...expected });
    assert.throws(() => reader.open({ passphrase: 'words' }), (error) => {
        assert.equal(error.status, 'kdf-limit');
        assert.deepEqual(error.more.kdf, expected.kdf);
        return true;
    });
    assert.throws(() => reader.load({ bytes: new Uint8Array(100) }), status('not-a-vault'));
    const factors = (name) => {
        const { slots } = reader.load({ bytes: vector(name).bytes });
        return slots.map((slot) => slot.factors.join(' and '));
    };
    assert.ok(factors('key-file-generated').includes('key-file'));
    assert.ok(factors('key-file-other').includes('key-file'));
    assert.ok(factors('key-file-generated-and-passphrase').includes('passphrase and key-file'));
    assert.ok(factors('feature-one-item').includes('raw-key'));
    assert.ok(factors('external-key').includes('external'));
});

test('A limit on memory applies to opening, and a wrong passphrase can be followed by the right one', () => {
    const { bytes, passphrase } = vector('passphrase-ascii');
    const progress = [];
    const reader = new Reader(module, (step) => progress.push(step));
    const { kdf } = reader.load({ bytes }).slots.find((slot) => slot.factors.includes('passphrase'));
    const memoryLimitKiB = kdf.memoryKiB - 1;
    assert.throws(() => reader.open({ passphrase, memoryLimitKiB }), status('kdf-limit'));
    assert.throws(() => reader.open({ passphrase: 'wrong' }), status('no-slot-opens'));
    progress.length = 0;
    assert.equal(reader.open({ passphrase, memoryLimitKiB: kdf.memoryKiB }).role, 'owner');
    const total = 4 * kdf.passes * kdf.lanes;
    assert.deepEqual(progress, Array.from({ length: total }, (_, step) => ({ done: step + 1, total, attempt: 1 })));
    assert.ok(reader.estimate(kdf).milliseconds > 0);
});

test('After any failure, the same vault can be opened', () => {
    const { bytes, passphrase } = vector('passphrase-ascii');
    const reader = new Reader(module);
    reader.load({ bytes });
    const { anchor } = reader.open({ passphrase });
    const [id, generation, , owners, floor, rows] = anchor.split(':');
    const start = [id, generation, '0'.repeat(64), owners, floor].join(':');
    // One replica twice is refused when the state is compared, and no row at all before that.
    for (const wrong of [`${start}:${rows},${rows}`, `${start}:`, 'nonsense']) {
        assert.throws(() => reader.open({ passphrase, anchor: wrong }), status('invalid-argument'));
        assert.equal(reader.open({ passphrase, anchor }).verdict, 'same');
    }
    assert.throws(() => reader.open({ passphrase: 'wrong' }), status('no-slot-opens'));
    assert.equal(reader.open({ passphrase }).role, 'owner');
});

test('What follows the served state is told', () => {
    const vectors = {
        'feature-one-item': 'newest',
        'cut-3-commit-before': 'torn',
        'digest-newest-first-gone': 'incomplete',
        'tail-newest-damaged-first': 'damaged',
    };
    for (const [name, expected] of Object.entries(vectors)) assert.equal(opened(name).state.state, expected);
    assert.equal(opened('feature-scoped').state.role, 'scoped');
});

test('An anchor compares with itself, and with another state', () => {
    const { state } = opened('feature-generations');
    assert.equal(opened('feature-generations', { anchor: `${state.anchor}\n` }).state.verdict, 'same');
    const other = opened('feature-one-item').state.anchor;
    assert.equal(opened('feature-generations', { anchor: other }).state.verdict, 'other-vault');
    const parts = state.anchor.split(':');
    const anchorWith = (index, value) => parts.with(index, value).join(':');
    const foreign = anchorWith(3, 'ab'.repeat(32));
    assert.equal(opened('feature-generations', { anchor: foreign }).state.verdict, 'foreign');
    const rows = parts[5].replace(/=(\d+)/g, (_, revision) => `=${BigInt(revision) + 1n}`);
    const newer = parts.with(2, 'cd'.repeat(32)).with(5, rows).join(':');
    assert.equal(opened('feature-generations', { anchor: newer }).state.verdict, 'older');
    const changed = [[1, '0'], [4, '01'], [4, '18446744073709551616'], [5, 'x']];
    for (const wrong of ['x', ...changed.map((change) => anchorWith(...change))]) {
        assert.throws(() => opened('feature-generations', { anchor: wrong }), status('invalid-argument'), wrong);
    }
});

// ---- Items ----

test('Items of every class are listed with their fields', () => {
    const { items } = opened('feature-every-class').reader.list();
    const classes = ['generic-password', 'internet-password', 'certificate', 'key', 'identity', 'class-6', 'class-63'];
    assert.deepEqual([...new Set(items.map((item) => item.class))], classes);
    const generic = items.find((item) => item.class === 'generic-password');
    assert.equal(typeof generic.service, 'string');
    assert.equal(generic.accessible, 'when-unlocked');
    assert.ok(items.find((item) => item.class === 'certificate').issuer instanceof Uint8Array);
    assert.equal(typeof items.find((item) => item.class === 'internet-password').port, 'number');
    const reserved = opened('feature-class-40-fields-16').reader.list().items[0];
    assert.equal(reserved.class, 'class-40');
    assert.equal(reserved.texts.length, 15);
    assert.equal(reserved.opaque, true);
});

test('A list can be read in parts, from any of them, between other calls', () => {
    const { reader } = opened('scoped-32-groups');
    const all = reader.list().items.map((item) => item.id);
    const found = [];
    let from;
    do {
        const { items, next } = reader.list({ from, most: 5 });
        found.push(...items.map((item) => item.id));
        reader.secret({ key: items[0].key });
        from = next;
    } while (from !== undefined);
    assert.equal(all.length, 33);
    assert.deepEqual(found, all);
    assert.deepEqual(reader.list({ from: 30 }).items.map((item) => item.id), all.slice(30));
});

test('Of a damaged tree, the items before the damage are listed if they are asked for, with the failure', () => {
    const { reader } = opened('tree-leaf-damaged');
    assert.throws(() => reader.list(), status('authentication-failed'));
    const { items, failed, next } = reader.list({ partial: true });
    assert.equal(failed, 'authentication-failed');
    assert.equal(next, undefined);
    assert.ok(items.length > 0);
    assert.ok(reader.secret({ key: items[0].key }).bytes.length > 0);
});

test('Attributes are shown as text or bytes, and sealed or long ones only on request', () => {
    const { reader } = opened('feature-attributes');
    const [item] = reader.list().items;
    const otp = item.attributes.find(({ name }) => name === 'otp');
    assert.deepEqual(otp, { name: 'otp', sealed: true });
    assert.equal(text(reader.attribute({ key: item.key, name: 'otp' }).bytes), 'otpauth://totp/x');
    for (const { name, text: shown, bytes } of item.attributes) {
        const value = reader.attribute({ key: item.key, name }).bytes;
        if (shown !== undefined) assert.equal(text(value), shown);
        else if (bytes !== undefined) assert.deepEqual(value, bytes);
        else assert.ok(value.length > 0);
    }
    assert.throws(() => reader.attribute({ key: item.key, name: 'none' }), status('no-secret'));
    assert.throws(() => reader.secret({ key: new Uint8Array([1, 2]) }), status('not-found'));
});

test('Earlier values are listed with their times, the newest first, and read one by one', () => {
    const { reader } = opened('feature-past');
    const item = reader.list().items.find(({ account }) => account === 'ann');
    assert.equal(text(reader.secret({ key: item.key }).bytes), 'fourth');
    const earlier = reader.earlier({ key: item.key });
    assert.ok(earlier.filter(({ kind }) => kind === 'secret').every(({ role }) => role === 'earlier'));
    const read = earlier.filter(({ hasSecret }) => hasSecret).map(({ index, kind }) =>
        `${kind} ${text(reader.earlierSecret({ key: item.key, index }).bytes)}`);
    assert.deepEqual(read, ['secret third', 'secret second', 'secret first', 'attribute otpauth://totp/1']);
    assert.ok(earlier.every(({ when, replaced }) => when === 1_750_000_000_000 && replaced === 1_750_000_000_000));
    assert.throws(() => reader.earlierSecret({ key: item.key, index: 99 }), status('no-secret'));
    const other = reader.list().items.find(({ account }) => account === 'bob');
    assert.deepEqual(reader.earlier({ key: other.key }), []);
});

test('Values that are left to settle are marked, and each is read or described', () => {
    const kinds = new Set();
    for (const name of ['feature-siblings', 'merge-keys-merged', 'merge-attributes-65-merged']) {
        const { reader } = opened(name);
        for (const { key } of reader.list().items.filter(({ toSettle }) => toSettle)) {
            const values = reader.earlier({ key });
            assert.ok(values.some(({ role }) => role === 'to-settle'));
            for (const { index, kind, hasSecret, text: shown } of values) {
                kinds.add(kind);
                if (hasSecret) assert.ok(reader.earlierSecret({ key, index }).bytes.length > 0);
                else assert.ok(shown.length > 0);
            }
        }
    }
    assert.deepEqual([...kinds].sort(), ['attribute', 'key', 'place', 'secret']);
});

test('Two items of one name are told apart', () => {
    const { items } = opened('feature-twins').reader.list();
    const conflicts = items.filter(({ conflict }) => conflict !== undefined);
    assert.ok(conflicts.length > 0);
    for (const { conflict, id } of conflicts) assert.equal(conflict, id.slice(0, 8));
});

test('Nothing is answered before a vault is open, and after it was locked', async () => {
    const { reader } = opened('feature-one-item');
    const [{ key }] = reader.list().items;
    assert.deepEqual(reader.lock(), {});
    for (const call of ['list', 'secret', 'earlier']) assert.throws(() => reader[call]({ key }), status('not-open'));
    await assert.rejects(reader.code({ key }), status('not-open'));
    assert.throws(() => reader.open({ passphrase: 'a' }), status('not-loaded'));
});

// ---- One-time codes ----

test('Codes are those of RFC 6238 and of Steam', async () => {
    const code = async (address, seconds) => (await oneTimeCode(address, seconds)).code;
    const seeds = { SHA1: RFC_SEED, SHA256: `${RFC_SEED}123456789012`, SHA512: `${RFC_SEED.repeat(3)}1234` };
    const expected = [
        [59, '94287082', '46119246', '90693936'],
        [1111111109, '07081804', '68084774', '25091201'],
        [1234567890, '89005924', '91819424', '93441116'],
        [20000000000, '65353130', '77737706', '47863826'],
    ];
    for (const [seconds, ...codes] of expected) {
        for (const [index, [algorithm, seed]] of Object.entries(seeds).entries()) {
            const address = `otpauth://totp/a?secret=${base32(seed)}&digits=8&algorithm=${algorithm}`;
            assert.equal(await code(address, seconds), codes[index], `${algorithm} ${seconds}`);
        }
    }
    const copied = base32(RFC_SEED).toLowerCase().match(/.{4}/g).join('%20');
    const spaced = `OTPAUTH://totp/a?Secret=${copied}==&algorithm=hmac-sha-1`;
    assert.deepEqual(await oneTimeCode(spaced, 59), { code: '287082', period: 30, remaining: 1 });
    // The truncated MAC of the first counter is 1094287082 (RFC 4226, appendix D), and Steam's letters are 26.
    const letters = '23456789BCDFGHJKMNPQRTVWXY';
    const steam = [0, 1, 2, 3, 4].map((place) => letters[Math.floor(1094287082 / 26 ** place) % 26]).join('');
    assert.equal(await code(`otpauth://totp/a?secret=${base32(RFC_SEED)}&encoder=steam`, 59), steam);
});

test('Without the browser\'s HMAC there are no codes, and the reason is said', async () => {
    const descriptor = Object.getOwnPropertyDescriptor(globalThis, 'crypto');
    Object.defineProperty(globalThis, 'crypto', { value: {}, configurable: true });
    try {
        await assert.rejects(oneTimeCode(`otpauth://totp/a?secret=${base32(RFC_SEED)}`, 59), status('no-hash'));
    } finally {
        Object.defineProperty(globalThis, 'crypto', descriptor);
    }
});

test('A set-up that yields no codes is refused with the reason', async () => {
    const hmac = () => assert.fail('no code may be made');
    const refused = {
        'https://example.org': /not an otpauth/,
        'otpauth://hotp/a?secret=AAAA': /counter-based/,
        'otpauth://totp/a': /no secret/,
        'otpauth://totp/a?secret=AAAA&secret=BBBB': /two secrets/,
        'otpauth://totp/a?secret=1': /not Base32/,
        'otpauth://totp/a?secret=A': /truncated/,
        'otpauth://totp/a?secret=AAAA&algorithm=MD5': /algorithm/,
        'otpauth://totp/a?secret=AAAA&digits=9': /digits/,
        'otpauth://totp/a?secret=AAAA&period=0': /period/,
    };
    for (const [address, message] of Object.entries(refused)) {
        const isRight = (error) => error.status === 'no-code' && message.test(error.message);
        await assert.rejects(oneTimeCode(address, 0, hmac), isRight, address);
    }
    const { reader } = opened('feature-attributes');
    const [{ key }] = reader.list().items;
    await assert.rejects(reader.code({ key }), (error) => error.status === 'no-code' && /no secret/.test(error.message));
});

// ---- The worker ----

test('The worker answers every request, hands bytes over, and wipes what opened the vault', async (context) => {
    const start = `const { parentPort } = require('node:worker_threads');
        let asked;
        globalThis.self = { postMessage: (message, handed) => {
            if (message.progress) return parentPort.postMessage(message);
            // Once the worker has forgotten what the request brought.
            setImmediate(() => {
                const wiped = asked.keyFile?.every((byte) => byte === 0);
                parentPort.postMessage({ ...message, wiped, handed: handed?.length }, handed);
            });
        } };
        parentPort.on('message', (data) => {
            asked = data;
            self.onmessage({ data });
        });\n`;
    const worker = new Worker(start + workerText, { eval: true });
    context.after(() => worker.terminate());
    const progress = [];
    const ask = (id, call, values) => new Promise((resolve, reject) => {
        const answered = (message) => {
            if (message.progress) {
                progress.push(message);
                return;
            }
            worker.off('message', answered);
            resolve(message);
        };
        worker.on('message', answered);
        worker.once('error', reject);
        worker.postMessage({ id, call, ...values });
    });
    const { bytes, passphrase } = vector('passphrase-ascii');
    assert.equal((await ask(1, 'load', { bytes })).error.status, 'not-loaded');
    const started = await ask(2, 'start', { wasm: new Uint8Array(wasm) });
    assert.deepEqual([started.id, started.result], [2, {}]);
    assert.equal((await ask(3, 'load', { bytes })).result.slots[0].type, 'full');
    assert.equal((await ask(4, 'open', { passphrase: 'wrong' })).error.status, 'no-slot-opens');
    const { result } = await ask(5, 'open', { passphrase });
    assert.equal(result.role, 'owner');
    assert.equal(progress.at(-1).id, 5);
    const [{ key }] = (await ask(6, 'list', {})).result.items;
    const secret = await ask(7, 'secret', { key });
    assert.equal(text(secret.result.bytes), 's3cret');
    assert.equal(secret.handed, 1);
    assert.equal((await ask(8, 'constructor', {})).error.status, 'invalid-argument');
    assert.deepEqual((await ask(9, 'lock', {})).result, {});
    assert.equal((await ask(10, 'list', {})).error.status, 'not-open');
    const generated = vector('key-file-generated');
    await ask(11, 'load', { bytes: generated.bytes });
    const { result: byFile, wiped } = await ask(12, 'open', { keyFile: generated.keyFile });
    assert.deepEqual([byFile.role, wiped], ['owner', true]);
});
