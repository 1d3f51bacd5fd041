// The page: loads a vault, opens it, shows it, and locks it. This file switches between the sheets.

import { Client, ReaderError } from './client.js';
import { Clipboard } from './clipboard.js';
import { Details } from './details.js';
import { button, byId, make, say, showOnly } from './dom.js';
import { forgetFiles, fromBase64 } from './files.js';
import { Idle } from './idle.js';
import { matching, prepared } from './items.js';
import { layoutOf, layoutOfOutline } from './layout.js';
import { List } from './list.js';
import { itemsText, sentence, stateNotice, verdictNotice } from './messages.js';
import { Picture } from './picture.js';
import { visible } from './text.js';
import { Unlock } from './unlock.js';

const SCOPED = 'The key that opened the vault shows all names, but only the secrets of some groups.';
const NO_ANCHOR = 'The data needed for an anchor is damaged; the items are not.';
const ANCHOR = 'Save this anchor, and paste it here next time to detect a rollback. It contains no secrets.';
const MOST_LISTED = 300_000; // rows; browsers draw nothing beyond a few million pixels
const MOST_VAULT = 1 << 30; // for a chosen file, which is held in memory; browsers give a page at most twice this
const WIPING_MS = 1000; // how long the worker may take to wipe its memory before it is terminated

class Page {
    #client;
    #source; // {name, read, damage}: the source of the vault's bytes, and the status if they cannot be read
    #ready = false; // whether the form is shown and the reader has the vault's header
    #open = false;
    #entries = [];
    #clipboard = new Clipboard();
    #details = new Details(this.#clipboard, () => this.#showList());
    #list = new List((entry) => this.#choose(entry));
    #unlock = new Unlock((result) => this.#opened(result), () => this.#prepare());
    #picture = new Picture();
    #idle = new Idle(() => this.lock('Locked because the page was idle.'));

