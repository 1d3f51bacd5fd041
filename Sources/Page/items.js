// What the list and the details need to know about an item of any class.

import { folded, hex } from './text.js';

const CLASSES = {
    'generic-password': 'generic password',
    'internet-password': 'internet password',
};

// The fields of all classes, in display order.
const FIELDS = [
    ['service', 'service'],
    ['server', 'server'],
    ['account', 'account'],
    ['protocol', 'protocol'],
    ['port', 'port'],
    ['path', 'path'],
    ['securityDomain', 'security domain'],
    ['authenticationType', 'authentication type'],
    ['type', 'type'],
    ['issuer', 'issuer'],
    ['serialNumber', 'serial number'],
    ['keyClass', 'key class'],
    ['keyType', 'key type'],
    ['sizeInBits', 'size in bits'],
    ['effectiveSize', 'effective size'],
    ['applicationLabel', 'application label'],
    ['applicationTag', 'application tag'],
];
const ATTACHMENT = 'file:';
const CODES = ['otp', 'sealed:otpauth'];

export const className = (item) => CLASSES[item.class] ?? item.class;
export const isAttachment = (attribute) => attribute.name.startsWith(ATTACHMENT);
export const attachmentName = (attribute) => attribute.name.slice(ATTACHMENT.length);
export const hasCode = (item) => item.attributes.some(({ name }) => CODES.includes(name));

function valueText(value) {
    if (value instanceof Uint8Array) return hex(value, 64);
    return typeof value === 'number' ? String(value) : value;
}

/** The fields of an item that are not empty, as pairs of a name and a text. */
export function fieldsOf(item) {
    const fields = [];
    for (const [member, name] of FIELDS) {
        const value = item[member];
        if (value === undefined || value === '' || value === 0 || value?.length === 0) continue;
        fields.push([name, valueText(value)]);
    }
    (item.texts ?? []).forEach((text, index) => {
        if (text !== '') fields.push([`field ${index + 1}`, text]);
    });
    return fields;
}

/** The title of an item, which is its label or else its first field, and the rest of its name. */
export function titleOf(item) {
    const fields = fieldsOf(item);
    const label = item.label ?? '';
    const title = label !== '' ? label : (fields[0]?.[1] ?? '');
    const others = (label !== '' ? fields : fields.slice(1)).map(([, text]) => text).filter((text) => text !== title);
    return { title, others };
}

/** The text that is searched: everything about an item that can be read without opening a value. */
function searchable(item) {
    const parts = [className(item), item.group ?? '', item.label ?? ''];
    for (const [, text] of fieldsOf(item)) parts.push(text);
    for (const { name, text, concealed } of item.attributes) {
        parts.push(name);
        if (text !== undefined && !concealed) parts.push(text);
    }
    return folded(parts.join('\n'));
}

/** Prepares items for the list, sorted by title. */
export function prepared(items) {
    const order = new Intl.Collator(undefined, { numeric: true });
    const entries = items.map((item) => ({ item, ...titleOf(item), text: searchable(item), opened: '' }));
    const compareOthers = (a, b) => order.compare(a.others.join(' '), b.others.join(' '));
    return entries.sort((a, b) => order.compare(a.title, b.title) || compareOthers(a, b));
}

/** The entries that contain every word of `query`. */
export function matching(entries, query) {
    const words = folded(query).split(/\s+/u).filter((word) => word !== '');
    if (words.length === 0) return entries;
    return entries.filter(({ text, opened }) => words.every((word) => text.includes(word) || opened.includes(word)));
}
