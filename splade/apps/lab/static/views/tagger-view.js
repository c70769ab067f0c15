/** Tagger: entities marked in the sentence; choosing a word shows the sum behind its tag, and what if. */

import { html, nothing } from "../vendor/lit-html.js";
import { explain, suppress } from "../core/api.js";
import { View } from "../core/element.js";
import { share } from "../core/numbers.js";
import { SHOWN, sumRows, tokenParts, wordParts } from "../core/sums.js";
import { asking } from "../parts/asking.js";
import { classes } from "../parts/classes.js";
import { problem, waiting } from "../parts/notices.js";
import "../parts/shaded-text.js";
import { sumOptions } from "../parts/sum-options.js";
import { waterfall } from "../parts/waterfall.js";
import { isSame, whatIf } from "../parts/what-if.js";

/** @typedef {import("../core/types.js").TaggedText} TaggedText */
/** @typedef {import("../core/types.js").Sum} Sum */
/** @typedef {import("../core/types.js").Removal} Removal */

/** @typedef {object} Result
 * @property {TaggedText} tagged As the text is.
 * @property {TaggedText | null} after What is left of it.
 * @property {import("../core/types.js").WhatIf | null} answer
 * @property {number} word The word explained.
 * @property {Sum | null} sum
 * @property {Sum | null} sumAfter
 * @property {Removal[]} removals */

export class TaggerView extends View {
  /** @type {Result | null} */
  result = null;
  /** @type {string | null} */
  #open = null;
  /** @type {number | null} */
  #chosen = null;
  #shown = SHOWN;
  /** @type {"word" | "token" | null} */
  #by = null;
  #raw = false;
  #all = false;
  #focus = "";

  moved() {
    const { text } = this.place;
    if (text === null) this.app.go({ text: this.app.examples[0] }, { replace: true });
    else
      this.load(
        () => this.#ask(text),
        (result) => this.#take(result),
      );
  }

