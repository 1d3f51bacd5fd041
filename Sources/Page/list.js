// The list: only visible rows have elements, so 10,000 items are as fast as ten.

import { byId, make } from './dom.js';
import { className } from './items.js';
import { visible } from './text.js';

const BEYOND = 6; // rows above and below the visible ones
const LONGEST = 160; // characters of a name in a row; the details show all

function rowText({ item, title, others }) {
    const name = title === '' ? make('i', {}, 'no name') : visible(title, { limit: LONGEST });
    const first = make('span', { class: 'row-title' }, name);
    const second = make('span', { class: 'row-rest' });
    if (item.conflict) second.append(make('span', { class: 'tag' }, `conflict ${item.conflict}`), ' ');
    if (item.class !== 'generic-password') second.append(make('span', { class: 'tag' }, className(item)), ' ');
    others.slice(0, 3).forEach((text, index) => {
        if (index > 0) second.append(' · ');
        second.append(visible(text, { limit: LONGEST }));
    });
    return [first, second];
}

export class List {
    #box = byId('list');
    #space = byId('list-space');
    #entries = [];
    #at = -1;
    #rowHeight = 0;
    #drawn = '';
    #choose;

    /** `choose` is called with an entry when it is activated. */
    constructor(choose) {
        this.#choose = choose;
        this.#box.addEventListener('scroll', () => this.#draw(), { passive: true });
        new ResizeObserver(() => this.#draw()).observe(this.#box);
        this.#box.addEventListener('keydown', (event) => this.key(event));
        this.#box.addEventListener('click', (event) => {
            const row = event.target.closest('[role=option]');
            if (row) this.activate(Number(row.dataset.index));
        });
    }

    get selected() {
        return this.#entries[this.#at];
    }

    /** Shows `entries`, and keeps the selection if it is among them. */
    show(entries) {
        const selected = this.selected;
        this.#entries = entries;
        this.#at = selected ? entries.indexOf(selected) : -1;
        this.#rowHeight = parseFloat(getComputedStyle(this.#box).getPropertyValue('--row')) || 48;
        this.#space.style.height = `${entries.length * this.#rowHeight}px`;
        if (this.#at < 0) this.#box.scrollTop = 0;
        this.#redraw();
    }

    /** Moves the selection with the keyboard; returns whether `event` was meant for the list. */
    key(event) {
        if (event.isComposing || event.altKey || event.ctrlKey || event.metaKey) return false;
        const page = Math.max(1, Math.floor(this.#box.clientHeight / this.#rowHeight) - 1);
        const last = this.#entries.length - 1;
        const inText = event.target instanceof HTMLInputElement;
        const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
        if (!inText) Object.assign(steps, { Home: -Infinity, End: Infinity }); // these keys move within a text field
        if (event.key in steps) this.#select(Math.min(last, Math.max(0, this.#at + steps[event.key])));
        else if (event.key === 'Enter' && last >= 0) this.activate(Math.max(0, this.#at));
        else return false;
        event.preventDefault();
        return true;
    }

    activate(index) {
        this.#select(index);
        if (this.selected) this.#choose(this.selected);
    }

    focus() {
        this.#box.focus();
    }

    #select(index) {
        this.#at = this.#entries.length === 0 ? -1 : index;
        if (this.#at < 0) return;
        const top = this.#at * this.#rowHeight;
        const lowest = top + this.#rowHeight - this.#box.clientHeight;
        this.#box.scrollTop = Math.max(lowest, Math.min(top, this.#box.scrollTop));
        this.#redraw();
    }

    #redraw() {
        this.#drawn = '';
        this.#draw();
    }

    #draw() {
        if (this.#rowHeight === 0) return;
        const first = Math.max(0, Math.floor(this.#box.scrollTop / this.#rowHeight) - BEYOND);
        const shown = Math.ceil(this.#box.clientHeight / this.#rowHeight) + 2 * BEYOND;
        const end = Math.min(this.#entries.length, first + shown);
        const drawn = `${first} ${end}`;
        if (drawn === this.#drawn) return;
        this.#drawn = drawn;
        const rows = [];
        for (let index = first; index < end; index++) rows.push(this.#row(index));
        this.#space.replaceChildren(...rows);
        const active = this.#at >= first && this.#at < end ? `row-${this.#at}` : '';
        for (const element of [this.#box, byId('search')]) {
            if (active) element.setAttribute('aria-activedescendant', active);
            else element.removeAttribute('aria-activedescendant');
        }
    }

    #row(index) {
        const row = make(
            'div',
            {
                role: 'option',
                id: `row-${index}`,
                class: 'row',
                'data-index': index,
                'aria-selected': String(index === this.#at),
                'aria-setsize': this.#entries.length,
                'aria-posinset': index + 1,
            },
            ...rowText(this.#entries[index]),
        );
        row.style.transform = `translateY(${index * this.#rowHeight}px)`;
        return row;
    }
}
