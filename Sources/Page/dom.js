// Elements are created here and filled with text nodes only: the page never parses a string as markup.

export const byId = (id) => document.getElementById(id);

/** Creates an element with attributes or event listeners (functions) and children, which are elements or strings. */
export function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (value === undefined || value === false) continue;
        if (typeof value === 'function') element.addEventListener(name, value);
        else element.setAttribute(name, value === true ? '' : String(value));
    }
    element.append(...children);
    return element;
}

export function button(text, action, attributes = {}) {
    return make('button', { type: 'button', click: action, ...attributes }, text);
}

/** Shows one of the sheets that share the page, and hides the others. */
export function showOnly(id) {
    for (const sheet of document.querySelectorAll('body > main')) sheet.hidden = sheet.id !== id;
}

/** Announces a message in the live region, which is visible and is read aloud by screen readers. */
export function say(text) {
    byId('status').textContent = text;
}
