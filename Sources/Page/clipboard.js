// Copies to the clipboard, and clears it after a while. A page may write to it only while it has the focus, and in
// some browsers only right after a click or a key.

import { say } from './dom.js';

const SECONDS = 45;
// Some systems ignore an empty text and would keep the secret.
const NOTHING = ' ';

/** Copies by means of a selection, for browsers that give a page opened from a file no access to the clipboard. */
function copyBySelection(text) {
    const area = document.createElement('textarea');
    area.className = 'visually-hidden';
    area.setAttribute('aria-hidden', 'true');
    const focused = document.activeElement;
    document.body.append(area);
    area.value = text;
    area.select();
    // The element would change the line endings.
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

/** Writes the text that `promised` resolves to; returns whether the browser allowed it. Rethrows its errors. */
async function write(promised) {
    if (navigator.clipboard?.write && window.ClipboardItem) {
        try {
            // Called at once, with a promise: some browsers forget the permitting click while the text is fetched.
            // A byte order mark at the beginning of a text would be taken for one of the encoded bytes.
            const mark = (text) => (text.startsWith('\uFEFF') ? '\uFEFF' : '');
            const blob = promised.then((text) => new Blob([mark(text), text], { type: 'text/plain' }));
            await navigator.clipboard.write([new ClipboardItem({ 'text/plain': blob })]);
            return true;
        } catch {
            // Not permitted or not supported; an older method may be.
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
    #timer; // runs until the clipboard is to be cleared
    #pending = false; // whether the clipboard is still to be cleared
    #clearing = false; // whether it is being cleared now
    #copies = 0; // incremented by each clearing, so that a copy that completes too late is detected

    constructor() {
        // If the browser did not allow clearing in time, each later event at which it might is a new attempt.
        const expire = () => {
            if (this.#pending && this.#timer === undefined && !this.#clearing) this.#expire();
        };
        // Only the window's own focus event: clearing by means of a selection moves the focus within the page.
        window.addEventListener('focus', expire);
        // Runs before the handler of a key that copies again, so that the new text is not mistaken for the old one.
        for (const name of ['pointerup', 'keydown']) window.addEventListener(name, expire, { capture: true });
    }

    /** Copies a text or the result of a promise. Call this in the listener of the click that requests the copy. */
    async copy(text, name) {
        const copies = this.#copies;
        // A text that arrives after the clipboard was cleared, because the vault was locked, is no longer copied.
        const promised = Promise.resolve(text).then((copied) => (copies === this.#copies ? copied : NOTHING));
        if (!(await write(promised))) {
            say('The browser does not allow this page to copy. Show the value and copy it yourself.');
            return;
        }
        if (copies !== this.#copies) {
            // The text was being written when the clipboard was cleared, and may have arrived after that.
            this.#pending = true;
            if (this.#timer === undefined) this.#expire();
            return;
        }
        clearTimeout(this.#timer);
        this.#pending = true;
        this.#timer = setTimeout(() => this.#expire(), SECONDS * 1000);
        say(`Copied ${name}. The clipboard is cleared in ${SECONDS} seconds if this page has the focus.`);
    }

    /** Clears a text copied from this page, early if necessary. Returns the message to show. */
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
