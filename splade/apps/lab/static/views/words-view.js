/** Words: what each label means to the model, and what one word says. */

import { html, nothing } from "../vendor/lit-html.js";
import { ask } from "../core/api.js";
import { counted, rounded } from "../core/numbers.js";
import { writePlace } from "../core/place.js";
import { endFor } from "../core/scale.js";
import { SurveyView } from "../core/survey.js";
import { axis, plainBar, upwardAxis, upwardBar } from "../parts/bars.js";
import { problem, progress, waiting } from "../parts/notices.js";
import { markedText } from "../parts/shaded-text.js";

/** @typedef {import("../core/types.js").Circuits} Circuits */
/** @typedef {import("../core/types.js").WordAbout} WordAbout */

/** Words of a label, and labels, before the others are folded. */
const WORDS = 12;
const LABELS = 8;

/** Sentences asked for. */
const SENTENCES = 12;

export class WordsView extends SurveyView {
  /** @type {Circuits | null} */
  circuits = null;
  /** @type {WordAbout | null} */
  word = null;
  /** @type {Set<string>} */
  #whole = new Set();
  #filter = "";
  #wordError = "";

  moved() {
    const model = this.app.model.name;
    const { query } = this.place;
    this.follow(
      `/words?model=${encodeURIComponent(model)}`,
      undefined,
      (/** @type {Circuits} */ answer) => (this.circuits = answer),
    );
    if (query !== this.word?.word) [this.word, this.#wordError] = [null, ""];
    if (query) this.#ask(model, query);
  }

  /** @param {string} model @param {string} query */
  async #ask(model, query) {
    try {
      const answer = await ask("/words", { model, word: query, limit: SENTENCES });
      if (query !== this.place.query) return;
      [this.word, this.#wordError] = [answer, ""];
    } catch (error) {
      [this.word, this.#wordError] = [null, String(error instanceof Error ? error.message : error)];
    }
    this.update();
  }

  template() {
    const found = this.circuits;
    return html`<h2 class="title">What the model has learned</h2>
      <p class="lead">Each label is a list of words: what they add to it over the ${this.app.model.task === "tagging"
        ? "words" : "texts"} that were given the label. Search for a word to see what it says, and where.</p>
      ${this.#search()}
      ${problem(this.#wordError)}
      ${this.place.query && this.word ? this.#about(this.word) : waiting(Boolean(this.place.query && !this.#wordError))}
      ${problem(this.error)}
      ${found && !this.error ? this.#circuits(found) : waiting(this.busy)}`;
  }

  #search() {
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      this.app.go({ query: /** @type {HTMLInputElement} */ (this.querySelector("#word")).value.trim() });
    };
    return html`<form class="asking search" role="search" @submit=${submit}>
      <label for="word">A word</label>
      <div class="box"><input id="word" type="search" maxlength="200" autocomplete="off" spellcheck="false" dir="auto"
        .value=${this.place.query}>
      <button type="submit" class="primary">Look up</button></div></form>`;
  }

