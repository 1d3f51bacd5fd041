// Loads what the page's worker is made of into node: classic scripts, in the order in which they are joined.
import { readFileSync } from 'node:fs';
import { runInThisContext } from 'node:vm';

const sources = new URL('../../Sources/Page/', import.meta.url);
const SCRIPTS = ['reader-unicode.js', 'reader-module.js', 'reader-codes.js', 'reader.js'];

const text = SCRIPTS.map((name) => readFileSync(new URL(name, sources), 'utf8')).join('\n');
export const scripts = runInThisContext(
    `${text}\n({ Reader, ReaderModule, ReaderError, passphraseBytes, normalised, unassignedByUnicode13, oneTimeCode, ` +
        'textOf, hexOf, bytesOfHex })',
    { filename: 'worker' },
);
export const workerText = `${text}\n${readFileSync(new URL('worker.js', sources), 'utf8')}`;
export const wasm = readFileSync(new URL('reader.wasm', sources));
export const module = new WebAssembly.Module(wasm);
