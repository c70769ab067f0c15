/** What grows while the server reads the test texts is asked for again, until it is done. */

import { View } from "./element.js";
import { fresh } from "./api.js";

/** Milliseconds between questions. */
const PAUSE = 4000;

export class SurveyView extends View {
  #timer = 0;

  disconnectedCallback() {
    clearTimeout(this.#timer);
  }

  /** Ask, take, and ask again while the server reads on.
   * @template {{survey: import("./types.js").Survey}} T
   * @param {string} path @param {object | undefined} body @param {(answer: T) => void} take */
  follow(path, body, take) {
    clearTimeout(this.#timer);
    return this.load(
      () => fresh(path, body),
      (/** @type {T} */ answer) => {
        take(answer);
        const { available, done } = answer.survey;
        if (available && !done && this.isConnected)
          this.#timer = setTimeout(() => this.follow(path, body, take), PAUSE);
      },
    );
  }
}
