// A vault as the page sees it: text, times and plain objects instead of bytes.
'use strict';

const FACTORS = [['passphrase', 0x01], ['key-file', 0x06], ['raw-key', 0x08], ['external', 0x10]];
const TAILS = ['newest', 'torn', 'incomplete', 'damaged'];
const VERDICTS = ['', 'foreign', 'same', 'older', 'descends', 'forked'];
const ROLES = ['', 'to-settle', 'earlier'];
const KINDS = ['secret', 'attribute', 'key', 'place'];
const ACCESSIBLE = [
    '',
    'when-unlocked',
    'after-first-unlock',
    'always',
    'when-passcode-set-this-device-only',
    'when-unlocked-this-device-only',
    'after-first-unlock-this-device-only',
    'always-this-device-only',
];
/** The classes with their fields, as exports name them; the group, which comes last, is left out. */
const CLASSES = [
    undefined,
    ['generic-password', ['service', 'account']],
    ['internet-password',
        ['server', 'protocol', 'port', 'path', 'account', 'securityDomain', 'authenticationType']],
    ['certificate', ['type', 'issuer', 'serialNumber']],
    ['key', ['keyClass', 'keyType', 'applicationLabel', 'applicationTag', 'sizeInBits', 'effectiveSize']],
    ['identity', ['type', 'issuer', 'serialNumber']],
];
const SEALED = 0x01;
const CONCEALED = 0x02;
const BINARY = 0x04;
const STORED = 0x30;
const LIST_AT_A_TIME = 10_000;
const PASSPHRASE_BYTES = 65_536;
const ATTRIBUTE_CODES = ['otp', 'sealed:otpauth'];

