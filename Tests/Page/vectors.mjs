// Conformance vectors by name: the vault's bytes, and the factors in the header.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../../Spec/vectors/', import.meta.url));
const paths = new Map(
    readdirSync(folder, { recursive: true })
        .filter((path) => path.endsWith('.vector'))
        .map((path) => [path.split(/[/\\]/).at(-1).slice(0, -'.vector'.length), join(folder, path)]),
);

export function vector(name) {
    const bytes = readFileSync(paths.get(name));
    const end = bytes.indexOf('\n\n');
    const header = new Map(bytes.subarray(0, end).toString().split('\n').map((line) => line.split(/: (.*)/s, 2)));
    const hex = (key) => (header.has(key) ? new Uint8Array(Buffer.from(header.get(key), 'hex')) : undefined);
    const passphrase = hex('passphrase');
    return {
        bytes: new Uint8Array(bytes.subarray(end + 2)),
        keyFile: hex('key-file'),
        rawKey: hex('raw-key'),
        passphrase: passphrase && new TextDecoder('utf-8', { ignoreBOM: true }).decode(passphrase),
    };
}
