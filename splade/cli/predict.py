"""`lexical-sae predict`."""

from __future__ import annotations

import json
from functools import partial
from typing import Annotated

from splade.cli.answers import answers, load_model, say_cut, texts_for
from splade.cli.errors import reports_errors
from splade.cli.options import AsJson, Column, Encoding, File, ModelFolder, Texts, TopK, flag
from splade.errors import ConfigError


@reports_errors
def predict(
    model: ModelFolder,
    texts: Texts = None,
    file: File = None,
    column: Column = None,
    encoding: Encoding = None,
    as_json: AsJson = False,
    conll: Annotated[
        bool,
        flag("--conll", "Taggers: print a word and its tag a line, and a blank line after each text."),
    ] = False,
    topk: TopK = None,
) -> None:
    """Predict the label of texts; of a tagger, the entities in them.

    A classifier's line is the label, its probability and the text, parted by tabs. A tagger's is the text, each entity
    in it written as [TYPE probability words], where the probability is that of the tag of its least certain word. Each
    text is one line: a space stands for a line break, a tab and any other control character in it (in the columns of
    --conll an underscore, also for a space). --json has all as it is.
    """
    if as_json and conll:
        raise ConfigError("Both --json and --conll were given; choose one of them.")
    loaded = load_model(model, topk, for_tagger=conll)
    from splade import inference  # after the model: loading it is what takes the time
    from splade.cli.printers import PRINTERS

    printer, cut = PRINTERS.get(loaded.task), 0
    for answer in answers(texts_for(loaded, texts, file, column, encoding), partial(inference.predict, loaded)):
        cut += answer.cut
        if as_json:
            print(json.dumps(answer.to_json()))  # ASCII: some readers end lines at other characters too
        elif conll:
            print(answer.to_conll(), end="")
        else:
            printer.prediction(answer)
    say_cut(cut, loaded)
