/** What the page's elements have in common: a template, drawn into the element itself, once a turn at most. */

import { render } from "../vendor/lit-html.js";

export class Element extends HTMLElement {
  #asked = false;

  connectedCallback() {
    this.update();
  }

  /** Draw soon. */
  update() {
    if (this.#asked) return;
    this.#asked = true;
    queueMicrotask(() => {
      this.#asked = false;
      if (this.isConnected) this.draw();
    });
  }

  /** Draw now. */
  draw() {
    render(this.template(), this);
  }

  /** What is drawn. @returns {unknown} */
  template() {
    return "";
  }
}

/** A view: it loads what its place asks for and draws it. `app` goes to other places. */
export class View extends Element {
  /** @type {import("../app.js").App} */
  app = /** @type {any} */ (null);
  /** The sentence of what went wrong; empty: nothing did. */
  error = "";
  /** Whether an answer is awaited. */
  busy = false;
  #turn = 0;

  /** @returns {import("./types.js").Place} */
  get place() {
    return this.app.place;
  }

  /** The place has changed. */
  moved() {}

  /** Load something; what was asked for earlier and comes later is dropped.
   * @template T @param {() => Promise<T>} ask @param {(answer: T) => void} take */
  async load(ask, take) {
    const turn = ++this.#turn;
    this.busy = true;
    this.update();
    try {
      const answer = await ask();
      if (turn !== this.#turn) return;
      this.error = "";
      take(answer);
    } catch (error) {
      if (turn !== this.#turn) return;
      this.error = error instanceof Error ? error.message : String(error);
      this.app.refused(error);
    }
    this.busy = false;
    this.update();
  }
}
