/** The sum as a table: the table is the chart. The rows add up as printed; the tokens behind a word are one click deeper. */

import { html, nothing } from "../vendor/lit-html.js";
import { DECIMALS, raw, signed } from "../core/numbers.js";
import { endFor } from "../core/scale.js";
import { tokenRows } from "../core/sums.js";
import { axis, runningBar } from "./bars.js";

/** @typedef {import("../core/sums.js").Row} Row */

const UNIT = 10 ** DECIMALS;

/** How a table is shown, and what can be done in it.
 * @typedef {object} Shown
 * @property {Row[]} rows
 * @property {boolean} raw Whether numbers are at full precision.
 * @property {string | null} open Key of the row whose tokens are shown.
 * @property {(row: Row) => void} choose
 * @property {() => void} more Show more of the folded rows.
 * @property {((token: string) => void) | null} shut null: tokens cannot be shut here.
 * @property {Set<string>} shutTokens
 * @property {string} caption
 * @property {string} noun What a row is: a word, or a token. */

/** Where the scale of the bars ends: the same before and after. @param {Row[]} rows */
export function scaleOf(rows) {
  const ends = rows
    .flatMap((row) => [row.now, row.before ?? row.now])
    .flatMap((cell) => [Math.abs(cell.from), Math.abs(cell.to)]);
  return Math.max(1, endFor(Math.max(...ends) / UNIT));
}

/** @param {Shown} shown */
export function waterfall(shown) {
  const { rows } = shown;
  const compared = rows[0].before !== null;
  const end = scaleOf(rows);
  return html`<table class=${`waterfall ${compared ? "compared" : ""} ${shown.raw ? "raw" : ""}`}>
    <caption>${shown.caption}</caption>
    <thead><tr>
      <th scope="col">${shown.noun}</th>
      <th scope="col" class="drawn"><span class="hidden">bar, from ${-end} to ${end}</span>${axis(end)}</th>
      ${compared ? html`<th scope="col" class="n">was</th>` : nothing}
      <th scope="col" class="n">${compared ? "now" : "adds"}</th>
      <th scope="col" class="n total">total</th>
    </tr></thead>
    <tbody>${rows.map((row) => [line(row, shown, end, compared), row.key === shown.open ? behind(row, shown, compared)
      : nothing])}</tbody>
  </table>`;
}

/** @param {Row} row @param {Shown} shown @param {number} end @param {boolean} compared */
function line(row, shown, end, compared) {
  const { now, before } = row;
  const changed = before && before.units !== now.units;
  const bar =
    row.kind === "logit"
      ? runningBar(0, now.to / UNIT, end, scaled(before), "total")
      : runningBar(now.from / UNIT, now.to / UNIT, end, scaled(before));
  return html`<tr class=${`${row.kind} ${changed ? "changed" : ""}`} data-key=${row.key}>
    <th scope="row">${name(row, shown)}</th>
    <td class="drawn">${bar}</td>
    ${compared ? html`<td class="n was">${number(before, shown.raw)}</td>` : nothing}
    <td class=${`n value ${sign(shown.raw ? now.score : now.units)}`}>${number(now, shown.raw)}</td>
    <td class="n total">${row.kind === "logit" ? nothing : total(row, shown)}</td>
  </tr>`;
}

/** @param {import("../core/sums.js").Cell | null} cell */
function scaled(cell) {
  return cell && { from: cell.from / UNIT, to: cell.to / UNIT };
}

/** @param {number} number */
function sign(number) {
  return number > 0 ? "plus" : number < 0 ? "minus" : "";
}

/** @param {import("../core/sums.js").Cell | null} cell @param {boolean} whole */
function number(cell, whole) {
  if (!cell) return nothing;
  return html`<data value=${String(cell.score)}>${whole ? raw(cell.score) : signed(cell.units)}</data>`;
}

/** The running total; at full precision it is that of the exact scores. @param {Row} row @param {Shown} shown */
function total(row, shown) {
  if (!shown.raw) return html`<data value=${String(row.now.to / UNIT)}>${signed(row.now.to)}</data>`;
  const rows = shown.rows.slice(0, shown.rows.indexOf(row) + 1);
  const exact = rows.reduce((sum, one) => sum + one.now.score, 0);
  return html`<data value=${String(exact)}>${raw(exact)}</data>`;
}

/** @param {Row} row @param {Shown} shown */
function name(row, shown) {
  if (row.kind === "rest")
    return html`<button type="button" class="open more" @click=${shown.more}>${row.name}</button>`;
  if (row.kind !== "part" || (!row.part && !row.partBefore))
    return html`<span class="plain"><bdi>${row.name}</bdi></span>`;
  const openable = tokensOf(row).length > 0 || (row.part ?? row.partBefore)?.number !== null || shown.shut;
  if (!openable) return html`<bdi>${row.name}</bdi>`;
  const open = row.key === shown.open;
  return html`<button type="button" class="open" aria-expanded=${open}
    @click=${() => shown.choose(row)}>${arrow(row)}<bdi>${row.name}</bdi></button>`;
}

/** Of a tagger: where a word stands, seen from the explained one. @param {Row} row */
function arrow(row) {
  const offset = (row.part ?? row.partBefore)?.offset ?? 0;
  if (!offset) return nothing;
  const where = `${Math.abs(offset)} ${offset < 0 ? "before" : "after"}`;
  return html`<span class="where" title=${where}>${offset < 0 ? "\u2190" : "\u2192"}${Math.abs(offset)}</span> `;
}

/** @param {Row} row */
function tokensOf(row) {
  return row.part?.tokens.length ? row.part.tokens : (row.partBefore?.tokens ?? []);
}

/** The tokens behind a row: those that speak now, else those that did. @param {Row} row @param {Shown} shown @param {boolean} compared */
function behind(row, shown, compared) {
  const speaks = (row.part?.tokens.length ?? 0) > 0;
  const cell = speaks || !row.before ? row.now : row.before;
  const found = tokenRows(tokensOf(row), cell.units);
  const columns = compared ? 5 : 4;
  if (!found.length) {
    const isToken = row.key.startsWith("token");
    return html`<tr class="behind"><td class="whole" colspan=${columns}>${isToken ? shutButton(row.name, shown)
      : html`<span class="note">No token speaks at this word.</span>`}</td></tr>`;
  }
  return found.map(
    (one) => html`<tr class="behind">
      <th scope="row">${one.token === null ? `${one.count} more tokens` : html`<bdi>${one.token}</bdi>`}</th>
      <td class="drawn action">${one.token === null ? nothing : shutButton(one.token, shown)}</td>
      ${compared ? html`<td class="n was">${speaks ? nothing : digits(one, shown)}</td>` : nothing}
      <td class="n value">${speaks || !compared ? digits(one, shown) : nothing}</td>
      <td class="n total"></td>
    </tr>`,
  );
}

/** @param {{score: number, units: number}} one @param {Shown} shown */
function digits(one, shown) {
  return html`<data value=${String(one.score)}>${shown.raw ? raw(one.score) : signed(one.units)}</data>`;
}

/** @param {string} token @param {Shown} shown */
function shutButton(token, shown) {
  const { shut } = shown;
  if (!shut || token === "(not a word)") return nothing;
  if (shown.shutTokens.has(token)) return html`<span class="note">shut</span>`;
  return html`<button type="button" class="small" @click=${() => shut(token)}>Shut token<span class="hidden">
    ${token}</span></button>`;
}
