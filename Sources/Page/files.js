// The bytes embedded in the page, and the files that it saves.

/** Decodes base64 in pieces, to avoid another string of the size of the whole vault. */
export function fromBase64(text) {
    const clean = text.trim();
    const size = Math.floor((clean.length * 3) / 4) - (clean.endsWith('==') ? 2 : clean.endsWith('=') ? 1 : 0);
    const bytes = new Uint8Array(Math.max(size, 0));
    const step = 1 << 16; // a multiple of 4
    let at = 0;
    for (let from = 0; from < clean.length; from += step) {
        const piece = atob(clean.slice(from, from + step));
        for (let i = 0; i < piece.length; i++) bytes[at++] = piece.charCodeAt(i);
    }
    return bytes;
}

const RESERVED = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/i;
const MOST_BYTES = 255;

/** Truncates a name to at most `limit` bytes of UTF-8, between characters. */
function cutToBytes(name, limit) {
    let size = 0;
    let result = '';
    for (const character of name) {
        size += new TextEncoder().encode(character).length;
        if (size > limit) break;
        result += character;
    }
    return result;
}

/**
 * Returns a name that is safe in all common file systems: without separators, control characters or characters that
 * reverse or hide text; not hidden; not a Windows device name; and at most 255 bytes, with its extension preserved.
 */
export function safeName(name, otherwise = 'secret.bin') {
    let safe = name.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '').replace(/[/\\:*?"<>|]/g, '_');
    safe = safe.replace(/^[.\s~-]+/u, '').replace(/[.\s]+$/u, '');
    if (RESERVED.test(safe)) safe = `_${safe}`;
    if (safe === '') return otherwise;
    const dot = safe.lastIndexOf('.');
    const extension = dot > 0 && safe.length - dot <= 16 ? safe.slice(dot) : '';
    const room = MOST_BYTES - new TextEncoder().encode(extension).length;
    return cutToBytes(safe.slice(0, safe.length - extension.length), room) + extension;
}

const addresses = new Set(); // of the files that the browser may still be reading

/** Releases the bytes of all saved files. */
export function forgetFiles() {
    for (const address of addresses) URL.revokeObjectURL(address);
    addresses.clear();
}

/** Offers `bytes` as a download. The browser, not the page, stores the file, unencrypted. */
export function saveFile(bytes, name) {
    const address = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
    const link = document.createElement('a');
    link.href = address;
    link.download = safeName(name);
    addresses.add(address);
    link.click();
    // By then, the browser has begun to read the blob; revoking the address releases the bytes.
    setTimeout(() => {
        URL.revokeObjectURL(address);
        addresses.delete(address);
    }, 60_000);
}
