// The details of one item. Values are fetched from the reader on request, and dropped when hidden.

import { ReaderError } from './client.js';
import { button, byId, make, say } from './dom.js';
import { saveFile } from './files.js';
import { attachmentName, className, fieldsOf, hasCode, isAttachment } from './items.js';
import { sentence } from './messages.js';
import { decoded, folded, hex, sizeText, timeText, visible } from './text.js';

const MOST_SHOWN = 65_536; // characters of a value; the whole value can be copied or saved
const HEX_SHOWN = 256;
const UNSETTLED = 'Two copies set different values, and the conflict has not been settled.';

const quiet = (text) => make('span', { class: 'quiet' }, text);

/** Puts a value into `place`: text with marks or, if the value is not text, the beginning of its bytes. */
function showValue(place, bytes) {
    const text = decoded(bytes);
    if (bytes.length === 0) place.replaceChildren(make('i', {}, 'empty'));
    else if (text !== undefined) place.replaceChildren(visible(text, { lines: true, limit: MOST_SHOWN }));
    else place.replaceChildren(quiet(`${sizeText(bytes.length)}, not text: `), hex(bytes, HEX_SHOWN));
    place.hidden = false;
}

const fieldName = (kind) => (kind === 'key' ? 'name' : kind);

/** Describes the age of a value that is not current. */
function ageOf({ role, when, replaced }) {
    if (role === 'to-settle') return 'left to settle';
    return replaced ? `until ${timeText(replaced)}` : `since ${timeText(when)}`;
}

export class Details {
    #pane = byId('details');
    #client;
    #clipboard;
    #back;
    #countdown;
    #run = 0; // identifies the codes that are shown
    #entry;
    #rows = 0;

    constructor(clipboard, back) {
        this.#clipboard = clipboard;
        this.#back = back;
    }

    /** Shows that nothing is selected, and drops the values that were shown. */
    clear() {
        this.#stop();
        this.#entry = undefined;
        this.#pane.replaceChildren(make('p', { class: 'quiet empty' }, 'Choose an item.'));
    }

