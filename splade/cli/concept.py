"""`lexical-sae concept`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from splade.cli.console import err
from splade.cli.errors import reports_errors
from splade.cli.options import ModelFolder, Sets, flag
from splade.cli.surgery import Key, Person, Purpose, Reason, Role, account, check_place, load, save
from splade.errors import ConfigError
from splade.models.folder import check_model_folder
from splade.utils.one_line import one_line

if TYPE_CHECKING:
    from splade.models.lexical_sae import LexicalSAE
    from splade.pipelines.concept import FoundConcept
    from splade.surgery.record import Account

CONCEPT = "concept.json"


Seed = Annotated[list[str] | None, typer.Option("--seed", help="A word that names the concept. May be repeated.")]
Seeds = Annotated[Path | None, typer.Option("--seeds", help="File of such words, one a line.")]
TextFile = Annotated[
    Path | None,
    typer.Option("--file", help="Texts with labels to find it in; without: the model's own training texts."),
]
GroupColumn = Annotated[
    str | None, typer.Option("--group-column", help="Column of names or shares: whom each text is about.")
]
Group = Annotated[str | None, typer.Option("--group", help="The group in it that is the concept.")]
Budget = Annotated[
    float, typer.Option("--budget", help="How much accuracy the removal may cost, as a share of the texts.")
]
Odds = Annotated[
    float, typer.Option("--odds", help="How many times as often as in other texts a word must surely be active.")
]
OutputIfAny = Annotated[
    Path | None, typer.Option("--output", help="Folder to save the model without the concept to; none may be there.")
]
Report = Annotated[Path | None, typer.Option("--report", help="Folder to write the words, the curve and its plot to.")]


@reports_errors
def concept(
    model: ModelFolder,
    seed: Seed = None,
    seeds: Seeds = None,
    file: TextFile = None,
    group_column: GroupColumn = None,
    group: Group = None,
    budget: Budget = 0.01,
    odds: Odds = 2.0,
    tokens_only: Annotated[bool, flag("--tokens-only", "Shut tokens, and silence no words.")] = False,
    output: OutputIfAny = None,
    report: Report = None,
    set_: Sets = None,
    person: Person = "",
    role: Role = "",
    reason: Reason = "",
    purpose: Purpose = "",
    key: Key = None,
) -> None:
    """Find the words that carry a concept, and measure what removing them leaves of it and what it costs.

    The concept is named by words (--seed), or by texts that are about it (--group). What carries it is found in
    training texts, by what words do there; how many to remove is measured on other texts: until probes find no more of
    it than chance would, or the budget is spent. With --output the model is saved without them, on its record (see
    lexical-sae record); lexical-sae suppress --concept REPORT/concept.json removes the same words from another model.
    """
    if not any((seed, seeds, group, group_column)):
        raise ConfigError("There is no concept to look for; name it with --seed, --seeds, or --group.")
    _check_places(model, output, report)
    from splade.surgery.targets import read_words

    words = [*(seed or []), *(read_words(seeds) if seeds is not None else [])]
    loaded = load(model)
    from splade.pipelines.concept import concept_examples, study_concept
    from splade.utils.progress import progress_bar

    found = study_concept(
        loaded,
        concept_examples(loaded, model, file=file, overrides=set_ or []),
        seeds=words,
        group=group,
        column=group_column,
        budget=budget,
        odds=odds,
        silence=not tokens_only,
        progress=partial(progress_bar, err),
    )
    _say(found)
    if report is not None:
        _write(report, loaded, found)
    if output is not None:
        _save(output, loaded, found, account(person, role, reason, purpose), key)


def _check_places(model: Path, output: Path | None, report: Path | None) -> None:
    """Before anything is read: that there is a model, and that what is written replaces nothing."""
    check_model_folder(model)
    if output is not None:
        check_place(model, output)
    if report is not None:
        _check_report(report)


def _save(output: Path, model: LexicalSAE, found: FoundConcept, who: Account, key: Path | None) -> None:
    """Save the model without the chosen words of the concept, on its record."""
    if not found.growth.chosen:
        raise ConfigError(f"Nothing is removed, so no model is saved to {output}; see above why, and change that.")
    from splade.surgery.suppress import suppress_token_globally

    tokens, silenced = found.concept.targets(model, found.growth.chosen)
    suppress_token_globally(model, tokens, silenced, account=found.account(who), key=key)
    save(model, output)
    print(one_line(f"Removed from {output}: {', '.join(found.concept.names(found.growth.chosen))}."))


def _say(found: FoundConcept) -> None:
    from splade.reporting.concept_report import HOW_TO_READ, curve_table, sentences

    print(found.concept.table())
    print()
    print(curve_table(found.growth))
    print(HOW_TO_READ)
    print()
    for sentence in sentences(found.concept, found.growth):
        print(one_line(sentence))


def _check_report(folder: Path) -> None:
    """Refuse a folder that cannot be written to, before minutes of work, or that holds something else."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        foreign = any(folder.iterdir()) and not (folder / CONCEPT).is_file()
    except OSError as error:
        raise ConfigError(f"--report {folder} cannot be written to ({error.strerror}); name another folder.") from error
    if foreign:
        raise ConfigError(f"--report {folder} holds other files, which are left alone; name another folder.")


def _write(folder: Path, model: LexicalSAE, found: FoundConcept) -> None:
    from splade.reporting.concept_report import write_page
    from splade.surgery.concept_file import write_concept

    try:
        write_concept(folder / CONCEPT, model, found.concept, found.growth.chosen, found.measured())
        write_page(folder, found.concept, found.growth)
    except OSError as error:
        raise ConfigError(f"--report {folder} cannot be written to ({error.strerror}); name another folder.") from error
    print(one_line(f"Written to {folder}: the words, the curve and its plot."))