    start() {
        byId('loading').hidden = true;
        byId('vault-file').addEventListener('change', ({ target }) => this.#take(target.files[0]));
        byId('other-vault').addEventListener('click', () => {
            this.#showStart();
            byId('vault-file').focus();
        });
        byId('lock').addEventListener('click', () => this.lock());
        byId('refused-lock').addEventListener('click', () => this.lock());
        // When the page is reloaded, some browsers show the previous choice.
        this.#idle.minutes = Number(byId('idle').value);
        byId('idle').addEventListener('change', ({ target }) => {
            this.#idle.minutes = Number(target.value);
        });
        byId('search').addEventListener('input', () => this.#search());
        document.addEventListener('keydown', (event) => this.#key(event));
        window.addEventListener('pagehide', () => this.#leave());
        this.#acceptDrops();
        const carried = byId('vault');
        if (carried.textContent.trim() === '') {
            this.#showStart();
            return;
        }
        const name = carried.dataset.name || 'vault';
        if (carried.textContent.trim().startsWith('{')) {
            this.#showOutline(JSON.parse(carried.textContent), name);
            return;
        }
        this.#source = { name, damage: 'page-damaged', read: async () => fromBase64(carried.textContent) };
        this.#prepare();
    }

    /** Discards everything that was read, and shows the form again. */
    async lock(reason = 'Locked.') {
        if (!this.#open) return;
        this.#open = false;
        this.#idle.stop();
        this.#entries = [];
        this.#list.show([]);
        this.#details.clear();
        forgetFiles();
        byId('search').value = '';
        byId('notices').replaceChildren();
        byId('bar').hidden = true;
        const client = this.#client;
        // A new worker serves the next attempt; the old one wipes its memory, and is terminated even without an answer.
        const late = new Promise((resolve) => {
            setTimeout(resolve, WIPING_MS);
        });
        const wiped = Promise.race([client.call('lock').catch(() => {}), late]).then(() => client.end());
        this.#client = undefined;
        const [cleared] = await Promise.all([this.#clipboard.clear(), wiped, this.#prepare()]);
        say(`${reason} ${cleared}`);
    }

    /** Locks, forgets typed input and cancels an attempt to open: the browser may keep the page for its history. */
    #leave() {
        this.#unlock.forget();
        if (this.#open) this.lock();
        else if (this.#source && this.#unlock.isRunning) this.#prepare();
    }

    #acceptDrops() {
        document.addEventListener('dragover', (event) => {
            event.preventDefault();
            byId('drop').classList.toggle('over', !byId('start').hidden);
        });
        document.addEventListener('dragleave', () => byId('drop').classList.remove('over'));
        document.addEventListener('drop', (event) => {
            event.preventDefault(); // otherwise, the browser would leave the page and show the file
            byId('drop').classList.remove('over');
            if (!byId('start').hidden) this.#take(event.dataTransfer.files[0]);
        });
    }

    #take(file) {
        if (!file) return;
        if (file.size > MOST_VAULT) {
            this.#showStart(sentence({ status: 'too-large' }));
            return;
        }
        this.#source = { name: file.name, damage: 'io', read: async () => new Uint8Array(await file.arrayBuffer()) };
        byId('other-vault').hidden = false;
        this.#prepare();
    }

    #showStart(problem = '') {
        this.#unlock.forget();
        byId('vault-file').value = '';
        byId('start-problem').textContent = problem;
        showOnly('start');
    }

    /** Shows what `vaultfmt inspect --html` wrote: the parts of a vault that are visible without opening it. */
    #showOutline(outline, name) {
        this.#unlock.showOutline(outline, name);
        this.#picture.show(async () => ({ size: outline.size, stretches: layoutOfOutline(outline.stretches) }));
        byId('layout').open = true;
        showOnly('unlock');
    }

    /** Starts a worker, gives it the vault, and shows which factors open it. */
    async #prepare() {
        this.#client?.end();
        this.#ready = false;
        const source = this.#source;
        let client;
        try {
            client = await this.#started();
            const bytes = await source.read().catch(() => {
                throw new ReaderError({ status: source.damage });
            });
            const facts = await client.call('load', { bytes }, { transfer: [bytes.buffer] });
            if (client !== this.#client) return;
            this.#ready = true;
            this.#unlock.show(client, facts, source.name);
            this.#picture.show(async () => {
                const read = await source.read();
                return { size: read.length, stretches: layoutOf(read) };
            });
            showOnly('unlock');
            this.#unlock.focus();
        } catch (error) {
            // Another vault may have been chosen since.
            const isLate = client !== undefined && client !== this.#client;
            if (error.status !== 'ended' && !isLate) this.#showStart(sentence(error));
        }
    }

    /** Starts a worker. Any failure to start means that the browser cannot run the reader. */
    async #started() {
        let client;
        try {
            client = new Client(byId('worker').textContent, () => this.#crashed(client));
            this.#client = client;
            await client.call('start', { wasm: fromBase64(byId('wasm').textContent) });
        } catch (error) {
            if (error.status === 'ended') throw error;
            throw new ReaderError({ status: 'cannot-start' });
        }
        return client;
    }

    /** Starts over after the reader has failed; a failure before the form is shown is reported where it is awaited. */
    async #crashed(client) {
        if (client !== this.#client || !this.#ready) return;
        if (this.#open) await this.lock('');
        else await this.#prepare();
        if (this.#ready) byId('unlock-problem').textContent = sentence({ status: 'reader-failed' });
    }

    async #opened(result) {
        this.#open = true;
        this.#idle.start();
        const verdict = result.verdict && verdictNotice(result.verdict);
        if (verdict && !verdict.accept) {
            byId('refused-text').textContent = verdict.text;
            byId('refused-accept').onclick = () => this.#showVault(result, verdict);
            showOnly('refused');
            byId('refused-title').focus();
            return;
        }
        await this.#showVault(result, verdict);
    }

    async #showVault(result, verdict) {
        const client = this.#client;
        let notices;
        try {
            const { items, failed } = await this.#listed(client);
            if (client !== this.#client) return;
            this.#entries = prepared(items);
            notices = this.#notices({ ...result, failed }, verdict);
        } catch (error) {
            if (client === this.#client && this.#open) {
                await this.lock();
                byId('unlock-problem').textContent = sentence(error);
            }
            return;
        }
        byId('notices').replaceChildren(...notices, this.#about(result));
        byId('bar-name').replaceChildren(visible(this.#source.name, { limit: 80 }));
        byId('bar').hidden = false;
        byId('columns').dataset.pane = 'list';
        showOnly('opened');
        this.#details.clear();
        this.#search();
        byId('search').focus();
        const told = notices.map((notice) => notice.textContent).join(' ');
        say(`The vault is open: ${itemsText(this.#entries.length)}. ${told}`.trim());
    }

    /** Returns all items or, if a part of the vault is damaged, the items before it and the status of the damage. */
    async #listed(client) {
        const items = [];
        let part = {};
        do {
            part = await client.call('list', { from: part.next, partial: true });
            for (const item of part.items) items.push(item);
        } while (part.next !== undefined && !part.failed);
        return { items, failed: part.failed };
    }

    #notices(result, verdict) {
        const texts = [stateNotice(result.state)];
        if (result.failed) {
            texts.push(`The list is incomplete: items are missing from it. ${sentence({ status: result.failed })}`);
        }
        if (verdict) texts.push(verdict.text);
        if (result.anchor === undefined) texts.push(NO_ANCHOR);
        if (result.role === 'scoped') texts.push(SCOPED);
        const kind = (text) => (verdict?.accept && text === verdict.text ? 'good' : 'notice');
        return texts.filter(Boolean).map((text) => make('p', { class: kind(text) }, text));
    }

    /** Shows facts about the open vault, and its anchor to write down. */
    #about(result) {
        const facts = make('dl', {});
        const add = (name, value) => {
            facts.append(make('dt', {}, name), make('dd', {}, make('code', {}, String(value))));
        };
        add('Generation', result.generation);
        add('Vault', result.vault ?? '');
        add('Owners', result.owners);
        const about = make('details', {}, make('summary', {}, 'About this vault'), facts);
        if (result.anchor === undefined) return about;
        add('Anchor', result.anchor);
        const copy = () => this.#clipboard.copy(result.anchor, 'the anchor');
        about.append(make('p', { class: 'quiet' }, ANCHOR), button('Copy the anchor', copy, { class: 'small' }));
        return about;
    }

    #search() {
        const found = matching(this.#entries, byId('search').value);
        this.#list.show(found.slice(0, MOST_LISTED));
        const all = this.#entries.length;
        const count = found.length === all ? String(all) : `${found.length} of ${all}`;
        byId('count').textContent = found.length > MOST_LISTED ? `${count}, the first ${MOST_LISTED} listed: search` : count;
    }

    #choose(entry) {
        const heading = this.#details.show(this.#client, entry);
        byId('columns').dataset.pane = 'details';
        heading.focus({ preventScroll: true });
    }

    #showList() {
        byId('columns').dataset.pane = 'list';
        this.#list.focus();
    }

    #key(event) {
        if (!this.#open || byId('opened').hidden || event.defaultPrevented) return;
        if (event.altKey || event.ctrlKey || event.metaKey) return;
        const search = byId('search');
        const inSearch = event.target === search;
        const typing = inSearch || /^(input|textarea|select)$/i.test(event.target.tagName);
        if (event.key === 'Escape') {
            if (inSearch && search.value !== '') {
                search.value = '';
                this.#search();
            } else {
                this.#showList();
            }
        } else if (inSearch) {
            this.#list.key(event);
            return;
        } else if (typing) {
            return;
        } else if (event.key === '/') {
            byId('columns').dataset.pane = 'list';
            search.focus();
            search.select();
        } else if (event.key === 'l') {
            this.lock();
        } else if (event.key === 'c') {
            if (!this.#details.isShown) return;
            this.#details.copySecret();
        } else {
            return;
        }
        event.preventDefault();
    }
}

new Page().start();
