// The worker: answers the page's requests, one after the other, with what Reader returns.
'use strict';

const CALLS = ['load', 'estimate', 'open', 'list', 'secret', 'attribute', 'earlier', 'earlierSecret', 'code', 'lock'];
let pageReader;
let currentRequest;

/** Makes the reader of the module that the page brings. */
function startReader({ wasm }) {
    const module = wasm instanceof WebAssembly.Module ? wasm : new WebAssembly.Module(wasm);
    pageReader = new Reader(module, (progress) => self.postMessage({ id: currentRequest, progress }));
    return {};
}

function answerTo({ call, ...values }) {
    if (call === 'start') return startReader(values);
    if (!pageReader) throw new ReaderError('not-loaded', 'The reader has not been started.');
    if (!CALLS.includes(call)) throw new ReaderError('invalid-argument', 'There is no such request.');
    return pageReader[call](values);
}

/** Describes an error; one that is not the reader's own is a defect here, and its text could quote a secret. */
function described(error) {
    if (error instanceof ReaderError) return { status: error.status, message: error.message, ...error.more };
    return { status: 'reader-failed', message: `The reader has failed (${error?.name}).` };
}

/** Overwrites what a request brought to open the vault. Strings cannot be overwritten. */
function forgetFactors({ keyFile, rawKey }) {
    for (const bytes of [keyFile, rawKey]) if (bytes instanceof Uint8Array) bytes.fill(0);
}

/** Answers one request. */
async function answerRequest(data) {
    currentRequest = data.id;
    try {
        const result = await answerTo(data);
        // Bytes are handed over, not copied: nothing of them stays here.
        const handed = result.bytes instanceof Uint8Array ? [result.bytes.buffer] : [];
        self.postMessage({ id: data.id, result }, handed);
    } catch (error) {
        self.postMessage({ id: data.id, error: described(error) });
    } finally {
        forgetFactors(data);
    }
}

let answered = Promise.resolve();
self.onmessage = ({ data }) => {
    // One after the other, also where the browser makes an answer wait.
    answered = answered.then(() => answerRequest(data));
};
