/** The difference of two logits as a sum: both are sums of words, so their difference is one too, exactly. */

import { toUnits } from "./numbers.js";
import { sumRows } from "./sums.js";

/** @typedef {import("./types.js").Explanation} Explanation */
/** @typedef {import("./sums.js").Part} Part */

/** The words of a sum by their spelling in lower case: how often one stands in the text is no matter here.
 * @param {Explanation} explanation @returns {Part[]} */
function spelledParts(explanation) {
  /** @type {Map<string, Part>} */
  const parts = new Map();
  for (const { word, score } of explanation.words) {
    const name = word.toLowerCase();
    const part = parts.get(name);
    if (part) part.score += score;
    else parts.set(name, { key: `spelled ${name}`, name, score, tokens: [], number: null, offset: 0 });
  }
  return [...parts.values()];
}

/** The rows of both sums, those that differ most first: `before` is that of `first`, `now` that of `second`.
 * @param {Explanation} first @param {Explanation} second @param {number} shown */
export function differenceRows(first, second, shown) {
  const [one, other] = [spelledParts(first), spelledParts(second)];
  const scores = new Map(one.map((part) => [part.key, part.score]));
  const differences = new Map(other.map((part) => [part.key, part.score]));
  for (const [key, score] of scores) differences.set(key, (differences.get(key) ?? 0) - score);
  const size = (/** @type {Part} */ part) => Math.abs(differences.get(part.key) ?? 0);
  const most = [...one, ...other.filter((part) => !scores.has(part.key))]
    .sort((a, b) => size(b) - size(a))
    .slice(0, shown);
  const keys = new Set(most.filter((part) => size(part) > 0).map((part) => part.key));
  const folded = (/** @type {Part[]} */ parts) => [
    ...parts.filter((part) => keys.has(part.key)),
    ...rest(parts.filter((part) => !keys.has(part.key))),
  ];
  const rows = sumRows(second, folded(other), first, folded(one), Infinity);
  const order = new Map([...keys].map((key, i) => [key, i]));
  const place = (/** @type {import("./sums.js").Row} */ row) =>
    row.kind === "part"
      ? (order.get(row.key) ?? order.size)
      : { bias: -1, rest: order.size, gap: order.size + 1, logit: order.size + 2 }[row.kind];
  return rows
    .sort((a, b) => place(a) - place(b))
    .map((row) => ({ ...row, difference: row.now.units - (row.before?.units ?? 0) }));
}

/** @param {Part[]} parts @returns {Part[]} */
function rest(parts) {
  if (!parts.length) return [];
  const score = parts.reduce((sum, part) => sum + part.score, 0);
  return [{ key: "others", name: "the other words", score, tokens: [], number: null, offset: 0 }];
}

/** Whether two sums have the same labels, so that one can be taken from the other.
 * @param {Explanation} first @param {Explanation} second */
export function comparable(first, second) {
  return (
    first.target === second.target &&
    Object.keys(first.logits).sort().join("\n") === Object.keys(second.logits).sort().join("\n")
  );
}

/** Where a scale must end to hold all differences, in units of the logit. @param {{difference: number}[]} rows */
export function largestDifference(rows) {
  return Math.max(...rows.map((row) => Math.abs(row.difference))) / toUnits(1);
}
