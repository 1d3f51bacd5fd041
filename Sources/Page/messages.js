// One plain sentence for each way in which opening or reading can fail.

import { sizeText } from './text.js';

const SENTENCES = {
    'not-a-vault': 'This file is not a vault.',
    'unsupported-version': 'This vault uses a newer format than this page can read.',
    'header-invalid':
        'The beginning of this file is damaged; ‘vaultfmt salvage’ may recover the vault from the copy in the file.',
    'no-slot-opens':
        'No slot opens with these factors: check the passphrase, the keyboard layout and the files.',
    foreign: 'This vault does not belong to the expected owners.',
    'authentication-failed': 'The file is damaged or was changed: a part of it does not authenticate.',
    'structure-invalid': 'The vault has an invalid structure, so it is not shown.',
    'unsupported-form': 'This value is stored in a form that this page does not support.',
    'device-bound': 'This value can be read only on the device to which it is bound.',
    'no-key': 'The key that opened the vault does not grant this.',
    'no-secret': 'There is no such value.',
    'not-text': 'This value is not text: save it instead.',
    'not-found': 'There is no such item.',
    'out-of-budget': 'This needs more memory than the page may use.',
    io: 'The file cannot be read; choose it again.',
    'too-large': 'This file is larger than 1 GiB, which is too large for this page; use the command ‘vaultfmt’.',
    'invalid-argument': 'This input is not valid.',
    'invalid-anchor': 'This is not an anchor: it has six parts, separated by colons, as vaultfmt anchor prints them, without line breaks.',
    'no-hash': 'This browser can generate one-time codes only on pages opened from a file or over HTTPS.',
    'reader-failed': 'The reader stopped unexpectedly, so the vault was locked.',
    'cannot-start': 'This browser cannot run the reader, which needs WebAssembly in a worker.',
    'page-damaged': 'The vault in this page is damaged or incomplete; get the file again.',
};

export function costText({ memoryKiB, passes, lanes }) {
    const parts = [sizeText(memoryKiB * 1024), passes === 1 ? '1 pass' : `${passes} passes`];
    if (lanes > 1) parts.push(`${lanes} lanes`);
    return parts.join(', ');
}

/** Returns the sentence for an error of the reader. Unknown errors are described by their names. */
export function sentence(error, { limitKiB, cost: expected } = {}) {
    const asked = error.cost ?? expected;
    if (error.status === 'kdf-limit') {
        const cost = asked ? costText(asked) : 'more';
        return asked?.memoryKiB > limitKiB
            ? `Opening this vault costs ${cost}; the limit for this device is ${sizeText(limitKiB * 1024)}.`
            : `Opening this vault costs ${cost}, which is more work than this page accepts.`;
    }
    if (error.status === 'crypto-failed') {
        const needed = asked ? `${sizeText(asked.memoryKiB * 1024)} of memory` : 'memory';
        return `This browser did not provide the ${needed} needed to open this vault.`;
    }
    if (error.status === 'unsupported-critical') {
        return 'This vault requires an extension that this page does not support.';
    }
    if (error.status === 'no-code') return error.message; // which describes the problem with the item's setup
    return SENTENCES[error.status] ?? `The reader failed (${error.status ?? 'no reason known'}).`;
}

/** A message about the state that is shown; undefined if none is needed. */
export function stateNotice(state) {
    return {
        newest: undefined,
        none: undefined,
        torn: 'The last change to this file was interrupted; the state before it is shown.',
        incomplete: 'The newest change in this file is incomplete; the state before it is shown.',
        damaged: 'The end of this file is damaged; the last state that can be read is shown, and later changes may be lost.',
    }[state];
}

/** A number of items, in words. */
export const itemsText = (count) => (count === 1 ? '1 item' : `${count} items`);

const VERDICTS = {
    same: 'The vault is in exactly the state of the anchor.',
    descends: 'The vault continues from the state of the anchor.',
    older: 'This vault is older than the anchor: it was rolled back, or this is an old copy.',
    forked: 'This vault and the anchor have diverged: each has changes that the other lacks.',
    foreign: 'This vault belongs to different owners than the anchor: it may be a replacement.',
    'other-vault': 'The anchor belongs to another vault.',
};

/** Describes a comparison with an anchor; `accept` is true for the two verdicts that need no decision. */
export function verdictNotice(verdict) {
    return {
        accept: verdict === 'same' || verdict === 'descends',
        text: VERDICTS[verdict] ?? 'The vault could not be compared with the anchor.',
    };
}
