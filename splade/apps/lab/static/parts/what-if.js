/** What if a word were not there: the three ways to remove it, each named for what it does, and what follows. */

import { html, nothing } from "../vendor/lit-html.js";
import { roundToSum, rounded, signed, toUnits, raw as atFull } from "../core/numbers.js";
import { removalList, download } from "../core/saving.js";

/** @typedef {import("../core/types.js").Removal} Removal */

/** @typedef {object} Shown
 * @property {{number: number, word: string, score: number, tokens: import("../core/types.js").SpokenToken[]} | null} selected
 * @property {string} target
 * @property {Removal[]} removals
 * @property {Map<number, string>} words Words of the text by their numbers, for what was deleted.
 * @property {import("../core/types.js").WhatIf | null} answer
 * @property {import("../core/types.js").Effect | null} effect
 * @property {string} model
 * @property {boolean} raw
 * @property {(removal: Removal) => void} remove
 * @property {(index: number) => void} restore
 * @property {() => void} undo
 * @property {() => void} clear
 * @property {() => void} copyLink */

/** Labels whose parts are shown side by side. */
const LABELS = 2;

/** @param {Shown} shown */
export function whatIf(shown) {
  return html`<section class="what-if" aria-label="What if">
    <h3>What if it were not there?</h3>
    ${
      shown.selected
        ? chosen(shown, shown.selected)
        : html`<p class="note">Choose a word, in the text or in the table, and take it away: you see what
      it had added, and what the model says instead.</p>`
    }
    ${shown.removals.length ? [list(shown), effects(shown)] : nothing}
  </section>`;
}

/** Whether two removals are one: a word is silenced in all casings. @param {Removal} one @param {Removal} other */
export function isSame(one, other) {
  const same = one.operation === "silence" ? one.what.toLowerCase() === other.what.toLowerCase() : one.what === other.what;
  return one.operation === other.operation && same;
}

/** @param {Shown} shown @param {NonNullable<Shown["selected"]>} word */
function chosen(shown, word) {
  const has = (/** @type {Removal["operation"]} */ operation, /** @type {string} */ what) =>
    shown.removals.some((one) => isSame(one, { operation, what }));
  const deleted = has("delete", String(word.number));
  const tokens = word.tokens.filter((one) => one.token !== "(not a word)").slice(0, 4);
  return html`<div class="chosen">
    <p class="about"><b><bdi>${word.word}</bdi></b> <span class="n">${rounded(word.score)}</span> to
      <bdi>${shown.target}</bdi></p>
    <dl class="ways">
      ${way(
        "Silence the word",
        has("silence", word.word),
        () => shown.remove({ operation: "silence", what: word.word }),
        "Nothing speaks for it, wherever it stands. The model still reads it.",
      )}
      ${way(
        "Delete it from the text",
        deleted,
        () => shown.remove({ operation: "delete", what: String(word.number) }),
        "The model reads the text without it: other words may say something else.",
      )}
      ${
        tokens.length
          ? html`<div><dt class="tokens">${tokens.map(({ token }) => html`<button type="button"
            ?disabled=${has("shut", token)} @click=${() => shown.remove({ operation: "shut", what: token })}>Shut
              \u201c<bdi>${token}</bdi>\u201d</button>`)}</dt>
        <dd>The vocabulary token fires nowhere, at whatever word. Its neighbours may still speak here.</dd></div>`
          : nothing
      }
    </dl></div>`;
}

/** @param {string} name @param {boolean} done @param {() => void} act @param {string} meaning */
function way(name, done, act, meaning) {
  return html`<div><dt><button type="button" ?disabled=${done} @click=${act}>${name}</button></dt><dd>${meaning}</dd></div>`;
}

/** A removal as a phrase. @param {Removal} removal @param {Map<number, string>} words */
function phrase({ operation, what }, words) {
  if (operation === "shut") return html`token <b><bdi>${what}</bdi></b> shut`;
  if (operation === "silence") return html`<b><bdi>${what}</bdi></b> silenced`;
  return html`<b><bdi>${words.get(Number(what)) ?? `word ${what}`}</bdi></b> deleted`;
}