  /** @param {string} word @param {string} [className] */
  #link(word, className = "") {
    const go = (/** @type {MouseEvent} */ event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.app.go({ query: word });
      scrollTo({ top: 0 });
    };
    return html`<a class=${className || nothing} href=${writePlace({ ...this.place, query: word })}
      @click=${go}><bdi>${word}</bdi></a>`;
  }

  /** @param {WordAbout} about */
  #about(about) {
    const { word, known, names, labels, sentences, similar } = about;
    const end = endFor(Math.max(0.125, ...labels.map((one) => Math.abs(one.mean) + one.spread)));
    const unit = about.survey.unit || "text";
    return html`<article class="word-about">
      <h3><bdi class="headword">${word}</bdi> ${names.length && names.join() !== word ? html`<span class="note">tokens:
        ${names.map((name, i) => [i ? ", " : "", html`<bdi>${name}</bdi>`])}</span>` : nothing}</h3>
      ${known ? nothing : html`<p>The model has no token for it, so it says nothing under this name.</p>`}
      ${known && !labels.length ? html`<p>It speaks in none of the ${about.survey.available ? "test texts read so far"
        : "texts known here"}.</p>` : nothing}
      ${
        labels.length
          ? html`<table class="plain-bars"><caption>What it adds to each label's logit, in the mean over the ${unit}s
            where it speaks; the line is one standard deviation.</caption>
        <thead><tr><th scope="col">label</th><th scope="col" class="drawn"><span
          class="hidden">bar</span>${axis(end)}</th><th scope="col" class="n">mean</th><th scope="col"
            class="n">spread</th><th scope="col" class="n">${unit}s</th></tr></thead>
        <tbody>${labels.map(
          (
            one,
          ) => html`<tr><th scope="row"><bdi>${one.label}</bdi></th><td
            class="drawn">${plainBar(one.mean, end, one.spread)}</td>
          <td class="n value ${one.mean > 0 ? "plus" : "minus"}">${rounded(one.mean)}</td><td
            class="n was">${one.spread.toFixed(3)}</td><td class="n was">${one.rows}</td></tr>`,
        )}</tbody></table>`
          : nothing
      }
      ${sentences.length ? html`<h4>Where it said most</h4><ul
        class="said-where">${sentences.map((one) => this.#sentence(one))}</ul>` : nothing}
      ${similar.length ? html`<p class="similar"><span class="note">Words that begin like it:</span>
        ${similar.map((one) => [this.#link(one), " "])}</p>` : nothing}
    </article>`;
  }

  /** @param {import("../core/types.js").Said} said */
  #sentence(said) {
    const { text, target, score, label, gold, number } = said;
    const place = {
      ...this.place,
      view: "explain",
      text,
      target: number === null ? target : "",
      word: number,
      removals: [],
      query: "",
    };
    return html`<li><span class="n value ${score > 0 ? "plus" : "minus"}">${rounded(score)}</span>
      <div>${markedText(text, said.utf16_start, said.utf16_end, score > 0 ? "p3" : "n3")}
      <span class="note">to <bdi>${target}</bdi>; the data say <bdi>${gold}</bdi>${label === gold ? "" : html`, the
        model <bdi>${label}</bdi>`}.
      <a href=${writePlace(place)}>Explain</a></span></div></li>`;
  }

  /** @param {Circuits} found */
  #circuits(found) {
    const { circuits, survey } = found;
    const wanted = this.#filter.toLowerCase();
    const named = circuits.filter((one) => one.label.toLowerCase().includes(wanted));
    const shown = this.#whole.has("") || wanted ? named : named.slice(0, LABELS);
    const end = endFor(Math.max(0.0625, ...circuits.flatMap((one) => one.words.map((word) => Math.abs(word.mean)))));
    return html`<section aria-label="Words of the labels">${progress(survey)}
      ${
        circuits.length > LABELS
          ? html`<label class="filter">Labels with <input type="search" .value=${this.#filter} @input=${(
              /** @type {Event} */ event,
            ) => {
              this.#filter = /** @type {HTMLInputElement} */ (event.target).value;
              this.update();
            }}></label>`
          : nothing
      }
      ${found.source === null && !circuits.length ? html`<p>There is nothing to go by: the model's run left no test
        texts and no figures.</p>` : nothing}
      <div class="circuits">${shown.map((one) => this.#circuit(one, end, survey.unit || "text"))}</div>
      ${shown.length < named.length ? html`<p><button type="button" class="quiet" @click=${() => this.#unfold("")}>All
        ${named.length} labels</button></p>` : nothing}</section>`;
  }

  /** @param {string} label */
  #unfold(label) {
    this.#whole.add(label);
    this.update();
  }

  /** @param {import("../core/types.js").Circuit} circuit @param {number} end @param {string} unit */
  #circuit({ label, rows, words }, end, unit) {
    const shown = this.#whole.has(` ${label}`) ? words : words.slice(0, WORDS);
    const upward = words.every((one) => one.mean >= 0);
    return html`<section class="circuit"><h3><bdi>${label}</bdi> <span class="note">${rows
      ? `given to ${counted(rows, unit)}` : ""}</span></h3>
      ${
        words.length
          ? html`<table class="plain-bars"><caption class="hidden">Words that add most to ${label}, in the mean</caption>
        <thead><tr><th scope="col">word</th><th scope="col" class="drawn"><span class="hidden">bar</span>${upward
          ? upwardAxis(end) : axis(end)}</th><th scope="col" class="n">mean</th><th scope="col" class="n"
            title="standard deviation where it speaks">spread</th><th scope="col" class="n">${unit}s</th></tr></thead>
        <tbody>${shown.map(
          (
            one,
          ) => html`<tr><th scope="row">${this.#link(one.word)}</th><td class="drawn">${upward
            ? upwardBar(one.mean, end) : plainBar(one.mean, end)}</td>
          <td class="n value ${one.mean > 0 ? "plus" : "minus"}">${rounded(one.mean)}</td><td
            class="n was">${one.spread.toFixed(2)}</td><td class="n was">${one.rows}</td></tr>`,
        )}</tbody></table>
        ${shown.length < words.length ? html`<button type="button" class="quiet"
          @click=${() => this.#unfold(` ${label}`)}>${words.length - shown.length} more<span class="hidden"> words of
            ${label}</span></button>` : nothing}`
          : html`<p class="note">No word yet.</p>`
      }
    </section>`;
  }
}

customElements.define("words-view", WordsView);
