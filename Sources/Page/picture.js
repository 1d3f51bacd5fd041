// A picture of the file before a factor is entered: all frames in place and to scale, as anyone can see them.

import { byId, make } from './dom.js';
import { KINDS } from './layout.js';
import { sentence } from './messages.js';
import { sizeText } from './text.js';

const ROWS = 12;
const ROW_HEIGHT = 16;
const GAP = 3;
const MOST_APART = 3; // pixels: narrower frames are drawn without a gap between them

function plural(name, count) {
    return count === 1 || name === 'zeros' || name === 'not understood' ? name : `${name}s`;
}

export class Picture {
    #details = byId('layout');
    #canvas = byId('layout-canvas');
    #read;
    #size = 0;
    #stretches = [];

    constructor() {
        this.#details.addEventListener('toggle', () => {
            this.#load().catch(() => {
                byId('layout-text').textContent = sentence({ status: 'io' });
            });
        });
        this.#canvas.addEventListener('pointermove', (event) => this.#describe(event));
        new ResizeObserver(() => this.#draw()).observe(this.#canvas);
        matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#draw());
    }

    /**
     * Prepares a picture; `read` returns its contents, {size, stretches}, and is called when the picture is opened.
     */
    show(read) {
        this.#read = read;
        this.#stretches = [];
        this.#details.open = false;
    }

    async #load() {
        if (!this.#details.open || this.#stretches.length > 0) return;
        const read = this.#read;
        const { size, stretches } = await read();
        if (read !== this.#read) return; // another vault was chosen in the meantime
        this.#size = size;
        this.#stretches = stretches;
        this.#tell();
        this.#draw();
    }

    /** The same as numbers, for people who cannot see the picture. */
    #tell() {
        const counts = KINDS.map(() => ({ number: 0, bytes: 0 }));
        for (const { kind, length } of this.#stretches) {
            counts[kind].number++;
            counts[kind].bytes += length;
        }
        const rows = [];
        counts.forEach(({ number, bytes }, kind) => {
            if (number === 0) return;
            const swatch = make('span', { class: `swatch kind-${kind}`, 'aria-hidden': 'true' });
            const name = make('th', { scope: 'row' }, swatch, plural(KINDS[kind].name, number));
            rows.push(make('tr', {}, name, make('td', {}, String(number)), make('td', {}, sizeText(bytes))));
        });
        byId('layout-table').replaceChildren(...rows);
        const commits = counts[7].number;
        byId('layout-text').textContent =
            `${sizeText(this.#size)}, ${commits} ${plural('commit', commits)} since the vault was created or compacted.` +
            ' Contents, names and exact lengths are encrypted; the number of frames and their padded lengths are not.';
    }

    /** Calls `use` with each rectangle of a stretch: one for each row that it touches. */
    #rectangles({ offset, length }, width, use) {
        const perRow = this.#size / ROWS;
        const end = offset + length;
        for (let row = Math.floor(offset / perRow); row < ROWS && row * perRow < end; row++) {
            const from = Math.max(offset - row * perRow, 0);
            const to = Math.min(end - row * perRow, perRow);
            use((from / perRow) * width, row * (ROW_HEIGHT + GAP), ((to - from) / perRow) * width);
        }
    }

    #draw() {
        const width = this.#canvas.clientWidth;
        if (this.#stretches.length === 0 || width === 0) return;
        const scale = window.devicePixelRatio || 1;
        this.#canvas.width = width * scale;
        this.#canvas.height = (ROWS * (ROW_HEIGHT + GAP) - GAP) * scale;
        const context = this.#canvas.getContext('2d');
        context.scale(scale, scale);
        const style = getComputedStyle(this.#canvas);
        const colours = KINDS.map((_, kind) => style.getPropertyValue(`--kind-${kind}`));
        for (const stretch of this.#stretches) {
            context.fillStyle = colours[stretch.kind];
            this.#rectangles(stretch, width, (x, y, long) => {
                context.fillRect(x, y, long > MOST_APART ? long - 1 : long, ROW_HEIGHT);
            });
        }
    }

    #describe({ offsetX, offsetY }) {
        const row = Math.floor(offsetY / (ROW_HEIGHT + GAP));
        const at = ((row + offsetX / this.#canvas.clientWidth) * this.#size) / ROWS;
        const found = this.#stretches.find((one) => at >= one.offset && at < one.offset + one.length);
        if (!found) return;
        const { kind, offset, length } = found;
        byId('layout-point').textContent = `${KINDS[kind].name}, ${sizeText(length)}, at byte ${offset}`;
    }
}
