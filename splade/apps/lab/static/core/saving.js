/** Files that the page hands over. */

/** The list of removals as `lexical-sae suppress --file` reads it. What is deleted from a text is no removal from a
 * model, so it is not in it.
 * @param {import("./types.js").Removal[]} removals @param {string} model */
export function removalList(removals, model) {
  /** @param {string} operation */
  const listed = (operation) => [
    ...new Set(removals.filter((one) => one.operation === operation).map((one) => one.what)),
  ];
  return `${JSON.stringify({ model, shut: listed("shut"), silence: listed("silence") }, null, 2)}\n`;
}

/** Hand a file over as a download.
 * @param {string} name @param {string} content @param {string} type */
export function download(name, content, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href));
}
