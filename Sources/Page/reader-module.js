// The WebAssembly module as JavaScript sees it: one method for each function of page.h, which decodes the answer.
'use strict';

/** A failure. `status` is a name of vaultfmt_reader.h's, or one of the worker's own. */
class ReaderError extends Error {
    constructor(status, message, more = {}) {
        super(message ?? status);
        this.status = status;
        this.more = more;
    }
}

const STATUS = { ok: 0, end: 1, kdfLimit: 7, unsupportedCritical: 5, notFound: 15, cryptoFailed: 19 };
const GIVEN = { passphrase: 0, keyFile: 1, rawKey: 2, provider: 3, candidates: 4, device: 5, owner: 6 };
const FIELD_NUMBER = 3;

/** Parses an answer. 64-bit integers are BigInt. */
class Wire {
    #view;
    #at = 0;

    constructor(bytes) {
        this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }

    #move(count) {
        this.#at += count;
        return this.#at - count;
    }

    u8() {
        return this.#view.getUint8(this.#move(1));
    }

    flag() {
        return this.u8() !== 0;
    }

    u32() {
        return this.#view.getUint32(this.#move(4), true);
    }

    u64() {
        return this.#view.getBigUint64(this.#move(8), true);
    }

    i64() {
        return this.#view.getBigInt64(this.#move(8), true);
    }

    /** A copy of `count` bytes or, by default, of the number of bytes that the preceding length field specifies. */
    bytes(count = this.u32()) {
        const start = this.#view.byteOffset + this.#move(count);
        return new Uint8Array(this.#view.buffer.slice(start, start + count));
    }

    dot() {
        return { revision: this.u64(), replica: this.u64() };
    }

    many(read, count = this.u32()) {
        return Array.from({ length: count }, read);
    }
}

class ReaderModule {
    #module;
    #exports;
    #source = new Uint8Array();
    #stretcher;
    #progress;

    /** The cost of the last Argon2id, and its error if it failed. */
    lastStretch = { memoryKiB: 0, passes: 0, lanes: 0, failed: false };

    /** Starts an instance. `progress` is called with the completed and the total work of an Argon2id computation. */
    constructor(module, progress = () => {}) {
        this.#module = module;
        this.#progress = progress;
        this.#exports = this.#instantiate();
    }

    #instantiate() {
        const reader = {
            read: (offset, to, count) => this.#read(offset, to, count),
            stretch: (...values) => this.#stretch(...values.map((value) => value >>> 0)),
            progress: (done, total) => this.#progress(done >>> 0, total >>> 0),
        };
        return new WebAssembly.Instance(this.#module, { reader }).exports;
    }

    // ---- Functions that the module imports ----

