/** Explain, and what if: one text, its sum, and what removing words does. */

import { html, nothing } from "../vendor/lit-html.js";
import { explain, suppress } from "../core/api.js";
import { View } from "../core/element.js";
import { numbersBefore, SHOWN, sumRows, tokenParts, wordParts } from "../core/sums.js";
import { asking } from "../parts/asking.js";
import { classes, verdict } from "../parts/classes.js";
import { guide } from "../parts/guide.js";
import { legend } from "../parts/legend.js";
import { problem, waiting } from "../parts/notices.js";
import { markOf } from "../parts/shaded-text.js";
import { sumOptions } from "../parts/sum-options.js";
import { waterfall } from "../parts/waterfall.js";
import { isSame, whatIf } from "../parts/what-if.js";

/** @typedef {import("../core/types.js").Explanation} Explanation */
/** @typedef {import("../core/types.js").Removal} Removal */

/** Rows that "more" brings. */
const MORE = 50;

/** What is shown: the text as it is, and, where something was removed, what is left of it.
 * @typedef {{text: string, before: Explanation, after: Explanation | null, answer: import("../core/types.js").WhatIf | null, removals: Removal[]}} Result */

export class ExplainView extends View {
  /** @type {Result | null} */
  result = null;
  /** @type {number | null} */
  selected = null;
  /** @type {string | null} */
  open = null;
  #shown = SHOWN;
  #by = /** @type {"word" | "token"} */ ("word");
  #raw = false;
  #allClasses = false;
  /** The element to go to once an answer is drawn. */
  #focus = "";

  moved() {
    const { text, target, removals } = this.place;
    if (text === null) {
      this.app.go({ text: this.app.examples[0] }, { replace: true });
      return;
    }
    const model = this.app.model.name;
    this.load(
      () => (removals.length ? suppress(model, text, target, removals) : explain(model, text, target)),
      (answer) => this.#take(text, removals, answer),
    );
  }

