/** Texts to try: test texts in which the words of the labels speak; of a model without any, sentences of ours. */

import { ask } from "./api.js";

/** @typedef {import("./types.js").WordAbout} WordAbout */

/** Labels, and sentences of a word, that are looked at. */
const LABELS = 4;
const SENTENCES = 20;

/** Characters of a text that is easily read. */
const SHORTEST = 30;
const LONGEST = 160;

const OWN = {
  classification: ["The plot is a mess, but the acting is wonderful.", "It is not bad, only a little too long."],
  tagging: ["Gerry Adams flew from New York to Belfast.", "Ann works for the World Bank in Paris."],
};

/** One text a label, the most frequent first: the shortest of those in which its strongest word said most.
 * @param {import("./types.js").ModelEntry} model @param {import("./types.js").Circuit[]} circuits
 * @returns {Promise<string[]>} */
export async function examplesOf({ name, task }, circuits) {
  const frequent = [...circuits].sort((a, b) => b.rows - a.rows).slice(0, LABELS);
  const words = frequent.flatMap((one) => one.words.slice(0, 1).map((word) => word.word));
  const answers = await Promise.all(words.map((word) => ask("/words", { model: name, word, limit: SENTENCES })));
  const found = answers.flatMap((/** @type {WordAbout} */ { sentences }) => {
    const texts = sentences.map((one) => one.text).filter(({ length }) => length >= SHORTEST && length <= LONGEST);
    return texts.sort((a, b) => a.length - b.length).slice(0, 1);
  });
  return found.length ? [...new Set(found)] : OWN[task];
}
