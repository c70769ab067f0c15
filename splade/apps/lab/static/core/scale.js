/** The one scale of the shades, and that of the bars: the same for all texts and edits, so that weak words look weak. */

/** Shades of either sign. */
export const SHADES = 5;

/** From which share of the scale on a word has each shade. */
const STEPS = [0.05, 0.2, 0.4, 0.7, 1];

/** Ends that a scale of bars may have: few, so that it is the same for most texts. */
const ENDS = [0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128];

/** Scores at which the strongest shade may begin: few, so that it stays the same while more texts are read. */
const FULL = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50];

/** Where the strongest shade begins if the server does not know what is usual: one unit of logit, odds times e. */
export const USUAL = 1;

/** The end of a scale that holds a number.
 * @param {number} number */
export function endFor(number) {
  return ENDS.find((end) => number <= end) ?? 2 ** Math.ceil(Math.log2(number));
}

/** Where the strongest shade begins: near what the server knows of the usual scores.
 * @param {number | null} usual */
export function shadesFor(usual) {
  if (!usual) return USUAL;
  return FULL.reduce((nearest, one) =>
    Math.abs(Math.log(one / usual)) < Math.abs(Math.log(nearest / usual)) ? one : nearest,
  );
}

/** The lower ends of the shades, in units of the logit.
 * @param {number} scale */
export function shadeEnds(scale) {
  return STEPS.map((step) => step * scale);
}

/** The class of a word's shade: p1 to p5 speak for the label, n1 to n5 against it; empty: it says (next to) nothing.
 * @param {number} score @param {number} scale */
export function shade(score, scale) {
  const level = STEPS.filter((step) => Math.abs(score) >= step * scale).length;
  return level === 0 ? "" : (score > 0 ? "p" : "n") + level;
}