  /** @param {string} text @param {Removal[]} removals @param {any} answer */
  #take(text, removals, answer) {
    if (this.result?.text !== text || this.result.before.target !== (answer.before ?? answer).target)
      this.#shown = SHOWN;
    if (this.result?.text !== text) this.choose(null);
    this.result = removals.length
      ? { text, before: answer.before, after: answer.after, answer, removals }
      : { text, before: answer, after: null, answer: null, removals };
  }

  draw() {
    super.draw();
    if (!this.#focus || this.busy) return;
    const element = /** @type {HTMLElement | null} */ (
      this.querySelector(this.#focus) ?? this.querySelector(".verdict")
    );
    this.#focus = "";
    element?.focus();
  }

  template() {
    const result = this.result;
    return html`
      ${asking({
        id: "text",
        label: "A text to explain",
        text: this.place.text ?? "",
        action: "Explain",
        busy: this.busy,
        examples: this.app.examples.slice(0, 4),
        submit: (text) => this.ask(text),
      })}
      ${problem(this.error)}
      ${result && !this.error ? this.#shownResult(result) : waiting(this.busy)}`;
  }

  /** @param {string} text */
  ask(text) {
    this.app.go({ text, removals: [], target: "" });
  }

  /** @param {Result} result */
  #shownResult(result) {
    const { before, after } = result;
    const now = after ?? before;
    const deleted = new Set(result.removals.filter((one) => one.operation === "delete").map((one) => Number(one.what)));
    const numbers = after ? numbersBefore(before.words, after.words, deleted) : before.words.map((word) => word.number);
    return html`<article class="result" aria-busy=${this.busy}>
      ${this.app.guided ? this.#guide(now) : nothing}
      <div class="read">
        ${verdict(now, after && before)}
        <shaded-text .shown=${{
          text: result.text,
          words: this.#marks(result, numbers, deleted),
          selected: this.selected,
          choose: this.#chooseWord,
        }}></shaded-text>
        ${legend(this.app.scale, now.target)}
        ${this.#notes(now)}
      </div>
      <div class="columns">
        ${this.#whatIf(result, numbers)}
        ${classes(
          now,
          after && before,
          this.#allClasses,
          (target) => this.app.go({ target }),
          () => {
            this.#allClasses = true;
            this.update();
          },
        )}
        <section class="sum" aria-label="The sum">${this.#sum(result, numbers)}</section>
      </div>
    </article>`;
  }

  /** @param {Explanation} now */
  #notes(now) {
    const longest = this.app.model.max_length;
    return html`${now.truncated ? html`<p class="note">The text is longer than the ${longest} pieces that the model
      reads: its end has no say.</p>` : nothing}
      ${now.active_tokens === 0 ? html`<p class="note">No word says anything here: only the ${now.constant_bias
        ? "prior" : "bias"} speaks.</p>` : nothing}`;
  }

  /** @param {Result} result @param {(number | null)[]} numbers @param {Set<number>} deleted */
  #marks(result, numbers, deleted) {
    const silenced = new Set(
      result.removals.filter((one) => one.operation === "silence").map((one) => one.what.toLowerCase()),
    );
    const scores = new Map((result.after ?? result.before).words.map((word, i) => [numbers[i], word.score]));
    return result.before.words.flatMap((word) => {
      const gone = deleted.has(Number(word.number))
        ? "deleted"
        : silenced.has(word.word.toLowerCase())
          ? "silenced"
          : "";
      return markOf(word, scores.get(word.number) ?? 0, this.app.scale, gone);
    });
  }

  /** @param {Result} result @param {(number | null)[]} numbers */
  #sum({ before, after, removals }, numbers) {
    const now = after ?? before;
    const words = this.#by === "word";
    const parts = words ? wordParts(now, numbers) : tokenParts(now);
    const partsBefore = after ? (words ? wordParts(before) : tokenParts(before)) : [];
    const rows = sumRows(now, parts, after && before, partsBefore, this.#shown, this.#by);
    return html`${sumOptions(
      this.#by,
      this.#raw,
      (by) => this.#show({ by }),
      (raw) => this.#show({ raw }),
    )}
      ${waterfall({
        rows,
        raw: this.#raw,
        open: this.open,
        noun: this.#by,
        caption: caption(now, after !== null),
        choose: (row) => this.#chooseRow(row),
        more: () => this.#show({ more: true }),
        shut: (token) => this.takeAway({ operation: "shut", what: token }),
        shutTokens: new Set(removals.filter((one) => one.operation === "shut").map((one) => one.what)),
      })}`;
  }

  /** @param {{by?: "word" | "token", raw?: boolean, more?: boolean}} asked */
  #show({ by, raw, more }) {
    this.#by = by ?? this.#by;
    this.#raw = raw ?? this.#raw;
    if (more) this.#shown += MORE;
    if (by) this.open = null;
    this.update();
  }

  /** @param {Result} result @param {(number | null)[]} numbers */
  #whatIf({ before, after, answer, removals }, numbers) {
    const at = numbers.indexOf(this.selected);
    const selected = before.words.find((word) => word.number === this.selected && word.number !== null);
    const now = after && at >= 0 ? after.words[at] : undefined;
    return whatIf({
      selected: selected
        ? {
            number: Number(selected.number),
            word: selected.word,
            score: after ? (now?.score ?? 0) : selected.score,
            tokens: now?.tokens.length ? now.tokens : selected.tokens,
          }
        : null,
      target: before.target,
      removals,
      answer,
      effect: answer?.effects[0] ?? null,
      model: this.app.model.name,
      raw: this.#raw,
      words: new Map(
        removals
          .flatMap((one) =>
            one.operation === "delete" ? before.words.filter((word) => word.number === Number(one.what)) : [],
          )
          .map((word) => [Number(word.number), word.word]),
      ),
      remove: (removal) => this.takeAway(removal),
      restore: (index) => this.#restore(removals.filter((_, i) => i !== index)),
      undo: () => this.#restore(removals.slice(0, -1)),
      clear: () => this.#restore([]),
      copyLink: () => this.app.copyLink(),
    });
  }

  /** @param {Removal} removal */
  takeAway(removal) {
    const { removals } = this.place;
    if (removals.some((one) => isSame(one, removal))) return;
    this.#focus = ".undo";
    this.app.go({ removals: [...removals, removal] });
  }

  /** @param {Removal[]} removals */
  #restore(removals) {
    this.#focus = removals.length ? ".undo" : ".word[tabindex='0']";
    this.app.go({ removals });
  }

  /** @param {number | null} number */
  choose(number) {
    this.selected = number;
    this.open = number === null ? null : `word ${number}`;
    this.update();
  }

  #chooseWord = (/** @type {number} */ number) => {
    this.#by = "word";
    this.choose(number === this.selected ? null : number);
  };

  /** @param {import("../core/sums.js").Row} row */
  #chooseRow(row) {
    const number = (row.part ?? row.partBefore)?.number ?? null;
    if (row.key === this.open) this.choose(null);
    else if (this.#by === "word") this.choose(number);
    if (row.key.startsWith("word") && number !== null) return;
    this.open = row.key === this.open ? null : row.key;
    this.update();
  }

  /** @param {Explanation} now */
  #guide(now) {
    const before = this.result?.before ?? now;
    const words = before.words.filter((word) => word.number !== null);
    const strongest = words.reduce((most, word) => (word.score > most.score ? word : most), words[0]);
    if (!strongest) return nothing;
    return guide({
      label: before.label,
      strongest: strongest.word,
      chosen: this.selected !== null,
      removed: this.place.removals.length > 0,
      choose: () => {
        this.choose(strongest.number);
        this.#focus = ".guide button.primary";
      },
      silence: () => {
        this.takeAway({ operation: "silence", what: strongest.word });
        this.#focus = ".guide button.primary";
      },
      close: () => {
        this.app.endGuide();
        this.#focus = "#text";
        this.update();
      },
    });
  }
}

/** @param {Explanation} now @param {boolean} compared */
function caption(now, compared) {
  return compared
    ? `Why the logit of ${now.target} is what it is now, and what it was before.`
    : `Why the logit of ${now.target} is what it is: all of it.`;
}

customElements.define("explain-view", ExplainView);
