/** Data and bias: the figures of the run, groups and gaps, and mistakes by the word that misled. */

import { html, nothing } from "../vendor/lit-html.js";
import { ask } from "../core/api.js";
import { counted, grouped, rounded, share, MINUS } from "../core/numbers.js";
import { writePlace } from "../core/place.js";
import { SurveyView } from "../core/survey.js";
import { axis, interval } from "../parts/bars.js";
import { problem, progress, waiting } from "../parts/notices.js";
import { markedText } from "../parts/shaded-text.js";

/** @typedef {import("../core/types.js").DataAbout} DataAbout */
/** @typedef {import("../core/types.js").Mistakes} Mistakes */
/** @typedef {import("../core/types.js").GroupRate} GroupRate */

/** Mistakes of a page, and words that misled before the others are folded. */
const PAGE = 20;
const WORDS = 14;

export class DataView extends SurveyView {
  /** @type {DataAbout | null} */
  data = null;
  /** @type {Mistakes | null} */
  mistakes = null;
  #limit = PAGE;
  #allWords = false;
  #model = "";

  moved() {
    const model = this.app.model.name;
    if (this.#model !== model) [this.#model, this.data, this.mistakes] = [model, null, null];
    ask(`/data?model=${encodeURIComponent(model)}`).then(
      (answer) => {
        this.data = answer;
        this.update();
      },
      (error) => {
        this.error = String(error instanceof Error ? error.message : error);
        this.update();
      },
    );
    this.#limit = PAGE;
    this.#read();
  }

  #read() {
    const asked = { model: this.app.model.name, word: this.place.query || null, limit: Math.min(this.#limit, 100) };
    this.follow("/mistakes", asked, (/** @type {Mistakes} */ answer) => (this.mistakes = answer));
  }

  template() {
    return html`<h2 class="title">How good it is, and where it is wrong</h2>
      ${problem(this.error)}
      ${this.data ? this.#run(this.data) : nothing}
      ${this.data ? this.#bias(this.data) : nothing}
      ${this.mistakes ? this.#mistakes(this.mistakes) : waiting(this.busy)}
      ${this.data?.tables.length ? this.#tables(this.data) : nothing}`;
  }

  /** @param {DataAbout} data */
  #run({ run }) {
    if (!run.available) return html`<p class="note">${run.reason}</p>`;
    const headline = run.figures.filter((one) => one.headline);
    return html`<section aria-label="Figures">
      <dl class="figures">${headline.map((one) => html`<div><dt>${one.title}</dt><dd><b
        class="n">${one.shown}</b>${one.beside ? html`<span class="note n">${one.beside}</span>`
          : nothing}<small>${one.about}</small></dd></div>`)}</dl>
      ${run.findings.length ? html`<h3>Worth knowing</h3><ul
        class="findings">${run.findings.map((one) => html`<li>${one}</li>`)}</ul>` : nothing}
      <details><summary>About the run</summary><dl
        class="facts">${run.about.map((one) => html`<div><dt>${one.name}</dt><dd>${one.value}</dd></div>`)}</dl></details>
    </section>`;
  }

  /** @param {DataAbout} data */
  #bias({ bias }) {
    if (!bias.measured || !bias.groups.length) {
      return html`<section><h3>Groups</h3><p class="note">Errors by group were not measured: that needs a set with
        groups of people named, such as civilcomments.</p></section>`;
    }
    const rates = bias.groups.flatMap((one) => [one.fpr, one.fnr]);
    const most = Math.max(
      ...rates.flatMap((one) => (one?.gap ? [Math.abs(one.gap.low), Math.abs(one.gap.high)] : [])),
      0.05,
    );
    const end = Math.ceil(most * 20) / 20;
    return html`<section><h3>Groups</h3>
      <p class="note">Errors in texts about a group, beside those in all texts. A gap to the right is more errors; the
        line is a 95\u202f% interval, and one that crosses zero shows nothing.</p>
      ${this.#groups("False alarms", "fpr", data(bias.groups, "fpr"), end)}
      ${this.#groups("Misses", "fnr", data(bias.groups, "fnr"), end)}
    </section>`;
  }

