/** A text whose words are shaded by what they add, on the one scale, and can be chosen.
 *
 * Words are spans and not buttons, which would be boxes of their own and break the order of right-to-left text. One of
 * them is in the tab order; arrow keys go on from it. A long text is drawn in chunks, as they come into view.
 */

import { html, nothing } from "../vendor/lit-html.js";
import { Element } from "../core/element.js";
import { rounded } from "../core/numbers.js";
import { shade } from "../core/scale.js";
import { chunks, pieces } from "../core/segments.js";

/** What is known of a word of the text.
 * @typedef {object} Mark
 * @property {number} number
 * @property {number} utf16_start
 * @property {number} utf16_end
 * @property {string} className How it is drawn.
 * @property {string} said What is said of it beside its letters.
 * @property {string} [badge] What stands behind it.
 * @property {string} [joined] How the gap up to the next word is drawn, where it belongs to the same thing. */

/** Chunks drawn at once. */
const AT_ONCE = 2;

/** Characters from which a text gets a frame of its own that scrolls. */
const LONG = 3000;

export class ShadedText extends Element {
  #text = "";
  /** @type {import("../core/segments.js").Piece<Mark>[][]} */
  #chunks = [];
  /** @type {Set<number>} */
  #drawn = new Set();
  /** @type {number | null} */
  #selected = null;
  #current = 0;
  /** @type {(number: number) => void} */
  #choose = () => {};
  /** @type {IntersectionObserver | null} */
  #observer = null;

  /** What to show. @param {{text: string, words: Mark[], selected: number | null, choose: (number: number) => void}} shown */
  set shown({ text, words, selected, choose }) {
    if (text !== this.#text) {
      this.#drawn = new Set([...Array(AT_ONCE).keys()]);
      this.#current = words[0]?.number ?? 0;
    }
    this.#text = text;
    this.#chunks = chunks(pieces(text, words));
    this.#choose = choose;
    if (selected !== null && selected !== this.#selected) this.#current = selected;
    this.#selected = selected;
    if (this.isConnected) this.draw();
  }

  draw() {
    super.draw();
    this.#observer ??= new IntersectionObserver((seen) => this.#see(seen), { rootMargin: "600px" });
    this.#observer.disconnect();
    for (const chunk of this.querySelectorAll(".unseen")) this.#observer.observe(chunk);
  }

  disconnectedCallback() {
    this.#observer?.disconnect();
  }

  template() {
    const long = this.#text.length > LONG;
    return html`<div class=${long ? "sentence long" : "sentence"} dir="auto" role="group"
      aria-label="The text, word by word; arrow keys move, Enter chooses" @click=${this.#click} @keydown=${this.#press}
      >${this.#chunks.map((chunk, i) => this.#chunk(chunk, i))}</div>`;
  }

  /** @param {import("../core/segments.js").Piece<Mark>[]} chunk @param {number} i */
  #chunk(chunk, i) {
    if (this.#drawn.has(i))
      return html`<span>${chunk.map((piece, i) => this.#piece(piece, chunk[i - 1]?.word?.joined))}</span>`;
    return html`<span class="unseen" data-chunk=${i}>${chunk.map((piece) => piece.text).join("")}</span>`;
  }

  /** @param {import("../core/segments.js").Piece<Mark>} piece @param {string} [joined] */
  #piece({ text, word }, joined) {
    if (!word) return joined ? html`<span class=${joined}>${text}</span>` : text;
    const { number, className, said, badge } = word;
    return html`<span class="word ${className}" role="button" data-number=${number} title=${said}
      tabindex=${number === this.#current ? 0 : -1} aria-pressed=${number === this.#selected} aria-label=${`${text}, ${said}`}>${text}</span>${badge ? html`<small class="badge">${badge}</small>` : nothing}`;
  }

  /** @param {IntersectionObserverEntry[]} seen */
  #see(seen) {
    const numbers = seen
      .filter((one) => one.isIntersecting)
      .map((one) => Number(/** @type {HTMLElement} */ (one.target).dataset.chunk));
    if (!numbers.length) return;
    for (const number of numbers) this.#drawn.add(number);
    this.draw();
  }

  /** @param {Event} event */
  #click = (event) => {
    const word = wordOf(event);
    if (!word) return;
    this.#current = Number(word.dataset.number);
    this.#choose(this.#current);
  };

  /** @param {KeyboardEvent} event */
  #press = (event) => {
    const word = wordOf(event);
    if (!word || event.ctrlKey || event.metaKey || event.altKey) return;
    const words = /** @type {HTMLElement[]} */ ([...this.querySelectorAll(".word")]);
    const at = words.indexOf(word);
    const leftward = getComputedStyle(word).direction === "rtl" ? 1 : -1;
    /** @type {Record<string, number>} */
    const steps = { ArrowLeft: at + leftward, ArrowRight: at - leftward, Home: 0, End: words.length - 1 };
    if (event.key === "Enter" || event.key === " ") this.#choose(Number(word.dataset.number));
    else if (event.key in steps) this.#focus(words[steps[event.key]]);
    else return;
    event.preventDefault();
  };

  /** @param {HTMLElement | undefined} word */
  #focus(word) {
    if (!word) return;
    this.#current = Number(word.dataset.number);
    this.draw();
    word.focus();
  }
}

/** @param {Event} event @returns {HTMLElement | null} */
function wordOf(event) {
  return event.target instanceof HTMLElement ? event.target.closest(".word") : null;
}

customElements.define("shaded-text", ShadedText);

/** A word of a sum as it is drawn: by what it adds, or that it is gone.
 * @param {{number: number | null, utf16_start: number, utf16_end: number}} word @param {number} score @param {number} scale
 * @param {"silenced" | "deleted" | ""} [gone] @returns {Mark[]} None for what is no word. */
export function markOf({ number, utf16_start, utf16_end }, score, scale, gone = "") {
  if (number === null) return [];
  return [{ number, utf16_start, utf16_end, className: gone || shade(score, scale), said: gone || rounded(score) }];
}

/** A text with one place marked, for lists.
 * @param {string} text @param {number} start @param {number} end @param {string} [mark] Class of the mark. */
export function markedText(text, start, end, mark = "") {
  if (start === end) return html`<span dir="auto">${text}</span>`;
  return html`<span dir="auto">${text.slice(0, start)}<mark class=${mark || nothing}>${text.slice(start, end)}</mark>${text.slice(end)}</span>`;
}
