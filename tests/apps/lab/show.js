async ([model, texts, removals]) => {
  // the page's own view, given one answer after another
  const read = READ;
  const view = document.querySelector("explain-view");
  const found = [];
  const post = async (path, asked) => {
    const headers = { "Content-Type": "application/json" };
    return (await fetch(path, { method: "POST", headers, body: JSON.stringify({ model, ...asked }) })).json();
  };
  const show = (result) => {
    view.result = result;
    view.draw();
    const { before, after } = result;
    const logits = [before, after ?? before].map((one) => one.logits[before.target]);
    found.push({ target: before.target, logits, ...read() });
  };
  const { labels } = (await (await fetch("/models")).json()).models.find((one) => one.name === model);
  for (const target of labels) {
    for (let i = 0; removals === null && i < texts.length; i += 50) {
      const { explanations } = await post("/explain", { texts: texts.slice(i, i + 50), target });
      for (const one of explanations) show({ text: one.text, before: one, after: null, answer: null, removals: [] });
    }
    for (const text of removals === null ? [] : texts)
      for (const listed of removals) {
        const all = (operation) => listed.filter((one) => one.operation === operation).map((one) => one.what);
        const asked = { shut: all("shut"), silence: all("silence"), delete: all("delete").map(Number) };
        const answer = await post("/suppress", { text, target, ...asked });
        show({ text, before: answer.before, after: answer.after, answer, removals: listed });
      }
  }
  return found;
};