/** @param {Shown} shown */
function list(shown) {
  const { removals, answer } = shown;
  const lasting = removals.some((one) => one.operation !== "delete");
  const unmatched = answer?.unmatched.map((one) => one.asked) ?? [];
  const save = () => download("removals.json", removalList(removals, shown.model), "application/json");
  return html`<ol class="removals" aria-label="Removed">
      ${removals.map(
        (
          one,
          i,
        ) => html`<li>${phrase(one, shown.words)}<button type="button" class="restore" @click=${() => shown.restore(i)}
        aria-label=${`Take back: ${one.what}`}>\u00d7</button></li>`,
      )}
    </ol>
    ${unmatched.length ? html`<p class="note">The model has no token for
      ${unmatched.map((one) => `\u201c${one}\u201d`).join(", ")}; nothing was removed for it.</p>` : nothing}
    <p class="actions">
      <button type="button" class="undo" @click=${shown.undo}>Undo</button>
      ${removals.length > 1 ? html`<button type="button" class="quiet" @click=${shown.clear}>Take all back</button>` : nothing}
      <button type="button" class="quiet" @click=${shown.copyLink}>Copy link</button>
      ${lasting ? html`<button type="button" class="quiet save" @click=${save}>Save the list</button>` : nothing}
    </p>
    ${
      lasting
        ? html`<details class="lasting"><summary>Remove for good</summary><p class="note">The list, saved, makes another
          model; on its record is what was removed, when and why.</p>
      <pre tabindex="0">lexical-sae suppress --file removals.json --model MODEL --output WITHOUT</pre></details>`
        : nothing
    }`;
}

/** What the removals do to the logits, in parts that add up as printed. @param {Shown} shown */
function effects(shown) {
  const { answer, effect, removals, target } = shown;
  if (!answer || !effect) return nothing;
  const { before, after } = effect.label;
  const names = Object.keys(effect.logits);
  const labels = names.length <= LABELS ? names : [...new Set([target, after])];
  const columns = labels.map((label) => column(effect.logits[label], shown.raw));
  const deletes = removals.some((one) => one.operation === "delete");
  const rows = [
    ["before", "", 0],
    ...(deletes ? [["deleting", "the model reads another text", 1]] : []),
    ["direct part", `what was taken away had added this${deletes ? " in what is left" : ""}, with its sign turned`, 2],
    ["mask part", "the words that are left weigh differently", 3],
    ["now", "", 4],
  ];
  return html`<p class="outcome" role="status">${
    effect.flipped || before !== after
      ? html`The decision changes from <b><bdi>${before}</bdi></b> to <b><bdi>${after}</bdi></b>.`
      : html`The decision stays <b><bdi>${after}</bdi></b>.`
  }
      <span class="note">${deletes ? "The model has read what is left of the text."
        : "The head alone was asked; the text was not read again."}</span></p>
    <table class="effect"><caption>What it does to the logits</caption>
      <thead><tr><td></td>${labels.map((label) => html`<th scope="col" class="n"><bdi>${label}</bdi></th>`)}</tr></thead>
      <tbody>${rows.map(
        ([
          name,
          meaning,
          i,
        ]) => html`<tr class=${i === 4 ? "logit" : ""}><th scope="row">${name}${meaning
          ? html`<small>${meaning}</small>` : nothing}</th>
        ${columns.map((one) => html`<td class="n">${one[Number(i)]}</td>`)}</tr>`,
      )}</tbody>
    </table>`;
}

/** @param {import("../core/types.js").Change} change @param {boolean} whole @returns {unknown[]} */
function column(change, whole) {
  const [first, last] = [toUnits(change.before), toUnits(change.after)];
  const numbers = [change.deletion, change.direct, change.mask];
  const parts = roundToSum(numbers, last - first);
  const shown = [first, ...parts, last];
  return [change.before, ...numbers, change.after].map(
    (one, i) => html`<data value=${String(one)}>${whole ? atFull(one) : signed(shown[i])}</data>`,
  );
}
