/** Compare: two texts, or one text read by two models, side by side, and the difference of their logits as a sum. */

import { html, nothing } from "../vendor/lit-html.js";
import { explain } from "../core/api.js";
import { View } from "../core/element.js";
import { comparable, differenceRows, largestDifference } from "../core/difference.js";
import { signed } from "../core/numbers.js";
import { writePlace } from "../core/place.js";
import { endFor } from "../core/scale.js";
import { SHOWN, sumRows, wordParts } from "../core/sums.js";
import { asking } from "../parts/asking.js";
import { axis, plainBar } from "../parts/bars.js";
import { verdict } from "../parts/classes.js";
import { legend } from "../parts/legend.js";
import { problem, waiting } from "../parts/notices.js";
import { markOf } from "../parts/shaded-text.js";
import { waterfall } from "../parts/waterfall.js";

/** @typedef {import("../core/types.js").Explanation} Explanation */

/** One side. @typedef {{model: string, explanation: Explanation}} Side */

export class CompareView extends View {
  /** @type {Side[]} */
  sides = [];
  /** @type {(number | null)[]} */
  #selected = [null, null];
  #shown = [SHOWN, SHOWN];

  moved() {
    const { text, other, against, target } = this.place;
    const [first, second] = this.app.examples;
    if (text === null || (!other && !against)) {
      this.app.go(
        { text: text ?? first, other: other || (text === second ? first : (second ?? first)) },
        { replace: true },
      );
      return;
    }
    const model = this.app.model.name;
    this.load(
      async () => {
        const one = await explain(model, text, target);
        const sameLabels =
          !against || this.app.models.find((entry) => entry.name === against)?.labels.includes(one.target);
        const two = await explain(against || model, against ? text : other, sameLabels ? one.target : "");
        return [
          { model, explanation: one },
          { model: against || model, explanation: two },
        ];
      },
      (sides) => {
        this.sides = sides;
        this.#selected = [null, null];
        this.#shown = [SHOWN, SHOWN];
      },
    );
  }

  template() {
    const { text, other, against } = this.place;
    return html`<h2 class="title">Side by side</h2>
      ${this.app.models.length > 1 ? this.#what() : nothing}
      <div class=${against ? "" : "pair"}>
        ${asking({ id: "text", label: against ? "The text" : "One text", text: text ?? "", action: against ? "Compare"
          : "", busy: this.busy, examples: [], submit: () => this.#ask() })}
        ${against ? nothing : asking({ id: "other", label: "Another", text: other, action: "Compare", busy: this.busy, examples: [], submit: () => this.#ask() })}
      </div>
      ${problem(this.error)}
      ${this.sides.length && !this.error ? this.#both() : waiting(this.busy)}`;
  }

  #ask() {
    const value = (/** @type {string} */ id) =>
      /** @type {HTMLTextAreaElement | null} */ (this.querySelector(`#${id}`))?.value;
    this.app.go({ text: value("text") ?? "", other: value("other") ?? this.place.other, target: "" });
  }

  #what() {
    const others = this.app.models.filter((one) => one.name !== this.app.model.name && one.task === "classification");
    const choose = (/** @type {Event} */ event) =>
      this.app.go({ against: /** @type {HTMLSelectElement} */ (event.target).value, target: "" });
    return html`<label class="against">Compare <select @change=${choose}>
      <option value="" ?selected=${!this.place.against}>two texts</option>
      ${others.map((one) => html`<option value=${one.name} ?selected=${one.name === this.place.against}>with the model
        ${one.name}</option>`)}</select></label>`;
  }

  #both() {
    const [first, second] = this.sides;
    const alike = comparable(first.explanation, second.explanation);
    return html`<article class="result" aria-busy=${this.busy}>
      <div class="pair sides">${this.sides.map((side, i) => this.#side(side, i))}</div>
      <div class="below">${legend(this.app.scale, alike ? first.explanation.target
        : "the label")}${this.#target(first.explanation)}</div>
      ${alike ? this.#difference(first.explanation, second.explanation) : html`<p class="note">The two models have other
        labels, so one logit cannot be taken from the other.</p>`}
    </article>`;
  }

  /** @param {Explanation} first */
  #target(first) {
    const choose = (/** @type {Event} */ event) =>
      this.app.go({ target: /** @type {HTMLSelectElement} */ (event.target).value });
    return html`<label class="against">Explain the logit of <select @change=${choose}>
      ${Object.keys(first.logits).map((label) => html`<option value=${label}
        ?selected=${label === first.target}>${label}</option>`)}</select></label>`;
  }

  /** @param {Side} side @param {number} i */
  #side({ model, explanation }, i) {
    const rows = sumRows(explanation, wordParts(explanation), null, [], this.#shown[i]);
    const selected = this.#selected[i];
    const choose = (/** @type {number | null} */ number) => {
      this.#selected[i] = number === selected ? null : number;
      this.update();
    };
    const place = {
      ...this.place,
      view: "explain",
      model,
      text: explanation.text,
      other: "",
      against: "",
      removals: [],
    };
    return html`<section aria-label=${i ? "Second" : "First"}>
      ${this.place.against ? html`<p class="note">${model}</p>` : nothing}
      ${verdict(explanation, null)}
      <shaded-text .shown=${{
        text: explanation.text,
        selected,
        choose,
        words: explanation.words.flatMap((word) => markOf(word, word.score, this.app.scale)),
      }}></shaded-text>
      ${waterfall({
        rows,
        raw: false,
        open: selected === null ? null : `word ${selected}`,
        noun: "word",
        shut: null,
        shutTokens: new Set(),
        caption: `The logit of ${explanation.target}`,
        choose: (row) => choose(row.part?.number ?? null),
        more: () => {
          this.#shown[i] += 50;
          this.update();
        },
      })}
      <p><a href=${writePlace(place)}>Explain${i ? " the second" : " the first"}</a></p></section>`;
  }

  /** @param {Explanation} first @param {Explanation} second */
  #difference(first, second) {
    const rows = differenceRows(first, second, SHOWN);
    const end = endFor(largestDifference(rows));
    return html`<section class="difference"><h3>What makes the difference</h3>
      <table class="waterfall compared plain-bars"><caption>The second logit of ${first.target} less the first, word by
        word: it adds up as well.</caption>
      <thead><tr><th scope="col">word</th><th scope="col" class="drawn"><span
        class="hidden">bar</span>${axis(end)}</th><th scope="col" class="n">first</th><th scope="col"
          class="n">second</th><th scope="col" class="n">difference</th></tr></thead>
      <tbody>${rows.map(
        (
          row,
        ) => html`<tr class=${row.kind}><th scope="row"><span class="plain"><bdi>${row.name}</bdi></span></th><td
          class="drawn">${plainBar(row.difference / 1000, end)}</td>
        <td class="n was">${signed(row.before?.units ?? 0)}</td><td class="n was">${signed(row.now.units)}</td>
        <td class="n value ${row.difference > 0 ? "plus" : row.difference < 0 ? "minus"
          : ""}">${signed(row.difference)}</td></tr>`,
      )}</tbody></table></section>`;
  }
}

customElements.define("compare-view", CompareView);
