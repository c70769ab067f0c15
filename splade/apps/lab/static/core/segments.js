/** The text cut at its words, by UTF-16 offsets. Joined, the pieces give the text back, character for character. */

/** @template W
 * @typedef {{text: string, word: W | null}} Piece */

/** Words of a chunk: a long text is drawn chunk by chunk, as it comes into view. */
export const CHUNK = 300;

/** @template {{utf16_start: number, utf16_end: number}} W
 * @param {string} text @param {W[]} words In reading order.
 * @returns {Piece<W>[]} */
export function pieces(text, words) {
  /** @type {Piece<W>[]} */
  const found = [];
  let cursor = 0;
  for (const word of words) {
    if (word.utf16_start < cursor || word.utf16_start === word.utf16_end) continue; // no word's row, or one that overlaps
    if (word.utf16_start > cursor) found.push({ text: text.slice(cursor, word.utf16_start), word: null });
    found.push({ text: text.slice(word.utf16_start, word.utf16_end), word });
    cursor = word.utf16_end;
  }
  if (cursor < text.length) found.push({ text: text.slice(cursor), word: null });
  return found;
}

/** Pieces in chunks of at most `CHUNK` words.
 * @template W
 * @param {Piece<W>[]} all @returns {Piece<W>[][]} */
export function chunks(all) {
  /** @type {Piece<W>[][]} */
  const found = [];
  let room = 0;
  for (const piece of all) {
    if (room === 0) {
      found.push([]);
      room = CHUNK;
    }
    found[found.length - 1].push(piece);
    if (piece.word) room -= 1;
  }
  return found;
}