  /** @param {string} title @param {string} key @param {{name: string, texts: number, rate: GroupRate}[]} rows @param {number} end */
  #groups(title, key, rows, end) {
    if (!rows.length) return nothing;
    const ends = Math.round(100 * end);
    return html`<table class="plain-bars groups"><caption>${title}: ${key === "fpr"
      ? "harmless texts taken for the other" : "texts of the label that were not found"}</caption>
      <thead><tr><th scope="col">texts about</th><th scope="col" class="drawn"><span class="hidden">gap, with its
        interval</span>${axis(ends)}</th>
      <th scope="col" class="n">gap, points</th><th scope="col" class="n">rate</th><th scope="col"
        class="n">texts</th></tr></thead>
      <tbody>${rows.map(
        ({
          name,
          texts,
          rate,
        }) => html`<tr><th scope="row"><bdi>${name}</bdi></th><td class="drawn">${rate.gap ? interval(rate.gap, end)
          : nothing}</td>
        <td class="n">${rate.gap ? html`<span class="value ${rate.gap.low > 0 ? "minus" : rate.gap.high < 0 ? "plus"
          : ""}">${points(rate.gap.mean)}</span> <small>${points(rate.gap.low)} to ${points(rate.gap.high)}</small>`
            : html`<small>too few</small>`}</td>
        <td class="n">${share(rate.rate.mean)}</td><td class="n was">${grouped(texts)}</td></tr>`,
      )}</tbody></table>`;
  }

  /** @param {Mistakes} found */
  #mistakes({ survey, total, rows, words, mistakes }) {
    const { query } = this.place;
    const shown = this.#allWords ? words : words.slice(0, WORDS);
    const unit = survey.unit || "text";
    return html`<section class="mistakes"><h3>Mistakes, by the word that misled</h3>
      ${progress(survey)}
      ${
        survey.available && rows
          ? html`<p class="note">${query ? html`${counted(total, "mistake")} where <b><bdi>${query}</bdi></b> misled
            most.` : html`${counted(total, "mistake")} in ${counted(rows, unit)}.`}
        A word's pull is what it adds to the wrong label less what it adds to the right one.</p>`
          : nothing
      }
      ${
        words.length || query
          ? html`<p class="chips" role="group" aria-label="Words that misled">
        <button type="button" aria-pressed=${!query} @click=${() => this.app.go({ query: "" })}>All</button>
        ${shown.map((one) => html`<button type="button" aria-pressed=${one.word === query}
          @click=${() => this.app.go({ query: one.word })}><bdi>${one.word}</bdi> <span
            class="n">${one.mistakes}</span><span class="hidden"> mistakes</span></button>`)}
        ${
          shown.length < words.length
            ? html`<button type="button" class="quiet" @click=${() => {
                this.#allWords = true;
                this.update();
              }}>${words.length - shown.length} more</button>`
            : nothing
        }
      </p>`
          : nothing
      }
      <ul class="said-where">${mistakes.map((one) => this.#mistake(one))}</ul>
      ${
        mistakes.length < total && this.#limit < 100
          ? html`<button type="button" @click=${() => {
              this.#limit += 40;
              this.#read();
            }}>More mistakes</button>`
          : nothing
      }
    </section>`;
  }

  /** @param {import("../core/types.js").Mistake} mistake */
  #mistake({ text, number, gold, label, probability, utf16_start, utf16_end, pull }) {
    const place = {
      ...this.place,
      view: "explain",
      text,
      target: number === null ? label : "",
      word: number,
      removals: [],
      query: "",
    };
    return html`<li><span class="n value minus">${rounded(pull)}</span>
      <div>${markedText(text, utf16_start, utf16_end, "n3")}
      <span class="note">taken for <b><bdi>${label}</bdi></b> (${share(probability)}), and is <b><bdi>${gold}</bdi></b>.
        <a href=${writePlace(place)}>Explain</a></span></div></li>`;
  }

  /** @param {DataAbout} data */
  #tables({ tables }) {
    return html`<section><h3>All tables of the run</h3>${tables.map(
      (
        one,
      ) => html`<details><summary>${one.section && one.section !== one.title ? `${one.section}: `
        : ""}${one.title}</summary><p class="note">${one.about}</p>
      <div class="wide" tabindex="0" role="region"
        aria-label=${one.title}><table><thead><tr>${one.columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${one.rows.map((row) => html`<tr>${row.map((cell, i) => (i ? html`<td>${cell}</td>` : html`<th
        scope="row">${cell}</th>`))}</tr>`)}</tbody></table></div>
      ${one.note ? html`<p class="note">${one.note}</p>` : nothing}</details>`,
    )}</section>`;
  }
}

/** @param {import("../core/types.js").Group[]} groups @param {"fpr" | "fnr"} key */
function data(groups, key) {
  return groups.flatMap((one) => {
    const rate = one[key];
    return rate ? [{ name: one.name, texts: one.texts, rate }] : [];
  });
}

/** A difference of rates in percentage points. @param {number} difference */
function points(difference) {
  const tenths = Math.round(1000 * difference);
  const digits = (Math.abs(tenths) / 10).toFixed(1);
  return tenths > 0 ? `+${digits}` : tenths < 0 ? MINUS + digits : digits;
}

customElements.define("data-view", DataView);
