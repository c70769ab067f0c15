/** The first minute: three steps, each with a button that does it. */

import { html, nothing } from "../vendor/lit-html.js";

/** @typedef {object} Shown
 * @property {string} label What was decided of the example.
 * @property {string} strongest The word that says most.
 * @property {boolean} chosen Whether a word was chosen.
 * @property {boolean} removed Whether something was removed.
 * @property {() => void} choose
 * @property {() => void} silence
 * @property {() => void} close */

/** @param {Shown} shown */
export function guide(shown) {
  const at = shown.removed ? 2 : shown.chosen ? 1 : 0;
  const word = html`\u201c<bdi>${shown.strongest}</bdi>\u201d`;
  const steps = [
    html`<b>Read the sum.</b> The model takes this text for <bdi>${shown.label}</bdi>. The table is the whole reason:
      every word adds or takes away, and the last line is what the model decides by. Nothing is left out.
      ${at === 0 ? html`<button type="button" class="primary" @click=${shown.choose}>Choose ${word}</button>` : nothing}`,
    html`<b>Choose a word.</b> Under its line are the tokens that it spoke through, and beside the table the ways to
      take it away.
      ${at === 1 ? html`<button type="button" class="primary" @click=${shown.silence}>Silence ${word}</button>` : nothing}`,
    html`<b>Watch.</b> What the word had added is gone, and what the others say instead is told apart. Undo, or try your
      own text above.
      ${at === 2 ? html`<button type="button" class="primary" @click=${shown.close}>Got it</button>` : nothing}`,
  ];
  return html`<section class="guide" aria-label="First steps">
    <ol>${steps.map((step, i) => html`<li class=${i === at ? "current" : i < at ? "done" : ""} aria-current=${i === at
      ? "step" : nothing}>${step}</li>`)}</ol>
    <button type="button" class="quiet close" @click=${shown.close}>Skip the guide</button>
  </section>`;
}