    show(client, entry) {
        this.#stop();
        this.#client = client;
        this.#entry = entry;
        const { item, title } = entry;
        const heading = make('h2', { tabindex: '-1' }, title === '' ? make('i', {}, 'no name') : visible(title));
        if (item.conflict) heading.append(' ', make('span', { class: 'tag' }, `conflict ${item.conflict}`));
        const values = make('div', { class: 'values' });
        this.#fill(values, item);
        const back = button('‹ Items', () => this.#back(), { class: 'back' });
        this.#pane.replaceChildren(back, heading, make('p', { class: 'quiet' }, className(item)), values);
        this.#pane.scrollTop = 0;
        return heading;
    }

    /** Whether an item is visible: on a narrow page, the list may be shown instead. */
    get isShown() {
        return this.#entry !== undefined && this.#pane.offsetParent !== null;
    }

    /** Copies the secret of the item shown. */
    async copySecret() {
        const item = this.#entry?.item;
        if (item?.hasSecret) await this.#copy(() => this.#client.call('secret', { key: item.key }), 'the secret');
    }

    #fill(values, item) {
        const { key } = item;
        if (item.hasSecret) {
            values.append(this.#protected('secret', () => this.#client.call('secret', { key }), 'secret'));
        } else {
            values.append(this.#plain('secret', make('i', {}, 'none')));
        }
        if (hasCode(item)) values.append(this.#code(item));
        for (const [name, text] of fieldsOf(item)) values.append(this.#plain(name, visible(text), text));
        if (item.group) values.append(this.#plain('group', visible(item.group)));
        for (const attribute of item.attributes) {
            const isHeading = attribute.name === 'label' && item.label === attribute.text;
            if (!isHeading || item.label === '') values.append(this.#attribute(item, attribute));
        }
        values.append(this.#plain('created', timeText(item.created)), this.#plain('changed', timeText(item.modified)));
        if (item.toSettle) values.append(this.#plain('note', UNSETTLED));
        if (item.hasEarlier) values.append(this.#earlier(item));
    }

    #attribute(item, attribute) {
        const name = attribute.name;
        const text = attribute.text ?? (attribute.bytes && decoded(attribute.bytes));
        if (text !== undefined && !attribute.binary && !attribute.concealed) {
            return this.#plain(visible(name), visible(text, { lines: true }), text);
        }
        const fetch = async () => {
            const { bytes } = await this.#client.call('attribute', { key: item.key, name });
            const searched = attribute.sealed && !attribute.binary && bytes.length <= MOST_SHOWN;
            if (searched) this.#remember(item, decoded(bytes));
            return { bytes };
        };
        if (isAttachment(attribute)) {
            const fileName = attachmentName(attribute);
            return this.#protected(visible(fileName), fetch, fileName, { attachment: true });
        }
        return this.#protected(visible(name), fetch, name);
    }

    /** Lets searches find the item by this text, too, until the vault is locked. */
    #remember(item, text) {
        if (text !== undefined && this.#entry?.item === item) this.#entry.opened += `\n${folded(text)}`;
    }

    /** A visible value. With `text`, it can be copied. */
    #plain(name, content, text) {
        const tools = make('span', { class: 'tools' });
        if (text) tools.append(button('Copy', () => this.#clipboard.copy(text, 'the value'), { class: 'small' }));
        return this.#row(name, make('div', { class: 'value' }, content), tools);
    }

    /** A value that is fetched only when it is shown, copied or saved. */
    #protected(name, fetch, saveName, { attachment = false } = {}) {
        const place = make('div', { class: 'value secret', hidden: true });
        const tools = make('span', { class: 'tools' });
        const row = this.#row(name, place, tools);
        const attempt = (use) => async () => {
            try {
                const { bytes } = await fetch();
                use(bytes);
                bytes.fill(0); // the text made from these bytes cannot be overwritten, but they can
            } catch (error) {
                place.replaceChildren(make('span', { class: 'problem' }, sentence(error)));
                place.hidden = false;
            }
        };
        const show = button('Show', async () => {
            if (show.textContent === 'Hide') {
                place.replaceChildren();
                place.hidden = true;
                show.textContent = 'Show';
                return;
            }
            await attempt((bytes) => {
                showValue(place, bytes);
                show.textContent = 'Hide';
            })();
        }, { class: 'small' });
        const copy = button('Copy', () => this.#copy(fetch, 'the value'), { class: 'small' });
        const save = button('Save', attempt((bytes) => {
            saveFile(bytes, saveName);
            say(`Saved ${sizeText(bytes.length)}, unencrypted, to the downloads of the browser.`);
        }), { class: 'small', title: 'Save as a file, unencrypted' });
        tools.append(...(attachment ? [save, show] : [show, copy, save]));
        return row;
    }

    /** Copies the result of `fetch` if it is text. */
    async #copy(fetch, name) {
        const fetchText = async () => {
            const { bytes } = await fetch();
            const text = decoded(bytes);
            bytes.fill(0);
            if (text === undefined) throw new ReaderError({ status: 'not-text' });
            return text;
        };
        try {
            await this.#clipboard.copy(fetchText(), name);
        } catch (error) {
            say(sentence(error));
        }
    }

    /** The one-time code, with a countdown, renewed while it is visible. */
    #code(item) {
        const digits = make('output', { class: 'code' });
        const left = make('span', { class: 'quiet' });
        const place = make('div', { class: 'value', hidden: true }, digits, ' ', left);
        const tools = make('span', { class: 'tools' });
        let ends = 0;
        const renew = async () => {
            const { code, remaining } = await this.#client.call('code', { key: item.key });
            digits.textContent = code;
            ends = Date.now() + remaining * 1000;
            return code;
        };
        const tick = async () => {
            if (Date.now() >= ends) await renew();
            left.textContent = `${Math.max(0, Math.ceil((ends - Date.now()) / 1000))} s left`;
        };
        const attempt = (use) => async () => {
            try {
                await use();
            } catch (error) {
                this.#stop();
                place.replaceChildren(make('span', { class: 'problem' }, sentence(error)));
                place.hidden = false;
            }
        };
        const show = attempt(async () => {
            this.#stop();
            const run = this.#run;
            await renew();
            await tick();
            if (run !== this.#run) return; // something else is shown now
            place.hidden = false;
            this.#countdown = setInterval(attempt(tick), 1000);
        });
        const copy = attempt(() => this.#clipboard.copy(renew(), 'the code'));
        tools.append(button('Show', show, { class: 'small' }), button('Copy', copy, { class: 'small' }));
        return this.#row('one-time code', place, tools);
    }

    #earlier(item) {
        const place = make('div', { class: 'earlier' });
        const load = button('Show earlier values', async () => {
            try {
                const values = await this.#client.call('earlier', { key: item.key });
                load.remove();
                place.append(...this.#earlierRows(item, values));
            } catch (error) {
                place.replaceChildren(make('span', { class: 'problem' }, sentence(error)));
            }
        }, { class: 'small' });
        place.append(load);
        return place;
    }

    #earlierRows(item, values) {
        const rows = [make('h3', {}, 'Earlier values')];
        if (values.length === 0) rows.push(make('p', { class: 'quiet' }, 'This page cannot show any.'));
        for (const value of values) {
            const { index, kind, name, hasSecret, text } = value;
            const field = kind === 'attribute' ? visible(name) : fieldName(kind);
            const what = make('span', {}, field, quiet(` ${ageOf(value)}`));
            if (hasSecret) {
                const fetch = () => this.#client.call('earlierSecret', { key: item.key, index });
                rows.push(this.#protected(what, fetch, kind === 'attribute' ? name : `earlier ${kind}`));
            } else {
                rows.push(this.#plain(what, text === undefined ? make('i', {}, 'not kept') : visible(text), text));
            }
        }
        return rows;
    }

    /** Makes a row: a group named by its first part, which gives its buttons a context for screen readers. */
    #row(name, content, tools) {
        const id = `name-${++this.#rows}`;
        const label = make('div', { class: 'name', id }, name);
        return make('div', { class: 'value-row', role: 'group', 'aria-labelledby': id }, label, content, tools);
    }

    #stop() {
        this.#run += 1;
        clearInterval(this.#countdown);
        this.#countdown = undefined;
    }
}
