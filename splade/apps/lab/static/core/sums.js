/** The rows of a sum that adds up as printed: the bias first, then by size, then what was folded, then the logit. */

import { roundToSum, toUnits } from "./numbers.js";

/** @typedef {import("./types.js").Sum} Sum */
/** @typedef {import("./types.js").SpokenToken} SpokenToken */

/** One summand. Its `key` is the same before and after a removal.
 * @typedef {{key: string, name: string, score: number, tokens: SpokenToken[], number: number | null, offset: number}} Part */

/** What a row says at one time: the exact score, what is printed (in units of the last decimal), and the running total.
 * @typedef {{score: number, units: number, from: number, to: number}} Cell */

/** A row of the table.
 * @typedef {object} Row
 * @property {"bias" | "part" | "rest" | "gap" | "logit"} kind
 * @property {string} key
 * @property {string} name
 * @property {Part | null} part
 * @property {Part | null} partBefore
 * @property {number} count How many were folded into it.
 * @property {Cell} now
 * @property {Cell | null} before */

/** Rows shown before the others are folded. */
export const SHOWN = 12;

/** A gap between sum and logit that rounding cannot account for gets a row of its own: it is a fault to show. */
const UNEXPLAINED_FROM = 5e-4;

/** The words of a sum as its parts. `numbers`: those of the words in the text before something was deleted.
 * @param {Sum} sum @param {(number | null)[]} [numbers] @returns {Part[]} */
export function wordParts(sum, numbers) {
  return sum.words.map((word, i) => {
    const number = numbers ? numbers[i] : word.number;
    const { word: name, score, tokens, offset = 0 } = word;
    return { key: `word ${number ?? "none"}`, name, score, tokens, number, offset };
  });
}

/** The vocabulary tokens of a sum as its parts; a name that stands for several tokens is one part.
 * @param {Sum} sum @returns {Part[]} */
export function tokenParts(sum) {
  /** @type {Map<string, Part>} */
  const parts = new Map();
  for (const { token, score } of sum.tokens) {
    const part = parts.get(token);
    if (part) part.score += score;
    else parts.set(token, { key: `token ${token}`, name: token, score, tokens: [], number: null, offset: 0 });
  }
  return [...parts.values()];
}

/** The rows of a sum, beside those of the same sum before something was removed.
 * @param {Sum} sum @param {Part[]} parts @param {Sum | null} sumBefore @param {Part[]} partsBefore
 * @param {number} shown How many parts to show.
 * @param {string} noun What a part is, for the row of those that are folded.
 * @returns {Row[]} */
export function sumRows(sum, parts, sumBefore = null, partsBefore = [], shown = SHOWN, noun = "word") {
  const now = new Map(parts.map((part) => [part.key, part]));
  const before = new Map(partsBefore.map((part) => [part.key, part]));
  const keys = [...new Set([...before.keys(), ...now.keys()])];
  const sizes = new Map(keys.map((key) => [key, Math.max(size(now.get(key)), size(before.get(key)))]));
  const ordered = keys.map((key, i) => ({ key, i, size: sizes.get(key) ?? 0 }));
  ordered.sort((a, b) => b.size - a.size || a.i - b.i);
  const kept = ordered.filter((one, i) => one.size > 0 && i < shown).map((one) => one.key);
  const folded = ordered.slice(kept.length).map((one) => one.key);
  /** @type {(sum: Sum, of: Map<string, Part>) => Cell[]} */
  const cells = (one, of) =>
    columnCells(
      one,
      kept.map((key) => of.get(key)?.score ?? 0),
      folded.map((key) => of.get(key)?.score ?? 0),
    );
  const column = cells(sum, now);
  const columnBefore = sumBefore && cells(sumBefore, before);
  /** @type {Row[]} */
  const rows = [];
  /** @type {(kind: Row["kind"], key: string, name: string, count?: number) => void} */
  const add = (kind, key, name, count = 0) => {
    const i = rows.length;
    const part = now.get(key) ?? null;
    const partBefore = before.get(key) ?? null;
    rows.push({ kind, key, name, part, partBefore, count, now: column[i], before: columnBefore && columnBefore[i] });
  };
  add("bias", "bias", sum.constant_bias ? "prior" : "bias");
  for (const key of kept) add("part", key, (before.get(key) ?? now.get(key))?.name ?? "");
  if (folded.length)
    add(
      "rest",
      "rest",
      `${folded.length} ${kept.length ? "more " : ""}${noun}${folded.length > 1 ? "s" : ""}`,
      folded.length,
    );
  const last = column.length - 1;
  const gaps = column[last - 1].score !== 0 || (columnBefore && columnBefore[last - 1].score !== 0);
  if (gaps) add("gap", "gap", "not accounted for");
  else [column, columnBefore].forEach((one) => one && one.splice(last - 1, 1));
  add("logit", "logit", `logit of ${sum.target}`);
  return rows;
}

