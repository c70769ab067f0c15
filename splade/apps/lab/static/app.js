/** The page: which model, which view, and where one is. */

import { html, nothing } from "./vendor/lit-html.js";
import { ask, Refused, useKey, wellFormed } from "./core/api.js";
import { examplesOf } from "./core/examples.js";
import { Element, View } from "./core/element.js";
import { LONGEST_LINK, readPlace, writePlace } from "./core/place.js";
import { shadesFor, USUAL } from "./core/scale.js";
import { problem, waiting } from "./parts/notices.js";
import "./views/compare-view.js";
import "./views/data-view.js";
import "./views/explain-view.js";
import "./views/tagger-view.js";
import "./views/words-view.js";

/** @typedef {import("./core/types.js").Place} Place */
/** @typedef {import("./core/types.js").ModelEntry} ModelEntry */

const GUIDED = "lexical-sae-guided";

/** Milliseconds that a message stands over the page. */
const MESSAGE_STANDS = 5000;

const NAMES = { explain: "Explain", compare: "Compare", words: "Words", data: "Data and bias" };

export class App extends Element {
  place = readPlace(location.hash);
  /** @type {ModelEntry[]} */
  models = [];
  /** @type {import("./core/types.js").ModelAbout | null} */
  about = null;
  /** Texts to try. @type {string[]} */
  examples = [];
  scale = USUAL;
  guided = false;
  #error = "";
  #locked = false;
  #said = "";
  #saidFor = 0;

  connectedCallback() {
    super.connectedCallback();
    addEventListener("popstate", () => this.#arrive());
    this.#start();
  }

  async #start() {
    try {
      this.models = (await ask("/models")).models;
      this.guided = this.place.text === null && this.place.view === "explain" && !localStorage.getItem(GUIDED);
      await this.#learn();
    } catch (error) {
      this.refused(error);
      this.#error = this.#locked ? "" : String(error instanceof Error ? error.message : error);
      this.update();
    }
  }

  /** The model that is asked. */
  get model() {
    return this.models.find((one) => one.name === this.place.model) ?? this.models[0];
  }

