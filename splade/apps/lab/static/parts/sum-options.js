/** How a sum is shown: over words or tokens, rounded or as it is. */

import { html } from "../vendor/lit-html.js";

/** @param {"word" | "token"} by @param {boolean} raw @param {(by: "word" | "token") => void} setBy @param {(raw: boolean) => void} setRaw */
export function sumOptions(by, raw, setBy, setRaw) {
  return html`<div class="options" role="group" aria-label="How the sum is shown">
    <span class="switch">
      <button type="button" aria-pressed=${by === "word"} @click=${() => setBy("word")}>Words</button>
      <button type="button" aria-pressed=${by === "token"} @click=${() => setBy("token")}>Tokens</button>
    </span>
    <button type="button" class="quiet" aria-pressed=${raw} @click=${() => setRaw(!raw)}>All digits</button>
  </div>`;
}
