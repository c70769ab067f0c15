/** Numbers as they are printed: signed, of the same decimals in every row, rounded so that a column adds up. */

/** Decimals of a printed score: enough to tell words apart, few enough to read. The report prints as many. */
export const DECIMALS = 3;

const UNIT = 10 ** DECIMALS;

export const MINUS = "\u2212";

/** The nearest whole number of units of the last decimal; halves go away from zero.
 * @param {number} number */
export function toUnits(number, unit = UNIT) {
  return Math.sign(number) * Math.round(Math.abs(number) * unit) + 0;
}

/** Numbers in units of the last decimal, rounded so that they add up to `total`, which is in units itself.
 *
 * The largest-remainder method: round each to the nearest, then move those by one unit that were closest to going the
 * other way, as many as the sum is off.
 * @param {number[]} numbers
 * @param {number} total
 * @returns {number[]} */
export function roundToSum(numbers, total, unit = UNIT) {
  const units = numbers.map((number) => toUnits(number, unit));
  const off = total - units.reduce((sum, one) => sum + one, 0);
  const step = off > 0 ? 1 : -1;
  const order = numbers.map((_, i) => i);
  const went = (/** @type {number} */ i) => step * (units[i] - numbers[i] * unit);
  order.sort((a, b) => went(a) - went(b) || a - b);
  for (let turn = 0; turn < (numbers.length ? Math.abs(off) : 0); turn++) units[order[turn % order.length]] += step;
  return units.map((one) => one + 0);
}

/** A whole number of units as printed: "+0.859", "\u22121.200", "0.000".
 * @param {number} units */
export function signed(units) {
  const digits = (Math.abs(units) / UNIT).toFixed(DECIMALS);
  return units > 0 ? `+${digits}` : units < 0 ? MINUS + digits : digits;
}

/** A number rounded by itself.
 * @param {number} number */
export function rounded(number) {
  return signed(toUnits(number));
}

/** A number at full precision, as the server sent it.
 * @param {number} number */
export function raw(number) {
  const digits = String(Math.abs(number));
  return number > 0 ? `+${digits}` : number < 0 ? MINUS + digits : digits;
}

/** Probabilities in tenths of a percent that add up to 100.0 %.
 * @param {Record<string, number>} probabilities
 * @returns {Map<string, string>} */
export function percentages(probabilities) {
  const names = Object.keys(probabilities);
  const tenths = roundToSum(
    names.map((name) => probabilities[name]),
    1000,
    1000,
  );
  return new Map(names.map((name, i) => [name, percent(tenths[i])]));
}

/** @param {number} tenths */
function percent(tenths) {
  return `${(tenths / 10).toFixed(1)}\u202f%`;
}

/** A share as a percentage.
 * @param {number} share */
export function share(share) {
  return percent(Math.round(share * 1000));
}

/** A count with thin spaces, and its noun.
 * @param {number} count @param {string} noun */
export function counted(count, noun) {
  return `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** @param {number} count */
export function grouped(count) {
  return String(count).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}