  /** Learn about the model, then show it. The scale is asked for once, so that it holds for all texts and edits. */
  async #learn() {
    const { name } = this.model;
    const named = `?model=${encodeURIComponent(name)}`;
    const [about, words] = await Promise.all([ask(`/model${named}`), ask(`/words${named}`)]);
    const examples = await examplesOf(this.model, words.circuits);
    if (name !== this.model.name) return;
    this.about = about;
    this.examples = examples;
    this.scale = shadesFor(words.survey.scale);
    this.draw();
    this.#view()?.moved();
  }

  /** @returns {View | null} */
  #view() {
    const shown = this.querySelector("main > *");
    return shown instanceof View ? shown : null;
  }

  /** Go somewhere else, as a link would. @param {Partial<Place>} change @param {{replace?: boolean}} [how] */
  go(change, { replace = false } = {}) {
    const place = { ...this.place, ...change };
    // What was taken away from one text is not asked of another.
    if (place.text !== this.place.text && !("removals" in change)) [place.removals, place.word] = [[], change.word ?? null];
    if (typeof place.text === "string") place.text = wellFormed(place.text);
    place.other = wellFormed(place.other);
    const fragment = writePlace(place);
    const fits = fragment.length <= LONGEST_LINK;
    const link = fits ? fragment : writePlace({ ...place, text: null, other: "", removals: [] });
    if (!fits) this.say("The text is too long for a link.");
    if (replace || link === location.hash) history.replaceState(null, "", link);
    else history.pushState(null, "", link);
    this.#move(place);
  }

  #arrive() {
    this.#move(readPlace(location.hash));
  }

  /** @param {Place} place */
  #move(place) {
    const before = this.model?.name;
    this.place = place;
    if (this.model && this.model.name !== before) {
      this.about = null;
      this.draw();
      this.#learn().catch((error) => this.refused(error));
      return;
    }
    this.draw();
    this.#view()?.moved();
  }

  /** Say something to whoever cannot see it. @param {string} said */
  say(said) {
    this.#said = said;
    this.update();
    clearTimeout(this.#saidFor);
    this.#saidFor = setTimeout(() => {
      this.#said = "";
      this.update();
    }, MESSAGE_STANDS);
  }

  /** Something was refused: where it is for want of a key, ask for one. @param {unknown} error */
  refused(error) {
    if (error instanceof Refused && error.status === 401) {
      this.#locked = true;
      this.update();
    }
  }

  endGuide() {
    this.guided = false;
    localStorage.setItem(GUIDED, "1");
  }

  async copyLink() {
    try {
      await navigator.clipboard.writeText(location.href);
      this.say("The link is copied.");
    } catch {
      this.say("The address of this page is the link; copy it from there.");
    }
  }

  template() {
    return html`
      <a class="skip" href="#main" @click=${(/** @type {Event} */ event) => {
        event.preventDefault();
        /** @type {HTMLElement | null} */ (this.querySelector("main"))?.focus();
      }}>To the content</a>
      <header>
        <h1><span class="mark" aria-hidden="true">\u03a3</span>Lexical-SAE <span>Lab</span></h1>
        ${this.models.length ? [this.#nav(), this.#models()] : nothing}
      </header>
      <main id="main" tabindex="-1">${
        this.#locked ? this.#keyForm() : this.#error ? problem(this.#error) : this.about ? this.#shown() : waiting(true)
      }</main>
      <p class="said" role="status">${this.#said}</p>
      <footer><p>Every logit on this page is exactly the sum of what stands above it. Texts stay between this page and
        its server; a link holds its text after the \u201c#\u201d, which no browser sends.</p></footer>`;
  }

  #nav() {
    const { view } = this.place;
    const tagger = this.model.task === "tagging";
    const views = Object.entries(NAMES).filter(([key]) => key !== "compare" || !tagger); // sums of classes are compared
    return html`<nav aria-label="Views">${views.map(([key, name]) => {
      const fragment = writePlace({ ...this.place, view: key, query: "" });
      return html`<a href=${fragment} aria-current=${
        key === view || (key === "explain" && !views.some(([each]) => each === view)) ? "page" : nothing
      } @click=${(/** @type {MouseEvent} */ event) => this.#follow(event, key)}>${
        key === "explain" && tagger ? "Tagger" : name
      }</a>`;
    })}</nav>`;
  }

  /** @param {MouseEvent} event @param {string} view */
  #follow(event, view) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.go({ view, query: "" });
  }

  #models() {
    if (this.models.length < 2) return html`<p class="model">${this.model.name}</p>`;
    const choose = (/** @type {Event} */ event) =>
      this.go({
        model: /** @type {HTMLSelectElement} */ (event.target).value,
        target: "",
        removals: [],
        word: null,
        query: "",
      });
    return html`<label class="model"><span class="hidden">Model</span><select @change=${choose}>
      ${this.models.map(
        (one) => html`<option value=${one.name}
        ?selected=${one === this.model}>${one.name}</option>`,
      )}</select></label>`;
  }

  #keyForm() {
    const submit = (/** @type {SubmitEvent} */ event) => {
      event.preventDefault();
      useKey(/** @type {HTMLInputElement} */ (this.querySelector("#key")).value);
      this.#locked = false;
      this.#start();
    };
    return html`<form class="key" @submit=${submit}><label for="key">This server asks for its API key</label>
      <div class="box"><input id="key" type="password" autocomplete="off" required><button type="submit"
        class="primary">Use it</button></div>
      <p class="note">It is kept until this tab is closed.</p></form>`;
  }

  #shown() {
    const tagger = this.model.task === "tagging";
    if (this.place.view === "compare" && !tagger) return html`<compare-view .app=${this}></compare-view>`;
    if (this.place.view === "words") return html`<words-view .app=${this}></words-view>`;
    if (this.place.view === "data") return html`<data-view .app=${this}></data-view>`;
    return tagger ? html`<tagger-view .app=${this}></tagger-view>` : html`<explain-view .app=${this}></explain-view>`;
  }
}

customElements.define("lab-app", App);
