/**
 * The shapes of the server's answers (docs/api.md), and those of the page. Types alone: nothing here runs.
 *
 * @typedef {{token: string, score: number}} SpokenToken A vocabulary token that spoke at a word.
 *
 * @typedef {object} Word A word of the text and what it adds to the target's logit.
 * @property {number | null} number Counted from 0; null: what arose at no word.
 * @property {string} word
 * @property {number} utf16_start
 * @property {number} utf16_end
 * @property {number} score
 * @property {SpokenToken[]} tokens
 * @property {number} [offset] Of a tagger: how many words to the right of the explained one.
 *
 * @typedef {object} Token A vocabulary token and what it adds.
 * @property {string} token
 * @property {number} score
 * @property {number} value
 *
 * @typedef {object} Sum A logit written out.
 * @property {string} label
 * @property {string} target
 * @property {Record<string, number>} logits
 * @property {Record<string, number>} probabilities
 * @property {number} bias
 * @property {boolean} constant_bias
 * @property {Word[]} words
 * @property {Token[]} tokens
 *
 * @typedef {Sum & {text: string, truncated: boolean, active_tokens: number}} Explanation
 *
 * @typedef {object} Entity
 * @property {string} type
 * @property {string} text
 * @property {number} utf16_start
 * @property {number} utf16_end
 * @property {number[]} words
 * @property {number} probability
 *
 * @typedef {object} TaggedWord
 * @property {number} number
 * @property {string} word
 * @property {number} utf16_start
 * @property {number} utf16_end
 * @property {string} tag
 * @property {number} probability
 *
 * @typedef {{text: string, entities: Entity[], words: TaggedWord[], explained: (Sum & {number: number})[]}} TaggedText
 *
 * @typedef {{before: number, deletion: number, direct: number, mask: number, after: number}} Change A logit before and
 *   after a removal: before + deletion + direct + mask = after.
 *
 * @typedef {object} Effect
 * @property {number | null} number
 * @property {{before: string, after: string}} label
 * @property {boolean} flipped
 * @property {Record<string, Change>} logits
 *
 * @typedef {{asked: string | number, operation: "shut" | "silence", names?: string[]}} Match
 *
 * @typedef {object} WhatIf
 * @property {string | null} shorter
 * @property {string | null} target
 * @property {boolean} head_only
 * @property {any} before
 * @property {any} after
 * @property {Effect[]} effects
 * @property {Match[]} matched
 * @property {Match[]} unmatched
 *
 * @typedef {"shut" | "silence" | "delete"} Operation
 * @typedef {{operation: Operation, what: string}} Removal `what`: a token, a word, or the number of a word in the text.
 *
 * @typedef {object} ModelEntry
 * @property {string} name
 * @property {"classification" | "tagging"} task
 * @property {string[]} labels
 * @property {number} max_length
 *
 * @typedef {object} Figure
 * @property {string} key
 * @property {string} title
 * @property {string} about
 * @property {string} shown
 * @property {string} beside
 * @property {boolean} headline
 *
 * @typedef {object} Run
 * @property {boolean} available
 * @property {string | null} reason
 * @property {{name: string, value: string}[]} about
 * @property {Figure[]} figures
 * @property {string[]} findings
 *
 * @typedef {ModelEntry & {vocabulary: number, removed: {tokens: string[], words: string[]}, run: Run}} ModelAbout
 *
 * @typedef {object} Survey How far the test texts are read.
 * @property {boolean} available
 * @property {string | null} reason
 * @property {number} texts That are read.
 * @property {number} of That the test split has.
 * @property {number} read So far.
 * @property {boolean} done
 * @property {number} rows
 * @property {string} unit
 * @property {number | null} scale
 *
 * @typedef {{word: string, mean: number, spread: number, rows: number}} CircuitWord
 * @typedef {{label: string, rows: number, words: CircuitWord[]}} Circuit
 * @typedef {{model: string, source: "survey" | "results" | null, survey: Survey, circuits: Circuit[]}} Circuits
 *
 * @typedef {object} Said Where a word said something.
 * @property {string} text
 * @property {number | null} number
 * @property {string} label
 * @property {string} gold
 * @property {string} target
 * @property {number} score
 * @property {number} utf16_start
 * @property {number} utf16_end
 *
 * @typedef {object} WordAbout
 * @property {string} word
 * @property {boolean} known
 * @property {string[]} names
 * @property {Survey} survey
 * @property {{label: string, mean: number, spread: number, rows: number}[]} labels
 * @property {Said[]} sentences
 * @property {string[]} similar
 *
 * @typedef {{mean: number, low: number, high: number}} Estimate
 * @typedef {{rate: Estimate, gap: Estimate | null, p: number | null, detectable: number | null}} GroupRate
 * @typedef {{name: string, texts: number, positives: number, negatives: number, fpr: GroupRate | null, fnr: GroupRate | null}} Group
 * @typedef {{section: string, title: string, about: string, columns: string[], rows: string[][], note: string}} ReportTable
 * @typedef {{run: Run, tables: ReportTable[], bias: {measured: boolean, groups: Group[]}}} DataAbout
 *
 * @typedef {object} Mistake
 * @property {string} text
 * @property {number | null} number
 * @property {string} gold
 * @property {string} label
 * @property {number} probability
 * @property {string | null} word
 * @property {number} utf16_start
 * @property {number} utf16_end
 * @property {number} pull
 *
 * @typedef {object} Mistakes
 * @property {Survey} survey
 * @property {number} total
 * @property {number} rows
 * @property {{word: string, mistakes: number, pull: number}[]} words
 * @property {Mistake[]} mistakes
 *
 * @typedef {object} Place What the page shows: all of it is in the link.
 * @property {string} view
 * @property {string} model Name; empty: the first served.
 * @property {string | null} text null: nothing was asked yet.
 * @property {string} other Compare: the second text.
 * @property {string} against Compare: the second model.
 * @property {string} target The label whose logit is explained; empty: the predicted one.
 * @property {number | null} word Of a tagger: the word explained.
 * @property {Removal[]} removals In the order they were made.
 * @property {string} query Words: what is searched for. Data: the word that misled.
 */
export {};
