/** Questions to the server (docs/api.md). What was answered is kept: the server forgets every question. */

/** @typedef {import("./types.js").WhatIf} WhatIf */
/** @typedef {import("./types.js").Removal} Removal */

const KEY = "lexical-sae-key";

/** Answers that are kept, so that undo and going back need no question. */
const KEPT = 40;

/** How often a server that is busy is asked again. */
const RETRIES = 6;

/** A refusal, with the server's sentence. */
export class Refused extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** @type {Map<string, Promise<any>>} */
const kept = new Map();

/** @param {string} key */
export function useKey(key) {
  sessionStorage.setItem(KEY, key);
  kept.clear();
}

/** Ask, or remember what was answered.
 * @param {string} path @param {object} [body] A question; without one, the path is read. @returns {Promise<any>} */
export function ask(path, body) {
  const question = `${path} ${body ? JSON.stringify(body) : ""}`;
  let answer = kept.get(question);
  kept.delete(question);
  if (!answer) {
    answer = fresh(path, body);
    answer.catch(() => kept.delete(question));
  }
  kept.set(question, answer);
  if (kept.size > KEPT) kept.delete(/** @type {string} */ (kept.keys().next().value));
  return answer;
}

/** Ask the server anew: for what changes while it reads.
 * @param {string} path @param {object} [body] @returns {Promise<any>} */
export async function fresh(path, body) {
  for (let turn = 0; ; turn++) {
    const response = await fetch(path, request(body)).catch(() => {
      throw new Refused(0, "The server does not answer; see whether it is still running.");
    });
    if (response.ok) return response.json();
    const wait = Number(response.headers.get("Retry-After"));
    if ([429, 503].includes(response.status) && wait > 0 && turn < RETRIES) {
      await new Promise((resolve) => setTimeout(resolve, 1000 * Math.min(wait, 10)));
      continue;
    }
    const said = await response.json().catch(() => null);
    throw new Refused(response.status, said?.error?.message ?? `The server answered with status ${response.status}.`);
  }
}

/** @param {object} [body] @returns {RequestInit} */
function request(body) {
  const key = sessionStorage.getItem(KEY);
  /** @type {Record<string, string>} */
  const headers = key ? { "X-API-Key": key } : {};
  if (!body) return { headers, referrerPolicy: "no-referrer" };
  headers["Content-Type"] = "application/json";
  return { method: "POST", headers, body: JSON.stringify(body), referrerPolicy: "no-referrer" };
}

/** Half of a surrogate pair is no character, and JSON in UTF-8 cannot hold it.
 * @param {string} text */
export function wellFormed(text) {
  return text.replace(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g, "\uFFFD");
}

/** @param {string} model @param {string} text @param {string} target @param {number | null} [word] @returns {Promise<any>} */
export async function explain(model, text, target, word = null) {
  const asked = { model, texts: [text], ...(target ? { target } : {}), ...(word === null ? {} : { word }) };
  return (await ask("/explain", asked)).explanations[0];
}

/** @param {string} model @param {string} text @param {string} target @param {Removal[]} removals
 * @param {number | null} [word] @returns {Promise<WhatIf>} */
export function suppress(model, text, target, removals, word = null) {
  /** @param {string} operation */
  const listed = (operation) => removals.filter((one) => one.operation === operation).map((one) => one.what);
  const asked = { shut: listed("shut"), silence: listed("silence"), delete: listed("delete").map(Number) };
  return ask("/suppress", { model, text, ...asked, ...(target ? { target } : {}), ...(word === null ? {} : { word }) });
}
