/** What the page shows, as the fragment of its address: a browser never sends it, so that no text reaches a log. */

/** @typedef {import("./types.js").Place} Place */
/** @typedef {import("./types.js").Removal} Removal */

export const VIEWS = ["explain", "compare", "words", "data"];

/** Longer addresses are cut or refused by browsers and programs that pass them on. */
export const LONGEST_LINK = 1_000_000;

const OPERATIONS = ["shut", "silence", "delete"];

/** @type {Place} */
export const START = {
  view: "explain",
  model: "",
  text: null,
  other: "",
  against: "",
  target: "",
  word: null,
  removals: [],
  query: "",
};

/** @param {string} fragment With or without its "#". @returns {Place} */
export function readPlace(fragment) {
  const [view, ...rest] = fragment.replace(/^#/, "").split("?");
  const found = new URLSearchParams(rest.join("?"));
  /** @type {Removal[]} */
  const removals = [];
  for (const [key, what] of found) {
    const number = key !== "delete" || /^\d{1,7}$/.test(what);
    if (OPERATIONS.includes(key) && number) removals.push({ operation: /** @type {any} */ (key), what });
  }
  const word = found.get("word") ?? "";
  return {
    view: VIEWS.includes(view) ? view : "explain",
    model: found.get("model") ?? "",
    text: found.get("text"),
    other: found.get("other") ?? "",
    against: found.get("against") ?? "",
    target: found.get("label") ?? "",
    word: /^\d{1,7}$/.test(word) ? Number(word) : null,
    removals,
    query: found.get("query") ?? "",
  };
}

/** @param {Place} place @returns {string} The fragment, "#" included; the same place gives the same bytes. */
export function writePlace(place) {
  const said = new URLSearchParams();
  if (place.model) said.append("model", place.model);
  if (place.text !== null) said.append("text", place.text);
  if (place.other) said.append("other", place.other);
  if (place.against) said.append("against", place.against);
  if (place.target) said.append("label", place.target);
  if (place.word !== null) said.append("word", String(place.word));
  if (place.query) said.append("query", place.query);
  for (const { operation, what } of place.removals) said.append(operation, what);
  const fragment = said.toString();
  return `#${place.view}${fragment ? `?${fragment}` : ""}`;
}
