// The command that Spec/vectors/README.md describes, over the page's own module: opens a vault, prints the verdict and
// what it releases.
//
//     node conformance.mjs check [--OPTION VALUE]... FILE
//     node conformance.mjs check                       answers requests from standard input
import { readFileSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';

import { module, scripts } from './module.mjs';

const { ReaderModule, ReaderError, passphraseBytes, hexOf, bytesOfHex } = scripts;
const SEALED_FORMS = { inRecord: 0x10, ownRecord: 0x20 };
const TAILS = ['success', 'success-tail-torn', 'success-tail-incomplete', 'success-tail-damaged'];
const VERDICTS = ['', 'foreign', 'same', 'older', 'descends', 'forked'];

// ---- Text ----

const hex = (bytes) => hexOf(bytes) || '-';
const dot = ({ revision, replica }) => `${revision}.${replica}`;
const device = (bytes) => (bytes.some((byte) => byte !== 0) ? hexOf(bytes) : '-');
const unhex = (text) => (text === '-' ? new Uint8Array() : bytesOfHex(text));

/** Calls a function, and returns its result or the status that it failed with. */
function tried(read) {
    try {
        return { result: read() };
    } catch (error) {
        if (!(error instanceof ReaderError)) throw error;
        return { status: error.status };
    }
}

// ---- Requests ----

/** A passphrase as typed; one that is not text stays as it is. */
function passphrase(bytes) {
    if (bytes.length === 0) return bytes;
    const text = scripts.textOf(bytes);
    return text === undefined ? bytes : passphraseBytes(text);
}

function candidates(list) {
    const keys = list === '-' ? [] : list.split(',');
    const records = keys.map((key) => {
        const [id, digits] = key.includes('=') ? key.split('=') : ['', key];
        return [id ? 1 : 0, ...unhex(id.padStart(32, '0')), ...unhex(digits)];
    });
    return Uint8Array.from(records.flat());
}

function anchor(text) {
    const [owner, chain, floor, rows] = text.split(':');
    const pairs = rows === '-' ? [] : rows.split(',').map((row) => row.split('='));
    return {
        owner: unhex(owner),
        chain: unhex(chain),
        floor: BigInt(floor),
        rows: pairs.map((pair) => ({ replica: BigInt(pair[0]), revision: BigInt(pair[1]), split: false })),
    };
}

const OPTIONS = {
    passphrase: (r, value) => (r.given.passphrase = passphrase(unhex(value))),
    'key-file': (r, value) => (r.given.keyFile = unhex(value)),
    'raw-key': (r, value) => (r.given.rawKey = unhex(value)),
    device: (r, value) => (r.given.device = unhex(value.replace(':', ''))),
    owner: (r, value) => (r.given.owner = unhex(value)),
    anchor: (r, value) => (r.anchor = anchor(value)),
    'age-identity': (r) => (r.unsupported = true),
    external: (r, value) => {
        const colon = value.lastIndexOf(':');
        r.given.provider = new TextEncoder().encode(value.slice(0, colon));
        r.given.candidates = candidates(value.slice(colon + 1));
    },
};
for (const name of ['memory', 'passes', 'lanes', 'total']) {
    OPTIONS[`limit-${name}`] = (r, value) => (r.policy[name] = Number(value));
}

function parse(words) {
    const request = { given: {}, policy: {} };
    for (let index = 0; index < words.length; index += 1) {
        if (!words[index].startsWith('--')) {
            request.file = words[index];
            continue;
        }
        const option = OPTIONS[words[index].slice(2)];
        index += 1;
        if (!option || index === words.length) throw new Error(`wrong option ${words[index - 1]}`);
        option(request, words[index]);
    }
    if (!request.file) throw new Error('no file');
    return request;
}

// ---- The dump ----

class Dump {
    lines = [];
    failure;
    deviceBound = false;
    pastsRead = true;

    constructor(reader, header, state, request) {
        Object.assign(this, { reader, header, state, request });
    }

    put(...words) {
        this.lines.push(words.filter((word) => word !== '').join(' '));
    }

    /** Notes that a value cannot be read, and returns the reason. */
    reason(status) {
        if (status === 'device-bound') this.deviceBound = true;
        else if (status !== 'no-key') this.failure ??= status;
        return status;
    }

    all() {
        this.putState();
        this.putVector();
        this.putKeyring();
        this.putTree();
        this.put('end');
    }

    putState() {
        const { state } = this;
        this.put('vaultfmt-dump 3');
        this.put('vault', hex(state.vault));
        this.put('access', state.full ? 'full' : 'scoped');
        this.put('owner', hex(state.owner));
        this.put('generation', state.generation);
        this.put('chain', hex(state.chain));
        this.put('before', state.previousGeneration, hex(state.previousChain));
        this.put('clock', state.clock, state.floor);
        this.put('own', state.ownReplica, state.ownRevision);
    }

    putRow(word, { replica, revision, split }) {
        this.put(word, replica, revision, split ? 'split' : '');
    }

    putVector() {
        if (this.request.anchor) this.put('anchor', VERDICTS[this.reader.compare(this.request.anchor)]);
        for (const row of this.reader.vector()) this.putRow('row', row);
    }

    // ---- The keyring ----

    putKeyring() {
        const keyring = this.reader.keyring();
        for (const group of keyring.grants) this.put('grant', group);
        this.header.slots.forEach((slot, index) => this.putSlot(slot, index));
        for (const extension of this.header.extensions) this.putExtension('header', extension);
        for (const extension of keyring.extensions) this.putExtension('keyring', extension);
        this.put('limit', keyring.limit, dot(keyring.limitDot));
        this.put('key-dot', dot(keyring.keyDot));
        for (const group of keyring.groups) this.put('group', group.number, hex(group.name));
        for (const { number, group, accessibility, device: id } of keyring.compartments) {
            this.put('compartment', number, group, accessibility, device(id));
        }
        for (const slot of keyring.slots) {
            this.put('slot-dots', hex(slot.id), dot(slot.made), dot(slot.changed));
            for (const grant of slot.grants) this.put('slot-grant-dot', grant.group, dot(grant.dot));
        }
        for (let index = 0; index < keyring.handOvers; index += 1) this.putHandOver(index);
    }

    putSlot(slot, index) {
        const start = ['slot', hex(slot.id), slot.kind, slot.factors];
        const provider = slot.factors & 0x10 ? [hex(slot.provider), hex(slot.parameters)] : [];
        if (slot.known) this.put(...start, 'known', slot.memory, slot.passes, slot.lanes, ...provider);
        else this.put(...start, 'opaque', hex(slot.bytes));
        if (!this.state.full) return;
        const owner = this.reader.slotOwner(index);
        this.put('slot-owner', hex(owner.name), hex(owner.data));
        for (const group of owner.groups) this.put('slot-grant', group);
    }

    putExtension(place, { flags, name, value }) {
        this.put('extension', place, flags, hex(name), hex(value));
    }

    putHandOver(index) {
        const { from, next, floor, status, valid, rows } = this.reader.handOver(index);
        const word = valid ? 'valid' : 'invalid';
        this.put('hand-over', hex(from), hex(next), floor, status === 'ok' ? word : status);
        for (const row of rows) this.putRow('hand-over-row', row);
    }

    // ---- Items ----

    putAttribute(attribute, read, withDot) {
        const { result, status } = tried(read);
        const start = [hex(attribute.name), attribute.flags];
        const end = withDot ? dot(attribute.dot) : '';
        if (result) this.put('attribute', ...start, hex(result), end);
        else this.put('attribute-unavailable', ...start, this.reason(status), end);
        if ((attribute.flags & SEALED_FORMS.ownRecord) === 0) return;
        this.put('attribute-record', attribute.record, attribute.compartment);
    }

    putContent(word, { result, status }) {
        if (result) this.put(word, hex(result));
        else this.put(`${word}-unavailable`, this.reason(status));
    }

    putItem(item) {
        this.put('item', hex(item.pageKey));
        this.put('id', hex(item.id));
        this.put('dot', dot(item.dot));
        this.put('times', item.created, item.modified);
        this.put('fields', dot(item.keyDot), dot(item.placeDot), item.hasSecret ? dot(item.secretDot) : '-');
        if (item.toSettle) this.put('to-settle');
        this.put('record', item.record, item.compartment);
        item.attributes.forEach((attribute, index) => {
            this.putAttribute(attribute, () => this.reader.attribute(index), true);
        });
        const secret = tried(() => this.reader.secret());
        if (!item.hasSecret && secret.status === 'no-secret') this.put('secret-none');
        else this.putContent('secret', secret);
        if (item.hasPast) this.putPast();
    }

    putPast() {
        const { result, status } = tried(() => this.reader.past());
        if (!result) {
            this.pastsRead = false;
            this.put('past-unavailable', this.reason(status));
            return;
        }
        result.values.forEach((value, index) => this.putValue(value, index));
        for (const sibling of result.siblings) this.putSibling(sibling, result.values);
    }

    putValue(value, index) {
        const start = [value.kind, hex(value.name), dot(value.dot), value.flags, value.attributeFlags];
        this.put('value', ...start, value.hasContent ? value.replaced : '');
        if (!value.hasContent) return;
        const own = (value.attributeFlags & SEALED_FORMS.ownRecord) !== 0;
        if (value.hasRecord) this.put(own ? 'attribute-record' : 'record', value.record, value.compartment);
        if (value.kind === 0) {
            value.attributes.forEach((attribute, place) => {
                this.putAttribute(attribute, () => this.reader.valueAttribute(index, place), false);
            });
            this.putContent('secret', tried(() => this.reader.value(index)));
        } else if (value.hasRecord) {
            this.putContent('content', tried(() => this.reader.value(index)));
        } else {
            const place = value.kind === 3 ? [value.accessibility, device(value.device)] : [];
            this.put('content', hex(value.content), ...place);
        }
    }

    putSibling(sibling, values) {
        this.put('sibling', dot(sibling.dot), sibling.created, sibling.modified);
        const name = (index) => [values[index].kind, hex(values[index].name), dot(values[index].dot)];
        for (const index of sibling.fields) this.put('sibling-field', ...name(index));
        for (const index of sibling.earlier) this.put('sibling-earlier', ...name(index));
    }

    /** Prints the items and what was forgotten; every seventh is looked up by its key, and read from there. */
    putTree() {
        this.reader.list();
        for (let number = 0; ; number += 1) {
            const entry = this.reader.next();
            if (!entry) break;
            if (!entry.isItem) this.put('forgotten', entry.kind, hex(entry.name), dot(entry.dot));
            else this.putItem(number % 7 === 0 ? this.found(entry) : entry);
        }
        if (this.state.full && this.pastsRead) this.reader.checkForgotten();
    }

    found(entry) {
        const found = this.reader.find(entry.pageKey);
        if (hexOf(found.id) !== hexOf(entry.id)) throw new Error('a look-up found another item');
        return found;
    }
}

/** Opens a vault, and returns the lines of the answer. */
function answer(request) {
    if (request.unsupported) return ['unsupported-provider'];
    const reader = new ReaderModule(module);
    let dump;
    const { status } = tried(() => {
        const header = reader.load(readFileSync(request.file));
        const state = reader.open(request.given, request.policy);
        dump = new Dump(reader, header, state, request);
        dump.all();
    });
    const failure = dump?.failure ?? status;
    const success = dump?.deviceBound ? 'device-bound' : TAILS[dump?.state.tail];
    reader.drop();
    return [failure ?? success, ...(dump?.lines ?? [])];
}

function write(text) {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) {
        try {
            at += writeSync(1, bytes, at);
        } catch (error) {
            if (error.code !== 'EAGAIN') throw error; // a pipe that is full
        }
    }
}

const [verb, ...words] = process.argv.slice(2);
if (verb !== 'check') {
    process.stderr.write('usage: node conformance.mjs check [--OPTION VALUE]... FILE\n');
    process.exitCode = 2;
} else if (words.length > 0) {
    write(`${answer(parse(words)).join('\n')}\n`);
} else {
    for await (const line of createInterface({ input: process.stdin })) {
        write(`${answer(parse(line.split(' '))).join('\n')}\n.\n`);
    }
}