function hexOf(bytes) {
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function bytesOfHex(text) {
    return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** The text that bytes encode, or undefined if they are not UTF-8. */
function textOf(bytes) {
    try {
        return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
        return undefined;
    }
}

/** The time of a change: the upper bits of a revision contain the time in milliseconds. */
function timeOf(revision) {
    return Number(revision >> 16n);
}

/** A typed passphrase, as the bytes that the format requires (section 3.1). */
function passphraseBytes(typed) {
    // A lone surrogate is not a character: encoding it would change the passphrase.
    if (/\p{Surrogate}/u.test(typed)) throw new ReaderError('no-slot-opens');
    const encoder = new TextEncoder();
    if (encoder.encode(typed).length > PASSPHRASE_BYTES) return new Uint8Array();
    return encoder.encode(normalised(typed));
}

// ---- Anchors: VAULT:GENERATION:CHAIN:OWNERS:FLOOR:ROWS, as `vaultfmt anchor` writes them ----

const ANCHOR = /^([0-9a-f]{32}):([1-9]\d{0,19}):([0-9a-f]{64}):([0-9a-f]{64}):(0|[1-9]\d{0,19}):(.*)$/;
const ANCHOR_ROW = /^([0-9a-f]{16})(!?)=([1-9]\d{0,19})$/;

function parsedAnchor(text) {
    const wrong = new ReaderError('invalid-argument', 'This is not an anchor; `vaultfmt anchor` writes one.');
    const match = ANCHOR.exec(text.trim());
    if (!match) throw wrong;
    // A state has at least one row; every state would continue from an anchor without rows.
    const rows = match[6].split(',').map((part) => {
        const row = ANCHOR_ROW.exec(part);
        if (!row) throw wrong;
        return { replica: BigInt(`0x${row[1]}`), revision: BigInt(row[3]), split: row[2] === '!' };
    });
    const floor = BigInt(match[5]);
    if ([floor, ...rows.map((row) => row.revision)].some((number) => number >= 1n << 64n)) throw wrong;
    return { vault: match[1], chain: bytesOfHex(match[3]), owner: bytesOfHex(match[4]), floor, rows };
}

function anchorText(state, rows) {
    const parts = rows.map(({ replica, revision, split }) =>
        `${replica.toString(16).padStart(16, '0')}${split ? '!' : ''}=${revision}`);
    const start = [hexOf(state.vault), state.generation, hexOf(state.chain), hexOf(state.owner), state.floor];
    return [...start, parts.join(',')].join(':');
}

// ---- Items ----

/** The fields of an item key, by name; for an unknown class, the fields are texts. */
function keyFields({ class: number, fields }) {
    const group = textOf(fields.at(-1));
    const [name, names] = CLASSES[number] ?? [`class-${number}`];
    if (!names) return { class: name, texts: fields.slice(0, -1).map(textOf), group, opaque: true };
    const isBytes = number >= 3;
    const values = names.map((field, index) => {
        const value = fields[index];
        return [field, typeof value === 'number' || isBytes ? value : textOf(value)];
    });
    return { class: name, ...Object.fromEntries(values), group };
}

function shownAttribute({ flags, name, value }) {
    const shown = { name: textOf(name) };
    if (flags & SEALED) shown.sealed = true;
    if (flags & CONCEALED) shown.concealed = true;
    if (flags & BINARY) shown.binary = true;
    if (flags & STORED) return shown;
    const text = flags & BINARY ? undefined : textOf(value);
    return text === undefined ? { ...shown, bytes: value } : { ...shown, text };
}

/** The contents of the values in a past that are not secret: a name or a place. */
function valueText(value, module) {
    if (value.kind === 3) return `${textOf(value.content)} (${ACCESSIBLE[value.accessibility]})`;
    if (value.kind !== 2 || !value.hasContent) return undefined;
    const { texts, class: name, group, opaque, ...fields } = keyFields(module.key(value.content));
    const parts = Object.values(texts ?? fields).filter((part) => part !== '' && part !== 0);
    return [name, ...parts.map((part) => (part instanceof Uint8Array ? hexOf(part) : part))].join(' ');
}

class Reader {
    #module;
    #progress;
    #reader;
    #bytes; // of the loaded vault
    #state;
    #slotIds = [];
    #keyring;
    #listed = 0;
    #ended = true;
    #attempt = 0; // counts the slots that were tried

    /** A reader over a compiled WebAssembly.Module. `progress` gets {done, total, attempt} while Argon2id works. */
    constructor(module, progress = () => {}) {
        this.#module = module;
        this.#progress = progress;
    }

    #start() {
        return new ReaderModule(this.#module, (done, total) => {
            if (done === 1) this.#attempt += 1;
            this.#progress({ done, total, attempt: this.#attempt });
        });
    }

    #loaded() {
        if (!this.#reader) throw new ReaderError('not-loaded', 'There is no vault.');
        return this.#reader;
    }

    #opened() {
        if (!this.#state) throw new ReaderError('not-open', 'The vault is locked.');
        return this.#reader;
    }

    /** Reads the header. The bytes must not change while the vault is loaded. */
    load({ bytes }) {
        this.lock();
        this.#reader = this.#start();
        this.#bytes = bytes;
        try {
            return this.#header(this.#reader.load(bytes));
        } catch (error) {
            this.lock();
            throw error;
        }
    }

    #header({ id, slots }) {
        this.#slotIds = slots.map((slot) => hexOf(slot.id));
        const shown = slots.filter((slot) => slot.known).map((slot) => ({
            id: hexOf(slot.id),
            type: slot.kind === 1 ? 'full' : 'scoped',
            factors: FACTORS.filter(([, bits]) => slot.factors & bits).map(([name]) => name),
            ...(slot.factors & 0x10 ? { provider: textOf(slot.provider) } : {}),
            ...(slot.memory > 0 ? { kdf: { memoryKiB: slot.memory, passes: slot.passes, lanes: slot.lanes } } : {}),
        }));
        return { vault: hexOf(id), version: 1, slots: shown };
    }

    /** Estimates the time of an Argon2id computation from a shorter one. */
    estimate({ memoryKiB, passes }) {
        const sample = Math.min(16_384, memoryKiB);
        const module = new ReaderModule(this.#module);
        let elapsed = Infinity;
        // The first run includes the compilation of the module.
        for (let run = 0; run < 3; run += 1) {
            const start = performance.now();
            const output = module.argon2(new Uint8Array(64), sample, 1, 1);
            elapsed = Math.min(elapsed, performance.now() - start);
            if (output) continue;
            module.drop();
            throw new ReaderError('crypto-failed', undefined, { kdf: { memoryKiB: sample, passes: 1, lanes: 1 } });
        }
        module.drop();
        return { milliseconds: Math.ceil((elapsed * memoryKiB * passes) / sample) };
    }

    open({ passphrase, keyFile, rawKey, anchor, memoryLimitKiB = 0 }) {
        const reader = this.#loaded();
        const remembered = anchor ? parsedAnchor(anchor) : undefined;
        const given = {};
        if (passphrase !== undefined) given.passphrase = passphraseBytes(passphrase);
        if (keyFile !== undefined) given.keyFile = keyFile;
        if (rawKey !== undefined) given.rawKey = rawKey;
        this.#forget();
        this.#attempt = 0;
        try {
            const state = reader.open(given, { memory: memoryLimitKiB });
            const opened = this.#describe(reader, state, remembered);
            this.#state = state; // open, now that everything that the answer needs has been read
            return opened;
        } catch (error) {
            this.#again();
            throw error;
        } finally {
            given.passphrase?.fill(0);
        }
    }

    /** Starts over with the same vault after a failed attempt, so that none of the given factors stay in memory. */
    #again() {
        const bytes = this.#bytes;
        this.lock();
        this.load({ bytes });
    }

    #describe(reader, state, remembered) {
        const verdict = remembered && this.#verdict(reader, state, remembered);
        const rows = this.#rows(reader);
        this.#keyring = reader.keyring();
        return {
            role: state.full ? 'owner' : 'scoped',
            vault: hexOf(state.vault),
            generation: Number(state.generation),
            owners: hexOf(state.owner),
            state: TAILS[state.tail] ?? 'damaged',
            slot: hexOf(state.slot),
            slotName: state.full ? this.#slotName(reader, state) : undefined,
            items: Number(state.items),
            groups: this.#keyring.groups.map((group) => textOf(group.name)),
            ...(rows ? { anchor: anchorText(state, rows) } : {}),
            ...(verdict ? { verdict } : {}),
        };
    }

    /** The rows of the vector; undefined if it is damaged, which leaves the items readable. */
    #rows(reader) {
        try {
            return reader.vector();
        } catch (error) {
            if (['authentication-failed', 'structure-invalid'].includes(error.status)) return undefined;
            throw error;
        }
    }

    #verdict(reader, state, remembered) {
        if (remembered.vault !== hexOf(state.vault)) return 'other-vault';
        return VERDICTS[reader.compare(remembered)];
    }

    #slotName(reader, state) {
        const index = this.#slotIds.indexOf(hexOf(state.slot));
        try {
            return textOf(reader.slotOwner(index).name);
        } catch (error) {
            // A slot opens without its owner part (section 3.1).
            if (['authentication-failed', 'structure-invalid'].includes(error.status)) return undefined;
            throw error;
        }
    }

    /**
     * Returns some items, from the one that a previous answer named, or from the first. If the items that follow cannot
     * be read, this is an error; with `partial`, `failed` is its status, and the items before it are returned.
     */
    list({ from = 0, most = LIST_AT_A_TIME, partial = false } = {}) {
        const items = [];
        try {
            return this.#list(items, from, most);
        } catch (error) {
            if (!partial || items.length + from === 0 || error.status === 'reader-failed') throw error;
            return { items, failed: error.status };
        }
    }

    #list(items, from, most) {
        const reader = this.#opened();
        if (from !== this.#listed || this.#ended || from === 0) {
            reader.list();
            [this.#listed, this.#ended] = [0, false];
            while (this.#listed < from && this.#nextItem(reader));
        }
        while (items.length < most) {
            const item = this.#nextItem(reader);
            if (!item) return { items };
            items.push(this.#shown(item));
        }
        return { items, next: this.#listed };
    }

    #nextItem(reader) {
        let entry = reader.next();
        // Forgotten values follow the items and are read, too, because only the end proves that nothing is missing.
        while (entry && !entry.isItem) entry = reader.next();
        if (entry) this.#listed += 1;
        else this.#ended = true;
        return entry;
    }

    #shown(item) {
        const attributes = item.attributes.map(shownAttribute);
        const label = attributes.find(({ name, concealed }) => name === 'label' && !concealed)?.text;
        const place = this.#keyring.compartments.find(({ number }) => number === item.compartment);
        return {
            key: item.pageKey,
            id: hexOf(item.id),
            ...keyFields(item.key),
            synchronizable: item.key.synchronizable,
            ...(place ? { accessible: ACCESSIBLE[place.accessibility] } : {}),
            ...(item.conflict ? { conflict: hexOf(item.id.subarray(0, 4)) } : {}),
            ...(label === undefined ? {} : { label }),
            created: Number(item.created),
            modified: Number(item.modified),
            hasSecret: item.hasSecret,
            hasEarlier: item.hasPast,
            toSettle: item.toSettle,
            attributes,
        };
    }

    secret({ key }) {
        const reader = this.#opened();
        if (!reader.find(key).hasSecret) throw new ReaderError('no-secret', 'The item has no secret.');
        return { bytes: reader.secret() };
    }

    attribute({ key, name }) {
        const reader = this.#opened();
        const index = reader.find(key).attributes.findIndex((attribute) => textOf(attribute.name) === name);
        if (index < 0) throw new ReaderError('no-secret', 'The item has no such attribute.');
        return { bytes: reader.attribute(index) };
    }

    /** Lists an item's earlier values and those left to settle, newest first. */
    earlier({ key }) {
        const reader = this.#opened();
        if (!reader.find(key).hasPast) return [];
        const { values } = reader.past();
        const roles = reader.roles();
        const shown = [...values.keys()].filter((index) => ROLES[roles[index]] !== '');
        shown.sort((left, right) => Number(values[right].dot.revision - values[left].dot.revision) || left - right);
        return shown.map((index) => {
            const value = values[index];
            const text = valueText(value, reader);
            return {
                index,
                role: ROLES[roles[index]],
                kind: KINDS[value.kind],
                when: timeOf(value.dot.revision),
                hasSecret: value.kind < 2 && value.hasContent,
                ...(value.kind === 1 ? { name: textOf(value.name) } : {}),
                ...(value.replaced > 0n ? { replaced: Number(value.replaced) } : {}),
                ...(text === undefined ? {} : { text }),
            };
        });
    }

    earlierSecret({ key, index }) {
        const reader = this.#opened();
        reader.find(key);
        const value = reader.past().values[index];
        if (!value?.hasContent || value.kind > 1) throw new ReaderError('no-secret', 'There is no such earlier value.');
        return { bytes: value.hasRecord ? reader.value(index) : value.content };
    }

    /** The one-time code of an item, now or at a time in milliseconds since 1970. */
    async code({ key, time = Date.now() }) {
        const reader = this.#opened();
        const { attributes } = reader.find(key);
        for (const name of ATTRIBUTE_CODES) {
            const index = attributes.findIndex((attribute) => textOf(attribute.name) === name);
            if (index < 0) continue;
            const bytes = reader.attribute(index);
            const address = textOf(bytes);
            bytes.fill(0);
            if (address === undefined) throw noCode('it is not text');
            return oneTimeCode(address, time / 1000);
        }
        throw new ReaderError('no-code', 'The item has no one-time codes.');
    }

    #forget() {
        this.#state = undefined;
        this.#keyring = undefined;
        [this.#listed, this.#ended] = [0, true];
    }

    /** Closes the vault, wipes the module's memory and drops it. */
    lock() {
        this.#forget();
        this.#reader?.drop();
        this.#reader = undefined;
        this.#bytes = undefined;
        return {};
    }
}
