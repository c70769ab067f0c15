/** What is said beside the answers: that something went wrong, that it takes time, how far the test texts are read. */

import { html, nothing } from "../vendor/lit-html.js";
import { grouped } from "../core/numbers.js";

/** @param {string} said */
export function problem(said) {
  return said ? html`<p class="problem" role="alert">${said}</p>` : nothing;
}

/** @param {import("../core/types.js").Survey} survey */
export function progress(survey) {
  if (!survey.available) return html`<p class="note">${survey.reason}</p>`;
  const [read, texts] = [grouped(survey.read), grouped(survey.texts)];
  const of = survey.of > survey.texts ? `${texts} of the run's ${grouped(survey.of)}` : `the run's ${texts}`;
  if (survey.done) return html`<p class="note">From ${of} test texts.</p>`;
  return html`<p class="note">
    <progress max=${survey.texts} value=${survey.read} aria-label="Test texts read"></progress>
    ${read} of ${texts} test texts are read so far; the figures grow with them.
  </p>`;
}

/** While the first answer is awaited; drawn late, so that it does not flash. @param {boolean} busy */
export function waiting(busy) {
  return busy ? html`<p class="waiting note">Asking the model\u2026</p>` : nothing;
}
