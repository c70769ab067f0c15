/** The box for a text. */

import { html, nothing } from "../vendor/lit-html.js";

/** Examples longer than this are cut where they are offered, not where they are asked. */
const OFFERED = 60;

/** @typedef {object} Shown
 * @property {string} id
 * @property {string} label
 * @property {string} text
 * @property {string} action What the button says; empty: there is no button.
 * @property {boolean} busy
 * @property {string[]} examples
 * @property {(text: string) => void} submit */

/** @param {Shown} shown */
export function asking({ id, label, text, action, busy, examples, submit }) {
  const value = () => /** @type {HTMLTextAreaElement} */ (document.getElementById(id)).value;
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit(value());
  };
  const others = examples.filter((one) => one !== text);
  return html`<form class="asking" @submit=${(/** @type {Event} */ event) => {
    event.preventDefault();
    submit(value());
  }}>
    <label for=${id}>${label}</label>
    <div class="box"><textarea id=${id} rows="2" dir="auto" spellcheck="false" autocomplete="off" .value=${text}
      @keydown=${press}></textarea>
    ${action ? html`<button type="submit" class="primary" aria-busy=${busy}>${action}</button>` : nothing}</div>
    ${others.length ? html`<p class="examples"><span>Or try</span>${others.map((one) => html`<button type="button"
      class="quiet" @click=${() => submit(one)}><bdi>${cut(one)}</bdi></button>`)}</p>` : nothing}
  </form>`;
}

/** @param {string} text */
function cut(text) {
  const letters = [...text];
  return letters.length > OFFERED ? `${letters.slice(0, OFFERED).join("").trimEnd()}\u2026` : text;
}
