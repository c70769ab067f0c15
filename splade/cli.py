"""The command line: `lexical-sae train | evaluate | predict | explain | study`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.console import Console

from splade.errors import BackboneError, ConfigError, DataError
from splade.given_texts import read_texts
from splade.kindly import err, kindly
from splade.models.folder import check_model_folder
from splade.reporting.results_table import print_results
from splade.utils.one_line import one_line
from splade.utils.startup import startup

if TYPE_CHECKING:
    from splade.config.schema import Task
    from splade.data.given import Sentence
    from splade.models.lexical_sae import LexicalSAE

OneText = TypeVar("OneText")

# Texts read before their answers are printed: enough of them to batch those of similar length.
TEXTS_AT_A_TIME = 256

# transformers loads it, if it is there, for the losses of object detectors: a quarter of a second.
UNUSED = ("scipy",)

app = typer.Typer(
    help="Text classifiers and entity taggers whose every prediction is, exactly, a short sum of named words.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
out = Console()

Texts = Annotated[
    list[str] | None,
    typer.Argument(
        help="Texts, each read as a whole, line breaks and all; '-' reads one text a line from standard input."
    ),
]
ModelFolder = Annotated[Path, typer.Option("--model", help="Folder of a saved model, as in output_dir/model.")]
File = Annotated[
    Path | None,
    typer.Option(
        "--file",
        help="Read one text a line from this file; of a format with columns, the column that the model was trained on, "
        "or the one called 'text' or, for taggers, 'tokens'.",
    ),
]
Column = Annotated[str | None, typer.Option("--column", help="Column of --file to read.")]
Encoding = Annotated[
    str | None, typer.Option("--encoding", help="Encoding of --file, where it is not Unicode, such as cp1252.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object a text.")]
OwnFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FILE]",
        help="Own texts with their labels, the same as data.train_file; the run is called after it, and its results go "
        "to results/NAME, unless settings say otherwise.",
    ),
]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="YAML file of settings; without: the defaults.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the newest whole checkpoint.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an earlier run in output_dir.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Resolve, check and print everything, then stop.")]
TopK = Annotated[
    int | None,
    typer.Option("--topk", min=0, help="Taggers: the most tokens that a word keeps, its strongest; 0: all."),
]
Sets = Annotated[list[str] | None, typer.Option("--set", help="Change a setting: section.key=value. May be repeated.")]


def train_command(help_: str, task: Task | None = None):  # type: ignore[no-untyped-def]
    """A command that trains; with a `task`, only for that one."""

    @kindly
    def command(
        file: OwnFile = None,
        config: ConfigFile = None,
        set_: Sets = None,
        resume: Resume = False,
        overwrite: Overwrite = False,
        dry_run: DryRun = False,
    ) -> None:
        train_with(config, set_, file, resume=resume, overwrite=overwrite, dry_run=dry_run, task=task)

    command.__doc__ = help_
    return command


train = app.command("train")(
    train_command("Train a model, measure it on the test split, and leave model, results and report in output_dir.")
)

train_tagger = train_command(
    "Train a tagger, measure it on the test split, and leave model, results and report in output_dir.", task="tagging"
)


def train_with(
    config: Path | None,
    set_: list[str] | None,
    file: Path | None = None,
    *,
    resume: bool,
    overwrite: bool,
    dry_run: bool,
    task: Task | None = None,
) -> None:
    """The command `train`; with a `task`, settings that name none are for that one, and others are refused."""
    from splade.config.load import config_to_yaml, load_config
    from splade.own_file import settings_of_file

    if resume and overwrite:
        raise ConfigError("Both --resume and --overwrite were given; go on with the earlier run or begin anew.")
    overrides, decided = settings_of_file(file, config, set_ or [], task) if file is not None else ([], [])
    settings = load_config(config, [*overrides, *(set_ or [])], {"task": task} if task else None)
    if task and settings.task != task:
        raise ConfigError(
            f"The settings say task: {settings.task}, but this command is for {task}; leave task out, or use "
            "'lexical-sae train'."
        )
    for sentence in decided:
        err.print(sentence, highlight=False, markup=False, soft_wrap=True)
    with startup():  # seconds of imports, once the settings are right
        from splade.pipelines import overview, prepare, run_experiment

    if dry_run:
        ready = prepare(settings, resume=resume, overwrite=overwrite, dry_run=True)
        print(config_to_yaml(settings), end="")
        for sentence in (ready.dataset.source, *ready.notes):
            print(f"# {sentence}")
        print(f"# {overview(ready.dataset)}")
        unit = ready.dataset.train.unit
        print(f"# {ready.trainer.total} steps of {ready.batch_size} {unit}s, {ready.trainer.warmup} of them warm-up")
        return
    results = run_experiment(settings, resume=resume, overwrite=overwrite, console=err)
    if results:
        print_results(results, out)
        folder = Path(settings.output_dir)
        print(f"Report: {folder / 'report.html'}\nModel:  {folder / 'model'}")


@app.command()
@kindly
def evaluate(
    model: ModelFolder,
    config: Annotated[
        Path | None, typer.Option("--config", help="Settings of the data; what it does not have is as in the training.")
    ] = None,
    set_: Sets = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", help="Own test data, in the place of any other: the formats of data.test_file."),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", help="Also write the figures to this JSON file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as one JSON object.")] = False,
) -> None:
    """Measure a saved model on a test split."""
    check_model_folder(model)
    with startup():
        from splade.data.loader import load_test_split
        from splade.figures_file import check_output, write_figures
        from splade.measurement import measurement_settings
        from splade.models.backbone import Backbone
        from splade.models.lexical_sae import LexicalSAE
        from splade.pipelines import evaluate_model
        from splade.tasks import TASKS

    if output is not None:
        check_output(output)
    loaded = LexicalSAE.from_pretrained(model)
    settings, max_length = measurement_settings(loaded, model, config, set_ or [], file)
    numbered = loaded.record.get("numbered_labels") is True
    test = load_test_split(settings.data, settings.seed, loaded.labels, loaded.task, numbered)
    task = TASKS.get(loaded.task)(test, loaded.tokenizer, max_length, loaded.labels)
    notes = [*test.notes, *task.cut_note("test", max_length)]
    frozen = None
    try:
        frozen = Backbone.from_name(loaded.config.name, revision=loaded.config.revision)[0].to(loaded.device)
    except BackboneError as error:  # a model must be measurable without the hub it came from
        notes.append(f"grounding.frozen_share was left out: {error}")
    results = evaluate_model(loaded, task, settings, frozen=frozen, console=err)
    results |= {"task": loaded.task, "notes": [*notes, *results["findings"]]}
    if as_json:
        print(json.dumps(results))
    else:
        print_results(results, out)
    if output is not None:  # last: whatever happens to the file, the figures are there to read
        write_figures(output, results)


@app.command()
@kindly
def predict(
    model: ModelFolder,
    texts: Texts = None,
    file: File = None,
    column: Column = None,
    encoding: Encoding = None,
    as_json: AsJson = False,
    conll: Annotated[
        bool,
        typer.Option("--conll", help="Taggers: print a word and its tag a line, and a blank line after each text."),
    ] = False,
    topk: TopK = None,
) -> None:
    """Predict the label of texts; of a tagger, the entities in them.

    A classifier's line is the label, its probability and the text, parted by tabs. A tagger's is the text, each entity
    in it written as [TYPE probability words], where the probability is that of the tag of its least certain word. Each
    text is one line: a space stands for a line break, a tab and any other control character in it (in the columns of
    --conll an underscore, also for a space). --json has all as it is.
    """
    check_model_folder(model)
    if as_json and conll:
        raise ConfigError("Both --json and --conll were given; choose one of them.")
    loaded = _load(model, topk, only_tagger=conll)
    if loaded.task == "tagging":
        _tag(loaded, read_texts(texts, file, "tagging", column, _trained_on(loaded), encoding), as_json, conll)
        return
    from splade.inference import predict_batch

    cut = 0
    for part in _parts(read_texts(texts, file, "classification", column, _trained_on(loaded), encoding)):
        for p in predict_batch(loaded, part):
            cut += p.truncated
            if as_json:
                shown = {"text": p.text, "label": p.label, "probabilities": p.probabilities, "truncated": p.truncated}
                print(json.dumps(shown))
            else:
                print(f"{one_line(p.label)}\t{p.probabilities[p.label]:.4f}\t{one_line(p.text)}")
    _say_cut(cut, loaded.max_length)


def _load(folder: Path, topk: int | None, only_tagger: bool) -> LexicalSAE:
    """A saved model, capped as asked; `only_tagger`: whether something was asked for that only a tagger can do."""
    with startup(without=UNUSED):
        from splade.models.lexical_sae import LexicalSAE, check_task

        model = LexicalSAE.from_pretrained(folder)
    if only_tagger or topk is not None:
        check_task(model, "tagging")
    if topk is not None:
        model.topk_per_position = min(topk, model.vocab_size)  # more than all are all
    return model


def _trained_on(model: LexicalSAE) -> dict[str, str | None]:
    """The settings of `data` that a model was trained with, if it says so."""
    return (model.record.get("experiment") or {}).get("data") or {}


def _tag(model: LexicalSAE, texts: Sequence[Sentence], as_json: bool, conll: bool) -> None:
    from splade.reporting.tagged_terminal import print_tagged
    from splade.tagging import tag_batch

    cut = 0
    for tagged in (one for part in _parts(texts) for one in tag_batch(model, part)):
        cut += sum(word.truncated for word in tagged.words)
        if as_json:
            print(json.dumps(tagged.to_json()))
        elif conll:
            print(tagged.to_conll(), end="")
        else:
            print_tagged(tagged, out)
    _say_cut(cut, model.max_length, "word")


@app.command()
@kindly
def explain(
    model: ModelFolder,
    texts: Texts = None,
    file: File = None,
    column: Column = None,
    encoding: Encoding = None,
    target: Annotated[
        str | None, typer.Option("--target", help="Explain this label (tag) instead of the predicted one.")
    ] = None,
    as_json: AsJson = False,
    top: Annotated[int, typer.Option("--top", min=1, help="Summands named in each sum; the others share one.")] = 12,
    word: Annotated[
        int | None,
        typer.Option(
            "--word", min=0, help="Taggers: explain this word of each text, counted from 0, instead of its entities."
        ),
    ] = None,
    context: Annotated[
        bool,
        typer.Option("--context", help="Taggers: also estimate which other words mattered, by hiding each in turn."),
    ] = False,
    topk: TopK = None,
) -> None:
    """Show why: every prediction as a sum of vocabulary words that gives its logit.

    A tagger is explained word by word: each word of an entity, or the one that --word asks for.
    """
    check_model_folder(model)
    loaded = _load(model, topk, only_tagger=word is not None or context)
    if loaded.task == "tagging":
        wanted = read_texts(texts, file, "tagging", column, _trained_on(loaded), encoding)
        _explain_tags(loaded, wanted, as_json, top, word, target, context)
        return
    from splade.inference import explain_batch
    from splade.reporting.terminal import print_explanation

    texts = read_texts(texts, file, "classification", column, _trained_on(loaded), encoding)
    explanations = (one for part in _parts(texts) for one in explain_batch(loaded, part, target))
    cut = 0
    for number, explanation in enumerate(explanations):
        cut += explanation.truncated
        if as_json:
            print(json.dumps(explanation.to_json()))  # ASCII: some readers end lines at other characters too
        else:
            if number:
                out.print()
            print_explanation(explanation, out, top)
    if as_json:  # the table says it itself
        _say_cut(cut, loaded.max_length)


def _explain_tags(
    model: LexicalSAE,
    texts: Sequence[Sentence],
    as_json: bool,
    top: int,
    word: int | None,
    target: str | None,
    context: bool,
) -> None:
    from splade.reporting.tagged_terminal import print_explained_tags
    from splade.tagging import explain_tags_batch, no_such_word

    every = (
        one
        for part in _parts(texts)
        for one in explain_tags_batch(model, part, word=word, target=target, context=context)
    )
    cut = short = 0
    for number, found in enumerate(every):
        cut += sum(each.truncated for each in found.tagged.words)
        if word is not None and not found.explained:
            short += 1
            if len(texts) == 1:
                raise DataError(no_such_word(found.tagged, word))
            said = f"Text {number + 1}: {one_line(no_such_word(found.tagged, word))}"
            err.print(said, highlight=False, markup=False, soft_wrap=True)
        if as_json:
            print(json.dumps(found.to_json()))
            continue
        if number:
            out.print()
        print_explained_tags(found, out, top, whole=word is not None)
    _say_cut(cut, model.max_length, "word")
    if short and short == len(texts):
        raise DataError(f"None of the {short} texts has a word {word}, counted from 0; choose another.")


def _parts(texts: Sequence[OneText]) -> list[Sequence[OneText]]:
    """Some texts at a time, so that the first answers are printed while the last texts wait."""
    return [texts[start : start + TEXTS_AT_A_TIME] for start in range(0, len(texts), TEXTS_AT_A_TIME)]


def _say_cut(count: int, max_length: int, unit: str = "text") -> None:
    if count:
        err.print(f"{count} {unit}(s) were cut to the {max_length} tokens the model reads.", highlight=False)


@app.command()
@kindly
def rehash(model: ModelFolder) -> None:
    """Take a saved model for whole as it is now, after its files were changed on purpose.

    A model is refused where one of its files is not as it was saved. This writes their hashes anew, once they make a
    model that can be loaded.
    """
    from splade.models.saving import rehash_model

    changed = rehash_model(model)
    print(
        f"{model}: {', '.join(changed)} taken as changed on purpose." if changed else f"{model}: nothing had changed."
    )


def _make_writable() -> None:
    """A stream that is closed is written to in vain, and one of few characters gets escapes for the others."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        getattr(sys, name).reconfigure(errors="backslashreplace")


def main() -> None:
    """The whole command line."""
    from splade.studies.commands import app as studies

    _make_writable()
    app.add_typer(studies, name="study")
    app()


if __name__ == "__main__":  # `lexical-sae` itself begins in `splade.__main__`
    main()
