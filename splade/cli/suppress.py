"""`lexical-sae suppress`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from splade.cli.console import say
from splade.cli.errors import reports_errors
from splade.cli.options import ModelFolder, flag
from splade.cli.surgery import Key, Output, Person, Purpose, Reason, Role, account, check_place, load, save
from splade.errors import ConfigError
from splade.models.folder import check_model_folder
from splade.utils.one_line import one_line

LONGEST_NUMBER = 10  # digits; no vocabulary has as many tokens

Words = Annotated[
    list[str] | None,
    typer.Option("--word", help="Shut the tokens of this word, in all casings, pieces and senses. May be repeated."),
]
Tokens = Annotated[
    list[str] | None,
    typer.Option("--token", help="Shut this token, by its number or as the tokenizer writes it. May be repeated."),
]
Silenced = Annotated[
    list[str] | None,
    typer.Option("--silence", help="Let nothing speak wherever this word stands in a text. May be repeated."),
]

ConceptFile = Annotated[
    Path | None,
    typer.Option("--concept", help="Remove what this file of lexical-sae concept (concept.json) says to remove."),
]


@reports_errors
def suppress(
    model: ModelFolder,
    output: Output,
    word: Words = None,
    token: Tokens = None,
    silence: Silenced = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", help="Shut the tokens of the words here, one a line; or a list of the Lab (.json)."),
    ] = None,
    concept: ConceptFile = None,
    undo: Annotated[bool, flag("--undo", "Restore these instead; without any, all that was removed.")] = False,
    probe: Annotated[
        list[str] | None,
        typer.Option("--probe", help="A text whose logits before and after are kept in the record. May be repeated."),
    ] = None,
    person: Person = "",
    role: Role = "",
    reason: Reason = "",
    purpose: Purpose = "",
    key: Key = None,
) -> None:
    """Remove words from a model for good, and save what is left to another folder.

    Shutting a token takes its summand away for every input; the word's neighbours may still speak where it stands.
    Silencing a word lets nothing speak where it stands, though the backbone still reads it. Either is on the model's
    record (surgery.jsonl, a chain of hashes; see lexical-sae record) and its card, and can be undone.
    """
    if not undo and not any((word, token, silence, file, concept)):
        raise ConfigError(
            "There is nothing to remove; name a --word, --token or --silence, a --file of words, or a --concept."
        )
    check_model_folder(model)
    check_place(model, output)
    loaded = load(model)
    from splade.surgery.removal_list import RemovalList, read_removals
    from splade.surgery.suppress import restore, suppress_token_globally

    numbers = [int(one) if one.isdecimal() and len(one) < LONGEST_NUMBER else one for one in token or []]
    listed = RemovalList([], []) if file is None else read_removals(file)
    tokens: list[str | int] = [*(word or []), *numbers, *listed.shut]
    silenced, who = [*(silence or []), *listed.silence], account(person, role, reason, purpose)
    if concept is not None:
        from splade.surgery.concept_file import read_concept

        found, shut, spoken = read_concept(concept)
        tokens, silenced = [*tokens, *shut], [*silenced, *spoken]
        who = replace(who, groups={found.name: {"source": found.source}})
    operate = restore if undo else suppress_token_globally
    matched = operate(loaded, tokens, silenced, account=who, probes=probe or None, key=key)
    save(loaded, output)
    for sentence in matched.sentences(restored=undo):
        print(one_line(sentence))
    print(one_line(f"Removed from {output}: {', '.join(_removed(loaded)) or 'nothing'}."))
    if matched.unmatched:
        say(f"{len(matched.unmatched)} of the words matched nothing.")


def _removed(model: object) -> list[str]:
    shut, silenced = (getattr(model, name) for name in ("suppressed_words", "silenced_words"))
    return [*shut, *(f"{word} (silenced)" for word in silenced)]