/** @param {Part | undefined} part */
function size(part) {
  return part ? Math.abs(part.score) : 0;
}

/** A column of cells: the bias, the scores, what is folded (if anything), the gap, the logit. The bias is rounded by
 * itself; where something is folded that gives way to rounding, else those do whose rounding went furthest.
 * @param {Sum} sum @param {number[]} kept @param {number[]} folded @returns {Cell[]} */
function columnCells(sum, kept, folded) {
  const logit = sum.logits[sum.target];
  const rest = folded.reduce((total, score) => total + score, 0);
  const scores = folded.length ? [...kept, rest] : kept;
  const found = logit - sum.bias - scores.reduce((total, score) => total + score, 0);
  const gap = Math.abs(found) > UNEXPLAINED_FROM ? found : 0;
  const total = toUnits(logit);
  let bias = toUnits(sum.bias);
  let gapUnits = toUnits(gap);
  /** @type {number[]} */
  let units;
  if (folded.length) {
    units = scores.map((score) => toUnits(score));
    units[kept.length] += total - bias - gapUnits - units.reduce((sum, one) => sum + one, 0);
  } else if (scores.length) {
    units = roundToSum(scores, total - bias - gapUnits);
  } else {
    units = [];
    bias = total - gapUnits;
  }
  const all = [sum.bias, ...scores, gap];
  let running = 0;
  const cells = [bias, ...units, gapUnits].map((one, i) => {
    const from = running;
    running += one;
    return { score: all[i], units: one, from, to: running };
  });
  return [...cells, { score: logit, units: total, from: 0, to: total }];
}

/** The tokens behind a word, which add up to it as printed; from `shown` on in one row.
 * @param {SpokenToken[]} tokens @param {number} units What is printed of the word. @param {number} [shown]
 * @returns {{token: string | null, count: number, score: number, units: number}[]} */
export function tokenRows(tokens, units, shown = 8) {
  const kept = tokens.length > shown + 1 ? tokens.slice(0, shown) : tokens;
  const folded = tokens.slice(kept.length);
  const scores = kept.map((one) => one.score);
  if (folded.length) scores.push(folded.reduce((sum, one) => sum + one.score, 0));
  const printed = roundToSum(scores, units);
  return scores.map((score, i) => ({
    token: kept[i]?.token ?? null,
    count: kept[i] ? 1 : folded.length,
    score,
    units: printed[i],
  }));
}

/** The numbers that words had before some were deleted; null: no word, or one that was not there.
 * @param {{number: number | null, word: string}[]} before @param {{number: number | null, word: string}[]} after
 * @param {Set<number>} deleted
 * @returns {(number | null)[]} */
export function numbersBefore(before, after, deleted) {
  const left = before.filter((word) => word.number !== null && !deleted.has(word.number));
  let next = 0;
  return after.map((word) => {
    if (word.number === null) return null;
    const found = left.findIndex((one, i) => i >= next && i < next + 3 && one.word === word.word);
    if (found < 0) return -1 - word.number; // two words that became one: a row of its own
    next = found + 1;
    return left[found].number;
  });
}