    #read(offset, to, count) {
        const end = offset + (count >>> 0);
        if (end > this.#source.length) return -1;
        new Uint8Array(this.#exports.memory.buffer).set(this.#source.subarray(offset, end), to >>> 0);
        return 0;
    }

    /** Computes Argon2id in an instance that forgetStretcher() drops, because an instance's memory never shrinks. */
    #stretch(out, input, salt, memoryKiB, passes, lanes) {
        const memory = () => new Uint8Array(this.#exports.memory.buffer);
        const given = new Uint8Array(64);
        given.set(memory().subarray(input, input + 32));
        given.set(memory().subarray(salt, salt + 32), 32);
        this.lastStretch = { memoryKiB, passes, lanes, failed: true };
        const result = this.argon2(given, memoryKiB, passes, lanes);
        given.fill(0);
        if (!result) return -1;
        memory().set(result, out);
        result.fill(0);
        this.lastStretch.failed = false;
        return 0;
    }

    /** Computes Argon2id of 32 bytes and a salt of 32 bytes; returns undefined if there is not enough memory. */
    argon2(given, memoryKiB, passes, lanes) {
        let output;
        try {
            this.#stretcher ??= this.#instantiate();
            const { allocate, release, argon2, memory } = this.#stretcher;
            const at = allocate(96) >>> 0;
            if (at === 0) return undefined;
            new Uint8Array(memory.buffer).set(given, at);
            if (argon2(at, memoryKiB, passes, lanes) === 0) {
                output = new Uint8Array(memory.buffer).slice(at + 64, at + 96);
            }
            release(at, 96);
        } catch {
            this.forgetStretcher(); // a RangeError or a trap, for lack of memory
        }
        return output;
    }

    /** Wipes and drops the instance that ran Argon2id: its stack also contains data that determines the key. */
    forgetStretcher() {
        if (this.#stretcher) new Uint8Array(this.#stretcher.memory.buffer).fill(0);
        this.#stretcher = undefined;
    }

    // ---- Calls ----

    /** Calls a function of the module. After a trap, the module's state is unknown, so the module is dropped. */
    #run(name, ...values) {
        if (!this.#exports) throw new ReaderError('reader-failed', 'The reader has failed; open the vault again.');
        try {
            return this.#exports[name](...values);
        } catch (error) {
            this.drop();
            throw new ReaderError('reader-failed', `The reader has failed (${error.name}); open the vault again.`);
        }
    }

    /** Copies bytes to memory that the module will release. */
    #put(bytes) {
        const at = this.#run('allocate', bytes.length) >>> 0;
        if (at === 0) throw new ReaderError('out-of-budget', 'There is not enough memory.');
        new Uint8Array(this.#exports.memory.buffer).set(bytes, at);
        return [at, bytes.length];
    }

    /** The answer, in place: it is valid until the next call. */
    #answer() {
        const at = this.#run('answer') >>> 0;
        return new Uint8Array(this.#exports.memory.buffer, at, this.#run('answer_length') >>> 0);
    }

    statusName(status) {
        const bytes = new Uint8Array(this.#exports.memory.buffer);
        const at = this.#run('status_name', status) >>> 0;
        return String.fromCharCode(...bytes.subarray(at, bytes.indexOf(0, at)));
    }

    /** Fails unless a status is good. */
    #check(status) {
        if (status === STATUS.ok) return;
        const more = {};
        if (status === STATUS.kdfLimit) {
            const wire = new Wire(this.#answer());
            more.kdf = { memoryKiB: wire.u32(), passes: wire.u32(), lanes: wire.u32() };
        } else if (status === STATUS.unsupportedCritical) {
            more.extension = String.fromCharCode(...new Wire(this.#answer()).bytes());
        } else if (status === STATUS.cryptoFailed) {
            const { memoryKiB, passes, lanes } = this.lastStretch;
            more.kdf = { memoryKiB, passes, lanes };
        }
        throw new ReaderError(this.statusName(status), undefined, more);
    }

    #ask(name, ...values) {
        this.#check(this.#run(name, ...values));
        return new Wire(this.#answer());
    }

    /** Returns a copy of an answer that consists only of bytes, and wipes the module's own. */
    #bytes(name, ...values) {
        this.#check(this.#run(name, ...values));
        const answer = this.#answer();
        const bytes = answer.slice();
        answer.fill(0);
        return bytes;
    }

    // ---- Opening ----

    load(bytes) {
        this.#source = bytes;
        const wire = this.#ask('load', bytes.length);
        return { id: wire.bytes(16), slots: wire.many(() => slot(wire)), extensions: wire.many(() => extension(wire)) };
    }

    /**
     * Opens the vault. `given` has bytes under the names in GIVEN, `policy` the limits memory, passes, lanes and total.
     * The module's copies are wiped; the caller's copies remain the caller's responsibility.
     */
    open(given, { memory = 0, passes = 0, lanes = 0, total = 0 } = {}) {
        try {
            for (const [name, bytes] of Object.entries(given)) {
                this.#check(this.#run('give', GIVEN[name], ...this.#put(bytes)));
            }
            return state(this.#ask('open', memory, passes, lanes, total));
        } finally {
            this.forgetStretcher();
        }
    }

    /** Closes the vault, then wipes and drops the memory, which would never shrink. */
    drop() {
        try {
            this.#exports?.close();
        } catch {
            // A trap: the memory is wiped below in any case.
        }
        if (this.#exports) new Uint8Array(this.#exports.memory.buffer).fill(0);
        this.#exports = undefined;
        this.#source = new Uint8Array();
        this.forgetStretcher();
    }

    // ---- The state ----

    /** Compares with an anchor, and returns a vfr_verdict. */
    compare({ owner, chain, floor, rows }) {
        const bytes = new Uint8Array(72 + 17 * rows.length);
        const view = new DataView(bytes.buffer);
        bytes.set(owner);
        bytes.set(chain, 32);
        view.setBigUint64(64, floor, true);
        rows.forEach((row, index) => {
            view.setBigUint64(72 + 17 * index, row.replica, true);
            view.setBigUint64(80 + 17 * index, row.revision, true);
            view.setUint8(88 + 17 * index, row.split ? 1 : 0);
        });
        return this.#ask('compare', ...this.#put(bytes)).u8();
    }

    vector() {
        const wire = this.#ask('vector');
        return wire.many(() => row(wire));
    }

    keyring() {
        const wire = this.#ask('keyring');
        return {
            limit: wire.u8(),
            limitDot: wire.dot(),
            keyDot: wire.dot(),
            grants: wire.many(() => wire.u64()),
            extensions: wire.many(() => extension(wire)),
            groups: wire.many(() => ({ number: wire.u64(), name: wire.bytes() })),
            compartments: wire.many(() => compartment(wire)),
            slots: wire.many(() => slotDots(wire)),
            handOvers: wire.u32(),
        };
    }

    slotOwner(index) {
        const wire = this.#ask('slot_owner', index);
        return { name: wire.bytes(), data: wire.bytes(), groups: wire.many(() => wire.u64()) };
    }

    handOver(index) {
        const wire = this.#ask('hand_over', index);
        const handOver = { from: wire.bytes(32), next: wire.bytes(32), floor: wire.u64() };
        handOver.status = this.statusName(wire.u8());
        return { ...handOver, valid: wire.flag(), rows: wire.many(() => row(wire)) };
    }

    // ---- Items: a call that needs a current item or past uses the one from the previous call ----

    list() {
        this.#check(this.#run('list'));
    }

    /** The next entry, an item or a forgotten value; undefined after the last one. */
    next() {
        const status = this.#run('next');
        if (status === STATUS.end) return undefined;
        this.#check(status);
        return entry(new Wire(this.#answer()));
    }

    find(key) {
        return entry(this.#ask('find', ...this.#put(key)));
    }

    key(bytes) {
        return itemKey(this.#ask('key', ...this.#put(bytes)));
    }

    secret() {
        return this.#bytes('secret');
    }

    attribute(index) {
        return this.#bytes('attribute', index);
    }

    past() {
        const wire = this.#ask('past');
        const values = wire.many(() => value(wire));
        return { values, siblings: wire.many(() => sibling(wire, values.length)) };
    }

    value(index) {
        return this.#bytes('value', index);
    }

    valueAttribute(index, attribute) {
        return this.#bytes('value_attribute', index, attribute);
    }

    roles() {
        return this.#bytes('roles');
    }

    checkForgotten() {
        this.#check(this.#run('check_forgotten'));
    }
}

// ---- The parts of answers, in the order of page.h ----

function extension(wire) {
    return { flags: wire.u8(), name: wire.bytes(), value: wire.bytes() };
}

function slot(wire) {
    const slot = { id: wire.bytes(16), kind: wire.u8(), factors: wire.u8(), known: wire.flag() };
    const cost = { memory: wire.u32(), passes: wire.u32(), lanes: wire.u32() };
    return { ...slot, ...cost, provider: wire.bytes(), parameters: wire.bytes(), bytes: wire.bytes() };
}

function state(wire) {
    const state = { vault: wire.bytes(16), owner: wire.bytes(32), full: wire.flag(), slot: wire.bytes(16) };
    Object.assign(state, { tail: wire.u8(), generation: wire.u64(), chain: wire.bytes(32) });
    Object.assign(state, { previousGeneration: wire.u64(), previousChain: wire.bytes(32) });
    Object.assign(state, { clock: wire.u64(), floor: wire.u64(), ownReplica: wire.u64(), ownRevision: wire.u64() });
    return Object.assign(state, { items: wire.u64(), forgotten: wire.u64(), pasts: wire.u64() });
}

function row(wire) {
    return { replica: wire.u64(), revision: wire.u64(), split: wire.flag() };
}

function compartment(wire) {
    return { number: wire.u64(), group: wire.u64(), accessibility: wire.u8(), device: wire.bytes(16) };
}

function slotDots(wire) {
    const dots = { id: wire.bytes(16), made: wire.dot(), changed: wire.dot() };
    return { ...dots, grants: wire.many(() => ({ group: wire.u64(), dot: wire.dot() })) };
}

function itemKey(wire) {
    const key = { class: wire.u8(), synchronizable: wire.flag() };
    return { ...key, fields: wire.many(() => (wire.u8() === FIELD_NUMBER ? wire.u32() : wire.bytes())) };
}

function attribute(wire) {
    const attribute = { flags: wire.u8(), name: wire.bytes(), value: wire.bytes(), dot: wire.dot() };
    return { ...attribute, record: wire.u64(), compartment: wire.u64() };
}

function entry(wire) {
    if (!wire.flag()) return { isItem: false, kind: wire.u8(), name: wire.bytes(), dot: wire.dot() };
    const item = { isItem: true, pageKey: wire.bytes(), conflict: wire.flag(), id: wire.bytes(16), dot: wire.dot() };
    Object.assign(item, { keyDot: wire.dot(), placeDot: wire.dot(), secretDot: wire.dot() });
    Object.assign(item, { created: wire.i64(), modified: wire.i64() });
    Object.assign(item, { hasSecret: wire.flag(), hasPast: wire.flag(), toSettle: wire.flag() });
    Object.assign(item, { record: wire.u64(), compartment: wire.u64(), key: itemKey(wire) });
    return Object.assign(item, { attributes: wire.many(() => attribute(wire)) });
}

function value(wire) {
    const value = { kind: wire.u8(), flags: wire.u8(), attributeFlags: wire.u8(), name: wire.bytes(), dot: wire.dot() };
    Object.assign(value, { hasContent: wire.flag(), replaced: wire.i64(), content: wire.bytes() });
    Object.assign(value, { accessibility: wire.u8(), device: wire.bytes(16), hasRecord: wire.flag() });
    Object.assign(value, { record: wire.u64(), compartment: wire.u64() });
    return Object.assign(value, { attributes: wire.many(() => attribute(wire)) });
}

function sibling(wire, values) {
    const sibling = { dot: wire.dot(), created: wire.i64(), modified: wire.i64() };
    const marks = wire.bytes(values);
    const marked = (mark) => [...marks.keys()].filter((index) => (marks[index] & mark) !== 0);
    return { ...sibling, fields: marked(1), earlier: marked(2) };
}
