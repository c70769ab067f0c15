/** The scale of the shades, with its numbers. */

import { html } from "../vendor/lit-html.js";
import { SHADES, shadeEnds } from "../core/scale.js";
import { MINUS } from "../core/numbers.js";

/** @param {number} scale @param {string} target */
export function legend(scale, target) {
  const ends = shadeEnds(scale).map((end) => String(Number(end.toPrecision(2))));
  const steps = [...Array(SHADES).keys()];
  return html`<div class="legend" role="note" aria-label="Scale of the shades">
    <span class="ends">${MINUS} against <bdi>${target}</bdi></span>
    <span class="steps">
      ${steps.map((i) => html`<span><i class="n${SHADES - i}"></i><b>${MINUS}${ends[SHADES - 1 - i]}</b></span>`)}
      <span><i></i><b>0</b></span>
      ${steps.map((i) => html`<span><i class="p${i + 1}"></i><b>+${ends[i]}</b></span>`)}
    </span>
    <span class="ends">+ for <bdi>${target}</bdi></span>
  </div>`;
}
