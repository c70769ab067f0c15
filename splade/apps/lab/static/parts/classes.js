/** What was decided, and the classes with their probabilities: choosing one explains its logit. */

import { html, nothing } from "../vendor/lit-html.js";
import { percentages } from "../core/numbers.js";
import { shareBar } from "./bars.js";

/** Classes shown before the others are folded. */
const SHOWN = 5;

/** @typedef {import("../core/types.js").Sum} Sum */

/** The decision as a sentence. @param {Sum} now @param {Sum | null} before */
export function verdict(now, before) {
  const percent = percentages(now.probabilities);
  const was = before && percentages(before.probabilities);
  return html`<h2 class="verdict" tabindex="-1"><bdi>${now.label}</bdi> <span class="n">${percent.get(now.label)}</span>
    ${before && was ? html`<small>${before.label === now.label ? html`was ${was.get(before.label)}` : html`was
      <bdi>${before.label}</bdi> ${was.get(before.label)}`}</small>` : nothing}</h2>`;
}

/** @param {Sum} now @param {Sum | null} before @param {boolean} all @param {(label: string) => void} choose @param {() => void} showAll */
export function classes(now, before, all, choose, showAll) {
  const percent = percentages(now.probabilities);
  const was = before && percentages(before.probabilities);
  const names = [...percent.keys()];
  const first = before ?? now;
  if (names.length > SHOWN) names.sort((a, b) => first.probabilities[b] - first.probabilities[a]);
  const kept = all ? names : names.filter((name, i) => i < SHOWN || name === now.target || name === now.label);
  return html`<fieldset class="classes"><legend>Explain the logit of</legend>
    ${kept.map(
      (
        name,
      ) => html`<label><input type="radio" name="class" .checked=${name === now.target} @change=${() => choose(name)}>
        <bdi>${name}</bdi>${shareBar(now.probabilities[name])}<span class="n">${percent.get(name)}</span>
        ${was ? html`<span class="n was">${was.get(name)}</span>` : nothing}</label>`,
    )}
    ${kept.length < names.length ? html`<button type="button" class="quiet" @click=${showAll}>All ${names.length}
      classes</button>` : nothing}
  </fieldset>`;
}
