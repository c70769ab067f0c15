/** Bars drawn by hand, in percent of their cell: what they show stands in digits beside them. */

import { html, svg, nothing } from "../vendor/lit-html.js";
import { MINUS } from "../core/numbers.js";

/** @param {number} value @param {number} end */
function across(value, end) {
  return 50 + (50 * Math.max(-end, Math.min(end, value))) / end;
}

/** @param {number} number */
function percent(number) {
  return `${Number(number.toFixed(2))}%`;
}

/** A bar from one running total to the next.
 * @param {number} from @param {number} to @param {number} end Where the scale ends on either side.
 * @param {{from: number, to: number} | null} before The same before a removal, as an outline.
 * @param {string} kind */
export function runningBar(from, to, end, before = null, kind = "") {
  const colour = kind || (to >= from ? "plus" : "minus");
  const moved = before && (before.from !== from || before.to !== to);
  return html`<svg class="bar" aria-hidden="true" focusable="false">
    <line class="zero" x1="50%" x2="50%" y1="0" y2="100%"></line>
    ${moved ? box(before.from, before.to, end, "was", before.to >= before.from) : nothing}
    ${box(from, to, end, colour, to >= from)}
    <line class="step" x1=${percent(across(to, end))} x2=${percent(across(to, end))} y1="50%" y2="100%"></line>
    <line class="step" x1=${percent(across(from, end))} x2=${percent(across(from, end))} y1="0" y2=${kind === "total"
      ? "0" : "50%"}></line>
  </svg>`;
}

/** @param {number} from @param {number} to @param {number} end @param {string} colour @param {boolean} right */
function box(from, to, end, colour, right) {
  const [a, b] = [across(from, end), across(to, end)];
  const width = Math.abs(b - a);
  if (width === 0) return svg``;
  return svg`<rect class=${`${colour} ${right ? "right" : "left"}`} x=${percent(Math.min(a, b))}
    width=${percent(Math.max(width, 0.5))} y="22%" height="56%" rx="1"></rect>`;
}

/** A bar from zero, with a whisker of one spread on either side.
 * @param {number} value @param {number} end @param {number} [spread] */
export function plainBar(value, end, spread = 0) {
  const [low, high] = [across(value - spread, end), across(value + spread, end)];
  return html`<svg class="bar" aria-hidden="true" focusable="false">
    <line class="zero" x1="50%" x2="50%" y1="0" y2="100%"></line>
    ${box(0, value, end, value >= 0 ? "plus" : "minus", value >= 0)}
    ${spread ? svg`<line class="whisker" x1=${percent(low)} x2=${percent(high)} y1="50%" y2="50%"></line>` : nothing}
  </svg>`;
}

/** A bar from zero at the left, where no value is below it. @param {number} value @param {number} end */
export function upwardBar(value, end) {
  return html`<svg class="bar" aria-hidden="true" focusable="false">
    <line class="zero" x1="0" x2="0" y1="0" y2="100%"></line>
    <rect class="plus" x="0" width=${percent(Math.max(0.5, Math.min(100, (100 * value) / end)))} y="22%" height="56%"
      rx="1"></rect>
  </svg>`;
}

/** An interval on a line from `-end` to `end`, with zero marked.
 * @param {{mean: number, low: number, high: number}} estimate @param {number} end */
export function interval({ mean, low, high }, end) {
  const colour = low > 0 ? "minus" : high < 0 ? "plus" : "open";
  return html`<svg class="bar" aria-hidden="true" focusable="false">
    <line class="zero" x1="50%" x2="50%" y1="0" y2="100%"></line>
    <line class=${`range ${colour}`} x1=${percent(across(low, end))} x2=${percent(across(high, end))} y1="50%" y2="50%"></line>
    <circle class=${colour} cx=${percent(across(mean, end))} cy="50%" r="4"></circle>
  </svg>`;
}

/** A share of the whole, from the left.
 * @param {number} part Between 0 and 1. */
export function shareBar(part) {
  return html`<svg class="bar share" aria-hidden="true" focusable="false">
    <rect class="whole" x="0" width="100%" y="0" height="100%" rx="2"></rect>
    <rect class="part" x="0" width=${percent(100 * part)} y="0" height="100%" rx="2"></rect>
  </svg>`;
}

/** The ends of a scale that begins with zero. @param {number} end */
export function upwardAxis(end) {
  return html`<span class="axis"><span>0</span><span></span><span>+${end}</span></span>`;
}

/** The ends of a scale, over a column of bars. @param {number} end */
export function axis(end) {
  return html`<span class="axis"><span>${MINUS}${end}</span><span>0</span><span>+${end}</span></span>`;
}
