// The worker: answers the page's requests, one after the other, with the results of Reader.
'use strict';

const CALLS = ['load', 'estimate', 'open', 'list', 'secret', 'attribute', 'earlier', 'earlierSecret', 'code', 'lock'];
let pageReader;
let currentRequest;

/** Creates the reader from the module that the page sends. */
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

/** Describes an error; any error that is not the reader's own is a bug, and its text could quote a secret. */
function described(error) {
    if (error instanceof ReaderError) return { status: error.status, message: error.message, ...error.more };
    return { status: 'reader-failed', message: `The reader has failed (${error?.name}).` };
}

/** Overwrites the factors that a request contained. Strings cannot be overwritten. */
function forgetFactors({ keyFile, rawKey }) {
    for (const bytes of [keyFile, rawKey]) if (bytes instanceof Uint8Array) bytes.fill(0);
}

/** Answers one request. */
async function answerRequest(data) {
    currentRequest = data.id;
    try {
        const result = await answerTo(data);
        // Bytes are transferred, not copied, so none of them remain here.
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
    // One after the other, even where an answer has to wait for the browser.
    answered = answered.then(() => answerRequest(data));
};
