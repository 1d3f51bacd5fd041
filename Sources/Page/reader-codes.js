// One-time codes (RFC 6238) from `otpauth:` addresses, equal to those of `vaultfmt otp`.
'use strict';

const HASHES = { SHA1: 'SHA-1', SHA256: 'SHA-256', SHA512: 'SHA-512' };
const STEAM_LETTERS = '23456789BCDFGHJKMNPQRTVWXY';
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

function noCode(reason) {
    return new ReaderError('no-code', `The item's one-time codes cannot be shown: ${reason}.`);
}

/** Decodes Base32 as people copy it: ignores case, white space, hyphens, padding and leftover bits. */
function base32Decoded(text) {
    const out = [];
    let bits = 0;
    let count = 0;
    for (const letter of text.replace(/[\s=-]/g, '').toUpperCase()) {
        const value = BASE32.indexOf(letter);
        if (value < 0) throw noCode('its secret is not Base32, which consists of letters and the digits 2 to 7');
        bits = ((bits << 5) | value) & 0xfff;
        count += 5;
        if (count < 8) continue;
        count -= 8;
        out.push((bits >> count) & 0xff);
    }
    if (out.length === 0) throw noCode('its secret is truncated');
    return Uint8Array.from(out);
}

/** Decodes percent escapes; an incomplete one is kept, and fails where the value is used. */
function percentDecoded(text) {
    try {
        return decodeURIComponent(text);
    } catch {
        return text;
    }
}

/** The parameters of an address, by lower-case name. */
function addressParameters(address) {
    const [start, ...query] = address.trim().split('?');
    const type = start.toLowerCase();
    if (!type.startsWith('otpauth://')) throw noCode('it is not an otpauth: address');
    if (type.startsWith('otpauth://hotp')) throw noCode('they are counter-based, and only time-based ones are known');
    if (!type.startsWith('otpauth://totp')) throw noCode('its type is not totp');
    const parameters = new Map();
    for (const part of query.join('?').split('&')) {
        const sign = part.indexOf('=');
        if (sign < 0) continue;
        const name = part.slice(0, sign).toLowerCase();
        if (name === 'secret' && parameters.has(name)) throw noCode('it has two secrets');
        parameters.set(name, percentDecoded(part.slice(sign + 1)));
    }
    return parameters;
}

function codeNumber(text, usual, least, greatest, reason) {
    if (text === undefined) return usual;
    const number = /^\+?\d{1,9}$/.test(text) ? Number(text) : NaN;
    if (!(number >= least && number <= greatest)) throw noCode(reason);
    return number;
}

/** The key and the parameters in an address. */
function codeSetup(address) {
    const parameters = addressParameters(address);
    const secret = parameters.get('secret');
    if (!secret) throw noCode('it has no secret');
    const isSteam = parameters.get('encoder')?.toLowerCase() === 'steam';
    // Some sites write HMAC-SHA-256 or SHA-256.
    const name = (parameters.get('algorithm') ?? 'SHA1').toUpperCase().replaceAll('-', '').replace(/^HMAC/, '');
    if (!Object.hasOwn(HASHES, name)) throw noCode('its algorithm is not SHA1, SHA256 or SHA512');
    const digits = isSteam ? 5 : codeNumber(parameters.get('digits'), 6, 6, 8, 'its number of digits is not 6, 7 or 8');
    const period = codeNumber(parameters.get('period'), 30, 1, 86400, 'its period is not 1 to 86400 seconds');
    return { key: base32Decoded(secret), hash: HASHES[name], digits, period, isSteam };
}

/** Truncates a MAC to a code (RFC 4226, section 5.3). Steam writes the least significant letter first. */
function codeText(mac, digits, isSteam) {
    const start = mac.at(-1) & 0x0f;
    const letters = isSteam ? STEAM_LETTERS : '0123456789';
    let number = new DataView(mac.buffer, mac.byteOffset).getUint32(start) & 0x7fffffff;
    let text = '';
    for (let place = 0; place < digits; place += 1) {
        const letter = letters[number % letters.length];
        text = isSteam ? text + letter : letter + text;
        number = Math.floor(number / letters.length);
    }
    return text;
}

/**
 * The HMAC of a message, computed by the browser, because libsodium, which is used for everything else here, lacks
 * SHA-1. The browser keeps its copy of the key where no page can overwrite it.
 */
async function browserHmac(hash, key, message) {
    const subtle = globalThis.crypto?.subtle;
    if (!subtle) {
        throw new ReaderError('no-hash', 'This browser makes one-time codes only in pages opened from a file or over HTTPS.');
    }
    const imported = await subtle.importKey('raw', key, { name: 'HMAC', hash }, false, ['sign']);
    return new Uint8Array(await subtle.sign('HMAC', imported, message));
}

/** The code of an address at a time in seconds since 1970. */
async function oneTimeCode(address, seconds, hmac = browserHmac) {
    const { key, hash, digits, period, isSteam } = codeSetup(address);
    const message = new Uint8Array(8);
    new DataView(message.buffer).setBigUint64(0, BigInt(Math.floor(seconds / period)));
    let mac;
    try {
        mac = await hmac(hash, key, message);
    } finally {
        key.fill(0);
    }
    const code = codeText(mac, digits, isSteam);
    mac.fill(0);
    return { code, period, remaining: period - (Math.floor(seconds) % period) };
}
