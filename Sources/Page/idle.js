// Locks after a while without input. This compares clock times, because timers stop while a device sleeps.

const EVENTS = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart', 'input'];
const EVERY = 5000;

export class Idle {
    #last = 0;
    #timer;
    #minutes = 5;
    #expired;

    constructor(expired) {
        this.#expired = expired;
        for (const name of EVENTS) window.addEventListener(name, () => this.#touch(), { passive: true, capture: true });
        document.addEventListener('visibilitychange', () => this.#check());
    }

    set minutes(minutes) {
        this.#minutes = minutes;
    }

    start() {
        this.stop();
        this.#last = Date.now();
        this.#timer = setInterval(() => this.#check(), EVERY);
    }

    stop() {
        clearInterval(this.#timer);
        this.#timer = undefined;
    }

    /** Input counts only before the time is up: the first key press after a sleep must not keep the vault open. */
    #touch() {
        if (!this.#check()) this.#last = Date.now();
    }

    #check() {
        if (this.#timer === undefined || Date.now() - this.#last < this.#minutes * 60_000) return false;
        this.stop();
        this.#expired();
        return true;
    }
}
