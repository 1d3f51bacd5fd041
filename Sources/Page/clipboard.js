// Copies, and clears the clipboard after a while. A page may write to the clipboard only while it has the focus, and in
// some browsers only right after a click or a key.

import { say } from './dom.js';

const SECONDS = 45;
// Some systems ignore an empty text, and would keep the secret.
const NOTHING = ' ';

/** Copies by a selection, where a page from a file has no access to the clipboard. */
function copyBySelection(text) {
    const area = document.createElement('textarea');
    area.className = 'visually-hidden';
    area.setAttribute('aria-hidden', 'true');
    const focused = document.activeElement;
    document.body.append(area);
    area.value = text;
    area.select();
    // The element would give its lines other ends.
    const exact = (event) => {
        event.clipboardData.setData('text/plain', text);
        event.preventDefault();
    };
    document.addEventListener('copy', exact, { capture: true });
    const done = document.execCommand('copy');
    document.removeEventListener('copy', exact, { capture: true });
    area.value = '';
    area.remove();
    focused?.focus({ preventScroll: true });
    return done;
}

/** Writes the text that `promised` brings, and returns whether the browser let it. Throws what `promised` throws. */
async function write(promised) {
    if (navigator.clipboard?.write && window.ClipboardItem) {
        try {
            // Asked at once, with a promise: some browsers forget the click that permits it while the text is fetched.
            // A mark of the byte order at the beginning of a text would be taken for one of the bytes.
            const mark = (text) => (text.startsWith('\uFEFF') ? '\uFEFF' : '');
            const blob = promised.then((text) => new Blob([mark(text), text], { type: 'text/plain' }));
            await navigator.clipboard.write([new ClipboardItem({ 'text/plain': blob })]);
            return true;
        } catch {
            // Not permitted or not known here: an older way may be.
        }
    }
    const text = await promised;
    if (navigator.clipboard?.writeText) {
        try {
            await navigator.clipboard.writeText(text);
            return true;
        } catch {
            // As above.
        }
    }
    return copyBySelection(text);
}

export class Clipboard {
    #timer; // runs until what was copied is to be cleared
    #pending = false; // whether it is still to be cleared
    #clearing = false; // whether it is being cleared
    #copies = 0; // grows with each time of clearing, so that a copy that comes too late is noticed

    constructor() {
        // When it could not be cleared in time, the next occasion that the browser may accept does it.
        const expire = () => {
            if (this.#pending && this.#timer === undefined && !this.#clearing) this.#expire();
        };
        // Of the window alone: clearing by a selection moves the focus within the page.
        window.addEventListener('focus', expire);
        // Before a key that copies again does: what it copies must not be taken for what is to be cleared.
        for (const name of ['pointerup', 'keydown']) window.addEventListener(name, expire, { capture: true });
    }

    /** Copies a text, or one that is promised. Call it in the listener of the click that asks for it. */
    async copy(text, name) {
        const copies = this.#copies;
        // What arrives after the clipboard was cleared, because the vault was locked, is not copied any more.
        const promised = Promise.resolve(text).then((copied) => (copies === this.#copies ? copied : NOTHING));
        if (!(await write(promised))) {
            say('The browser does not allow this page to copy. Show the value and copy it yourself.');
            return;
        }
        if (copies !== this.#copies) {
            // The text was on its way when the clipboard was cleared, and may have come after that.
            this.#pending = true;
            if (this.#timer === undefined) this.#expire();
            return;
        }
        clearTimeout(this.#timer);
        this.#pending = true;
        this.#timer = setTimeout(() => this.#expire(), SECONDS * 1000);
        say(`Copied ${name}. The clipboard is cleared in ${SECONDS} seconds if this page has the focus.`);
    }

    /** Clears what was copied from here, if need be before its time. Returns what to say about it. */
    async clear() {
        this.#copies += 1;
        if (!this.#pending) return '';
        clearTimeout(this.#timer);
        this.#timer = undefined;
        if (!document.hasFocus()) return 'The copied value is still on the clipboard: return to this page to clear it.';
        if (!(await write(Promise.resolve(NOTHING)))) {
            return 'The copied value is still on the clipboard: click on this page or press a key to clear it.';
        }
        // Something else may have been copied in the meantime.
        this.#pending = this.#timer !== undefined;
        return 'The clipboard was cleared.';
    }

    async #expire() {
        this.#timer = undefined;
        this.#clearing = true;
        try {
            say(await this.clear());
        } finally {
            this.#clearing = false;
        }
    }
}
