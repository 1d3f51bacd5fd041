// The frames of a vault (specification, section 2), which are visible without a factor. Nothing here is authenticated.

/** The kinds of stretches of the file, by index: a name and, for frames, the type at its beginning. */
export const KINDS = [
    { name: 'header' },
    { name: 'copy of the header' },
    { name: 'record', type: 'vREC', least: 208, most: 20 << 20 },
    { name: 'page', type: 'vPAG', least: 256, most: 65_536 },
    { name: 'past', type: 'vPST', least: 256, most: 2 << 20 },
    { name: 'keyring', type: 'vKEY', least: 256, most: 4 << 20 },
    { name: 'vector', type: 'vVEC', least: 256, most: 4 << 20 },
    { name: 'commit', type: 'vCMT', least: 512, most: 512 },
    { name: 'zeros' },
    { name: 'not understood' },
];
const HEADER = 0;
const COPY = 1;
const ZEROS = 8;
const UNKNOWN = 9;
const BY_TYPE = new Map();
KINDS.forEach(({ type }, kind) => {
    if (type) BY_TYPE.set([...type].reduce((number, letter) => number * 256 + letter.charCodeAt(0), 0), kind);
});

/** The kind and the length of the frame at `offset`; undefined if no valid frame is there. */
function frameAt(view, offset) {
    if (offset + 8 > view.byteLength) return undefined;
    const kind = BY_TYPE.get(view.getUint32(offset));
    if (kind === undefined) return undefined;
    const length = view.getUint32(offset + 4, true);
    const { least, most } = KINDS[kind];
    return length >= least && length <= most && offset + length <= view.byteLength ? { kind, length } : undefined;
}

function zerosAt(bytes, offset) {
    let end = offset;
    while (end < bytes.length && bytes[end] === 0) end++;
    return end - offset;
}

/** The stretches of an outline, which consists of a kind and a length for each. */
export function layoutOfOutline(numbers) {
    const stretches = [];
    let offset = 0;
    for (let index = 0; index + 1 < numbers.length; index += 2) {
        const [kind, length] = [numbers[index], numbers[index + 1]];
        stretches.push({ kind, offset, length });
        offset += length;
    }
    return stretches;
}

/** Divides a vault whose header was read into stretches {kind, offset, length}, in order and without gaps. */
export function layoutOf(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const header = view.getUint32(12, true);
    const stretches = [
        { kind: HEADER, offset: 0, length: header },
        { kind: COPY, offset: header, length: header },
    ];
    let offset = 2 * header;
    while (offset < bytes.length) {
        const found = frameAt(view, offset) ?? { kind: ZEROS, length: zerosAt(bytes, offset) };
        if (found.length === 0) {
            stretches.push({ kind: UNKNOWN, offset, length: bytes.length - offset });
            break;
        }
        stretches.push({ kind: found.kind, offset, length: found.length });
        offset += found.length;
    }
    return stretches;
}
