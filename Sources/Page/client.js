// Calls to the worker that holds the reader. Terminating the worker is the surest way to release its memory.

/** An error reported by the reader, with the name of its status and the cost of the slot that exceeds the limits. */
export class ReaderError extends Error {
    constructor({ status, message, kdf }) {
        super(message ?? status);
        this.status = status;
        this.cost = kdf;
    }
}

export class Client {
    #worker;
    #failed;
    #waiting = new Map();
    #next = 1;

    /** Starts a worker from the text embedded in the page. `failed` is called if it stops by itself. */
    constructor(text, failed) {
        const address = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
        this.#worker = new Worker(address);
        this.#failed = failed;
        URL.revokeObjectURL(address);
        this.#worker.onmessage = ({ data }) => this.#answer(data);
        this.#worker.onerror = (event) => {
            event.preventDefault(); // no console message, which could quote contents of the vault
            this.end('reader-failed');
            failed();
        };
    }

    /** Sends a request; `progress` is called with each report that the worker sends before its answer. */
    call(name, values = {}, { transfer = [], progress } = {}) {
        if (!this.#worker) return Promise.reject(new ReaderError({ status: 'ended' }));
        const id = this.#next++;
        return new Promise((resolve, reject) => {
            this.#waiting.set(id, { resolve, reject, progress });
            this.#worker.postMessage({ id, call: name, ...values }, transfer);
        });
    }

    end(status = 'ended') {
        this.#worker?.terminate();
        this.#worker = undefined;
        for (const { reject } of this.#waiting.values()) reject(new ReaderError({ status }));
        this.#waiting.clear();
    }

    #answer({ id, result, error, progress }) {
        const waiting = this.#waiting.get(id);
        if (!waiting) return;
        if (progress) {
            waiting.progress?.(progress);
            return;
        }
        this.#waiting.delete(id);
        if (error) waiting.reject(new ReaderError(error));
        else waiting.resolve(result);
        if (error?.status === 'reader-failed') {
            this.end('reader-failed');
            this.#failed();
        }
    }
}
