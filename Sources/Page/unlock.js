// The form that opens a vault: the factors that its slots need, their cost, and the progress of the work.

import { byId, make, say } from './dom.js';
import { costText, sentence } from './messages.js';
import { durationText, sizeText, visible } from './text.js';

const FACTORS = {
    passphrase: 'passphrase',
    'key-file': 'key file',
    'raw-key': 'raw key',
    device: 'device',
    external: 'age identity or another external key',
};
const HERE = ['passphrase', 'key-file', 'raw-key'];
const MOST_KIB = 2 * 1024 * 1024; // the format's own limit for a slot
const USUAL_KIB = 1024 * 1024; // what a page usually gets, if the browser does not report the device's memory
const LARGEST_KEY_FILE = 64 * 1024 * 1024;
const RAW_KEY_SIZE = 32;

/** The memory that a slot may require on this device: half of the amount that the browser reports. */
function usualLimitKiB() {
    const gigabytes = navigator.deviceMemory;
    return gigabytes ? Math.min(MOST_KIB, Math.max(512 * 1024, (gigabytes / 2) * 1024 * 1024)) : USUAL_KIB;
}

const opensHere = ({ factors }) => factors.length > 0 && factors.every((factor) => HERE.includes(factor));

function sameFactors({ factors }, given) {
    return factors.length === given.length && given.every((factor) => factors.includes(factor));
}

function slotText(slot) {
    const parts = slot.factors.map((factor) => FACTORS[factor] ?? factor);
    const scope = slot.type === 'scoped' ? ', opens only some groups' : '';
    const cost = slot.kdf ? ` (each guess costs ${costText(slot.kdf)})` : '';
    const here = opensHere(slot) ? '' : '; not with this page';
    return `${parts.join(' and ') || 'unknown'}${scope}${cost}${here}`;
}

export class Unlock {
    #client;
    #facts;
    #opened;
    #restart;
    #limitKiB = usualLimitKiB();
    #running = false;

    /** `opened` is called with the reader's description of the open vault; `restart` after a cancelled attempt. */
    constructor(opened, restart) {
        this.#opened = opened;
        this.#restart = restart;
        byId('unlock-form').addEventListener('submit', (event) => {
            event.preventDefault();
            this.#open();
        });
        byId('try-anyway').addEventListener('click', () => {
            this.#limitKiB = MOST_KIB;
            this.#open();
        });
        byId('cancel').addEventListener('click', () => {
            this.#restart();
            say('Cancelled.');
        });
        byId('passphrase-shown').addEventListener('click', () => {
            this.#showPassphrase(byId('passphrase').type === 'password');
        });
    }

    /** Prepares the form for a vault whose header the reader has read. */
    show(client, facts, name) {
        // A large cost that the user accepted was accepted for one vault.
        if (facts.vault !== this.#facts?.vault) this.#limitKiB = usualLimitKiB();
        this.#client = client;
        this.#facts = facts;
        byId('unlock-name').replaceChildren(visible(name, { limit: 200 }));
        const offered = facts.slots.filter(opensHere);
        const asked = HERE.filter((factor) => offered.some(({ factors }) => factors.includes(factor)));
        for (const factor of HERE) byId(`${factor}-field`).hidden = !asked.includes(factor);
        byId('several').hidden = asked.length < 2;
        byId('open').hidden = offered.length === 0;
        this.#tell(facts, 'This information is not authenticated until the vault is open.');
        this.#problem(offered.length === 0 ? 'No slot of this vault can be opened with this page.' : '');
        this.#setRunning(false);
    }

    /** Shows facts about a vault that is not in this page. */
    showOutline(facts, name) {
        byId('unlock-verb').textContent = 'Outline of';
        byId('unlock-name').replaceChildren(visible(name, { limit: 200 }));
        byId('unlock-form').hidden = true;
        byId('outline-text').hidden = false;
        this.#tell(facts, 'This information was read without a key and is not authenticated.');
    }

    #tell(facts, claimed) {
        byId('slots').replaceChildren(...facts.slots.map((slot) => make('li', {}, slotText(slot))));
        const rest = `, format ${facts.version}. ${claimed}`;
        byId('vault-facts').replaceChildren('Vault ', make('code', {}, facts.vault), rest);
    }

    focus() {
        const first = HERE.map(byId).find((field) => !field.closest('.field').hidden);
        first?.focus();
    }

    /** Whether an attempt is being made. */
    get isRunning() {
        return this.#running;
    }

    /** Forgets what was entered. */
    forget() {
        byId('unlock-form').reset();
        this.#showPassphrase(false);
        this.#problem('');
    }