  /** @param {string} text @returns {Promise<Result>} */
  async #ask(text) {
    const { target, removals } = this.place;
    const model = this.app.model.name;
    /** @type {TaggedText} */
    const tagged = await explain(model, text, "");
    const word = this.place.word ?? tagged.entities[0]?.words[0] ?? 0;
    const find = (/** @type {TaggedText} */ of, /** @type {number} */ number) =>
      of.explained.find((one) => one.number === number) ?? null;
    if (!removals.length) {
      const known = target ? null : find(tagged, word);
      const sum = known ?? find(await explain(model, text, target, word), word);
      return { tagged, after: null, answer: null, word, sum, sumAfter: null, removals };
    }
    const label = target || tagged.words[word]?.tag || ""; // the same logit before and after
    const answer = await suppress(model, text, label, removals, word);
    const deleted = new Set(removals.filter((one) => one.operation === "delete").map((one) => Number(one.what)));
    const moved = word - [...deleted].filter((one) => one < word).length;
    const left = deleted.has(word)
      ? null
      : (find(answer.after, moved) ?? find(await explain(model, answer.shorter ?? text, label, moved), moved));
    return { tagged, after: answer.after, answer, word, sum: find(answer.before, word), sumAfter: left, removals };
  }

  /** @param {Result} result */
  #take(result) {
    if (this.result?.word !== result.word || this.result.tagged.text !== result.tagged.text) {
      [this.#open, this.#chosen, this.#shown] = [null, null, SHOWN];
    }
    this.result = result;
  }

  draw() {
    super.draw();
    if (!this.#focus || this.busy) return;
    const element = /** @type {HTMLElement | null} */ (this.querySelector(this.#focus));
    this.#focus = "";
    element?.focus();
  }

  template() {
    const result = this.result;
    return html`
      ${asking({
        id: "text",
        label: "A text to tag",
        text: this.place.text ?? "",
        action: "Tag",
        busy: this.busy,
        examples: this.app.examples.slice(0, 4),
        submit: (text) => this.app.go({ text, removals: [], target: "", word: null }),
      })}
      ${problem(this.error)}
      ${result && !this.error ? this.#both(result) : waiting(this.busy)}`;
  }

  /** @param {Result} result */
  #both(result) {
    const { tagged, after, sum, word } = result;
    const entities = after ?? tagged;
    return html`<article class="result" aria-busy=${this.busy}>
      ${this.#text(tagged, word)}
      ${after ? html`<p class="note">With the words taken away:</p>${this.#text(after, null)}` : nothing}
      ${
        tagged.words.length
          ? html`<p class="note">${entities.entities.length
            ? "Choose a word, in an entity or not, for the sum behind its tag."
              : "No entity is found; choose any word for the sum behind its tag."}</p>`
          : html`<p class="note">There is no word to tag.</p>`
      }
      ${sum ? this.#explained(result, sum) : nothing}
    </article>`;
  }

  /** @param {TaggedText} tagged @param {number | null} selected null: words cannot be chosen here. */
  #text(tagged, selected) {
    const ends = new Map(tagged.entities.map((one) => [one.words[one.words.length - 1], one]));
    const within = new Map(tagged.entities.flatMap((one) => one.words.map((number, i) => [number, i === 0])));
    const marks = tagged.words.map(({ number, utf16_start, utf16_end, tag, probability }) => {
      const entity = ends.get(number);
      const inside = within.has(number);
      const className = inside ? `entity ${within.get(number) ? "first" : ""} ${entity ? "last" : ""}` : "";
      return {
        number,
        utf16_start,
        utf16_end,
        className,
        said: `${tag} ${share(probability)}`,
        badge: entity?.type,
        joined: inside && !entity ? "entity" : "",
      };
    });
    const choose = (/** @type {number} */ number) => this.app.go(selected === null ? {} : { word: number, target: "" });
    return html`<shaded-text .shown=${{ text: tagged.text, words: marks, selected, choose }}></shaded-text>`;
  }

  /** @param {Result} result @param {Sum} sum */
  #explained(result, sum) {
    const { tagged, sumAfter, word, removals } = result;
    const now = sumAfter ?? sum;
    const gone = removals.length > 0 && !sumAfter;
    return html`<h2 class="verdict" tabindex="-1"><bdi>${tagged.words[word]?.word}</bdi> <span class="n">${gone
      ? "deleted" : now.label}</span>
        ${sumAfter ? html`<small>was ${sum.label}</small>` : nothing}</h2>
      <div class="columns">
        ${this.#whatIf(result, sum)}
        ${classes(
          now,
          sumAfter && sum,
          this.#all,
          (target) => this.app.go({ target, word }),
          () => {
            this.#all = true;
            this.update();
          },
        )}
        <section class="sum" aria-label="The sum">${this.#sum(sum, sumAfter, removals, word)}</section>
      </div>`;
  }

  /** @param {Sum} sum @param {Sum | null} after @param {Removal[]} removals @param {number} word */
  #sum(sum, after, removals, word) {
    const now = after ?? sum;
    const by = this.#by ?? (sum.words.length > 1 ? "word" : "token");
    /** Words by where they stand seen from the explained one, which deleting others does not change for the nearest. */
    const parts = (/** @type {Sum} */ one) =>
      by === "token"
        ? tokenParts(one)
        : wordParts(one).map((part) => ({
            ...part,
            key: `word ${part.offset} ${part.name}`,
            number: part.number === null ? null : word + part.offset,
          }));
    const rows = sumRows(now, parts(now), after && sum, after ? parts(sum) : [], this.#shown, by);
    return html`${sumOptions(
      by,
      this.#raw,
      (one) => {
        this.#by = one;
        this.#open = null;
        this.update();
      },
      (raw) => {
        this.#raw = raw;
        this.update();
      },
    )}
      ${waterfall({
        rows,
        raw: this.#raw,
        open: this.#open,
        noun: by,
        caption: `Why the logit of ${now.target} is what it is${after ? " now, and what it was before" : ": all of it"}.`,
        choose: (row) => {
          this.#open = row.key === this.#open ? null : row.key;
          this.#chosen = this.#open && by === "word" ? ((row.part ?? row.partBefore)?.number ?? null) : null;
          this.update();
        },
        more: () => {
          this.#shown += 50;
          this.update();
        },
        shut: (token) => this.#takeAway({ operation: "shut", what: token }),
        shutTokens: new Set(removals.filter((one) => one.operation === "shut").map((one) => one.what)),
      })}`;
  }

  /** @param {Result} result @param {Sum} sum */
  #whatIf({ tagged, answer, removals, word, sumAfter }, sum) {
    const number = this.#chosen ?? word;
    const one = tagged.words[number];
    const own = (sumAfter ?? sum).words.find((each) => (each.offset ?? 0) === number - word);
    return whatIf({
      selected: one ? { number, word: one.word, score: own?.score ?? 0, tokens: own?.tokens ?? [] } : null,
      target: sum.target,
      removals,
      answer,
      effect: answer?.effects.find((each) => each.number === word) ?? null,
      words: new Map(tagged.words.map((each) => [each.number, each.word])),
      model: this.app.model.name,
      raw: this.#raw,
      remove: (removal) => this.#takeAway(removal),
      restore: (index) => this.#restore(removals.filter((_, i) => i !== index)),
      undo: () => this.#restore(removals.slice(0, -1)),
      clear: () => this.#restore([]),
      copyLink: () => this.app.copyLink(),
    });
  }

  /** @param {Removal} removal */
  #takeAway(removal) {
    const { removals } = this.place;
    if (removals.some((one) => isSame(one, removal))) return;
    this.#focus = ".undo";
    this.app.go({ removals: [...removals, removal], word: this.result?.word ?? null });
  }

  /** @param {Removal[]} removals */
  #restore(removals) {
    this.#focus = removals.length ? ".undo" : ".word[tabindex='0']";
    this.app.go({ removals });
  }
}

customElements.define("tagger-view", TaggerView);
