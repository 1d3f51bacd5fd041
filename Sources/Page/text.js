// How hostile text is shown. A name in a vault can be any text: it can reverse the text after it, hide characters, or
// stack marks over its neighbours. Invisible characters are replaced with marks that name them.

const INVISIBLE = new RegExp(
    '[\\p{C}\\p{Zl}\\p{Zp}\\u034F\\u115F\\u1160\\u17B4\\u17B5\\u180B-\\u180F\\u2800\\u3164' +
        '\\uFE00-\\uFE0F\\uFFA0\\u{E0100}-\\u{E01EF}]|(?![ \\u3000])\\p{Zs}',
    'u',
);
const JOINER = /[\u200C\u200D]/u;
const JOINED = /[\p{L}\p{M}\p{Emoji_Presentation}\p{Extended_Pictographic}\uFE0F]/u;
const SELECTOR = /[\uFE0E\uFE0F]/u;
const PICTURE = /[\p{Extended_Pictographic}#*0-9]/u;
const ASCII = /^[\x00-\x7F]$/u;

/** Whether `character` must be marked. Joiners are part of many scripts and of emoji, and stay where needed. */
function isMarked(character, previous) {
    if (!INVISIBLE.test(character)) return false;
    if (JOINER.test(character)) return !(JOINED.test(previous) && !ASCII.test(previous));
    if (SELECTOR.test(character)) return !PICTURE.test(previous);
    return true;
}

function markFor(character) {
    const code = character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0');
    const mark = document.createElement('span');
    mark.className = 'mark';
    mark.textContent = `U+${code}`;
    return mark;
}

/**
 * Returns `text` in a <bdi>, with marks. `lines` keeps line feeds and tabs, for values of several lines; `limit` is the
 * maximum number of characters.
 */
export function visible(text, { lines = false, limit = Infinity } = {}) {
    const whole = document.createElement('bdi');
    whole.dir = 'auto';
    let plain = '';
    let previous = '';
    let count = 0;
    const flush = () => {
        if (plain !== '') whole.append(plain);
        plain = '';
    };
    for (const character of text) {
        if (++count > limit) {
            plain += '…';
            break;
        }
        const kept = lines && (character === '\n' || character === '\t');
        if (!kept && isMarked(character, previous)) {
            flush();
            whole.append(markFor(character));
        } else {
            plain += character;
        }
        previous = character;
    }
    flush();
    return whole;
}

/** The form in which searches compare texts: without case, width, and the accents of Latin, Greek and Cyrillic. */
export function folded(text) {
    return text.normalize('NFKD').replace(/[\u0300-\u036F]/gu, '').toLowerCase();
}

/** Returns the text that `bytes` encode in UTF-8; undefined if they are not valid UTF-8. */
export function decoded(bytes) {
    try {
        return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
        return undefined;
    }
}

export function hex(bytes, limit = Infinity) {
    let text = '';
    for (let i = 0; i < bytes.length && i < limit; i++) text += bytes[i].toString(16).padStart(2, '0');
    return bytes.length > limit ? `${text}…` : text;
}

/** A human-readable size: in whole bytes below 1 KiB, otherwise with three digits. */
export function sizeText(bytes) {
    if (bytes < 1024) return `${bytes} B`;
    const units = ['KiB', 'MiB', 'GiB'];
    let value = bytes;
    let unit = -1;
    while (value >= 1024 && unit < units.length - 1) {
        value /= 1024;
        unit++;
    }
    return `${value >= 100 ? Math.round(value) : Number(value.toPrecision(3))} ${units[unit]}`;
}

const TIMES = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** A time in the user's time zone and language. A vault's times can exceed the range of the browser's calendar. */
export function timeText(milliseconds) {
    const date = new Date(Number(milliseconds));
    return Number.isNaN(date.getTime()) ? `${milliseconds} ms after 1970` : TIMES.format(date);
}

export function durationText(milliseconds) {
    if (milliseconds < 1500) return 'about a second';
    const seconds = milliseconds / 1000;
    return seconds < 90 ? `about ${Math.round(seconds)} seconds` : `about ${Math.round(seconds / 60)} minutes`;
}