    async #open() {
        if (this.#running) return;
        this.#problem('');
        const client = this.#client;
        this.#setRunning(true); // at once, so that a second key press does not start a second attempt
        let factors;
        try {
            factors = await this.#entered();
        } catch (error) {
            if (client !== this.#client) return;
            this.#setRunning(false);
            this.#problem(error.message);
            return;
        }
        const cost = this.#cost(factors.given);
        try {
            let result;
            try {
                const finish = await this.#startProgress(cost);
                try {
                    const values = { ...factors.values, memoryLimitKiB: this.#limitKiB };
                    result = await client.call('open', values, { progress: (step) => this.#progress(step) });
                } finally {
                    finish();
                }
            } finally {
                for (const bytes of [factors.values.keyFile, factors.values.rawKey]) bytes?.fill(0);
            }
            this.forget();
            this.#setRunning(false);
            this.#opened(result);
        } catch (error) {
            if (client !== this.#client || error.status === 'ended') return; // cancelled
            this.#setRunning(false);
            this.#failed(error, cost);
        }
    }

    #failed(error, cost) {
        say('');
        const anchored = error.status === 'invalid-argument' && byId('anchor').value.trim() !== '';
        this.#problem(sentence(anchored ? { status: 'invalid-anchor' } : error, { limitKiB: this.#limitKiB, cost }));
        const asked = (error.cost ?? cost)?.memoryKiB;
        byId('try-anyway').hidden = !(error.status === 'kdf-limit' && asked > this.#limitKiB && asked <= MOST_KIB);
        this.focus();
        byId('passphrase').select();
    }

    /** The input, as values for the reader. The messages of errors are for the user. */
    async #entered() {
        const values = {};
        const given = [];
        const passphrase = byId('passphrase').value;
        if (passphrase !== '') {
            values.passphrase = passphrase;
            given.push('passphrase');
        }
        for (const [id, member] of [['key-file', 'keyFile'], ['raw-key', 'rawKey']]) {
            const file = byId(id).files[0];
            if (!file) continue;
            if (file.size > LARGEST_KEY_FILE) throw new Error('A key file is at most 64 MiB long.');
            const isRawKey = file.size === RAW_KEY_SIZE;
            if (id === 'raw-key' && !isRawKey) throw new Error('A raw key is a file of exactly 32 bytes.');
            values[member] = await file.arrayBuffer().then((buffer) => new Uint8Array(buffer), () => {
                throw new Error('The browser cannot read this file: choose it again.');
            });
            given.push(id);
        }
        if (given.length === 0) throw new Error('Enter a passphrase or choose a file.');
        const anchor = byId('anchor').value.trim();
        if (anchor !== '') values.anchor = anchor;
        return { values, given };
    }

    /** The cost of the most expensive slot that these factors may open, if it has one. */
    #cost(given) {
        const costs = this.#facts.slots.filter((slot) => slot.kdf && sameFactors(slot, given)).map(({ kdf }) => kdf);
        return costs.sort((a, b) => b.memoryKiB * b.passes - a.memoryKiB * a.passes)[0];
    }

    /** Shows that work has begun, and how long it will take. Returns a function that hides this. */
    async #startProgress(cost) {
        byId('progress').value = 0;
        byId('work').hidden = false;
        byId('work-text').textContent = 'Opening.';
        if (cost && cost.memoryKiB <= this.#limitKiB) {
            const { milliseconds } = await this.#client.call('estimate', cost);
            const duration = durationText(milliseconds);
            byId('work-text').textContent = `Deriving the key from what you entered: ${costText(cost)}, ${duration}.`;
            say(`Opening takes ${duration}.`);
        }
        return () => {
            byId('work').hidden = true;
        };
    }

    /** Shows how much of the work for a slot is done. Slots with the same factors are tried one after the other. */
    #progress({ done, total, attempt = 1 }) {
        byId('progress').value = done / total;
        if (attempt > 1) byId('work-text').textContent = `Trying slot ${attempt} of the slots with the same factors.`;
    }

    #setRunning(running) {
        this.#running = running;
        const fields = byId('unlock-form').querySelectorAll('input, textarea, button:not(#cancel)');
        for (const field of fields) field.disabled = running;
        byId('cancel').hidden = !running;
        byId('try-anyway').hidden = true;
        if (!running) byId('work').hidden = true;
    }

    #problem(text) {
        byId('unlock-problem').textContent = text;
    }

    #showPassphrase(shown) {
        byId('passphrase').type = shown ? 'text' : 'password';
        byId('passphrase-shown').textContent = shown ? 'Hide' : 'Show';
        byId('passphrase-shown').setAttribute('aria-label', shown ? 'Hide the passphrase' : 'Show the passphrase');
    }
}
