"""The command line: `lexical-sae train | evaluate | predict | explain | study`."""

from __future__ import annotations

import errno
import json
import logging
import os
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from splade.errors import BackboneError, ConfigError, DataError, LexicalSAEError
from splade.models.folder import check_model_folder

EXIT_USER, EXIT_INTERRUPTED = 2, 130

# Texts read before their answers are printed: enough of them to batch those of similar length.
TEXTS_AT_A_TIME = 256

# Ways a disk or a path refuses to be written to.
UNWRITABLE = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EROFS, errno.EPERM),
    *(errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP),
}

app = typer.Typer(
    help="Text classifiers whose every prediction is, exactly, a short sum of named words.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
out, err = Console(), Console(stderr=True)

Texts = Annotated[list[str] | None, typer.Argument(help="Texts; '-' reads one text a line from standard input.")]
ModelFolder = Annotated[Path, typer.Option("--model", help="Folder of a saved model, as in output_dir/model.")]
File = Annotated[Path | None, typer.Option("--file", help="Read one text a line from this file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object a text.")]
Sets = Annotated[list[str] | None, typer.Option("--set", help="Change a setting: section.key=value. May be repeated.")]


def run_kindly(command: Callable[[], None]) -> None:
    """Run a command; a user's mistake is one sentence and exit code 2, Ctrl-C is 130, neither shows a traceback."""
    from splade.training.interrupt import Interrupted

    logging.getLogger("transformers").setLevel(logging.ERROR)
    try:
        command()
    except LexicalSAEError as error:
        err.print(str(error), highlight=False, markup=False, soft_wrap=True)
        sys.exit(EXIT_USER)
    except Interrupted as error:
        err.print(f"{error} Go on with the same command and --resume.", highlight=False, markup=False, soft_wrap=True)
        sys.exit(EXIT_INTERRUPTED)
    except KeyboardInterrupt:
        err.print("Stopped.")
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        err.print(
            f"{error.filename or 'The output'} could not be written ({error.strerror}); what was saved before is "
            "untouched, so make room or choose another --set output_dir=… and go on with --resume.",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
        sys.exit(EXIT_USER)


def kindly(command):  # type: ignore[no-untyped-def]
    """A command of the app, run by `run_kindly`."""

    @wraps(command)
    def wrapped(*args: object, **kwargs: object) -> None:
        run_kindly(lambda: command(*args, **kwargs))

    return wrapped


@app.command()
@kindly
def train(
    config: Annotated[
        Path | None, typer.Option("--config", help="YAML file of settings; without: the defaults.")
    ] = None,
    set_: Sets = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the newest whole checkpoint.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier run in output_dir.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Resolve, check and print everything, then stop.")] = False,
) -> None:
    """Train a model, measure it on the test split, and leave model, results and report in output_dir."""
    from splade.config.load import config_to_yaml, load_config

    if resume and overwrite:
        raise ConfigError("Both --resume and --overwrite were given; go on with the earlier run or begin anew.")
    settings = load_config(config, set_ or [])
    from splade.pipelines import prepare, run_experiment  # seconds of imports, once the settings are right

    if dry_run:
        ready = prepare(settings, resume=resume, overwrite=overwrite, dry_run=True)
        print(config_to_yaml(settings), end="")
        for sentence in (ready.dataset.source, *ready.notes):
            print(f"# {sentence}")
        sizes = f"{len(ready.train)} training, {len(ready.validation)} validation, {len(ready.test)} test texts"
        print(f"# {sizes}; labels: {', '.join(ready.dataset.label_names)}")
        print(f"# {ready.trainer.total} steps of {ready.batch_size} texts, {ready.trainer.warmup} of them warm-up")
        return
    results = run_experiment(settings, resume=resume, overwrite=overwrite, console=err)
    if results:
        print_results(results)
        folder = Path(settings.output_dir)
        print(f"Report: {folder / 'report.html'}\nModel:  {folder / 'model'}")


@app.command()
@kindly
def evaluate(
    model: ModelFolder,
    config: Annotated[
        Path | None, typer.Option("--config", help="Settings that name the data; without: those of the training.")
    ] = None,
    set_: Sets = None,
    output: Annotated[Path | None, typer.Option("--output", help="Also write the figures to this JSON file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure a saved model on a test split."""
    check_model_folder(model)
    from splade.config.load import load_config
    from splade.data.loader import load_test_split
    from splade.models.backbone import Backbone
    from splade.models.lexical_sae import LexicalSAE
    from splade.pipelines import evaluate_model
    from splade.training.task import ClassificationTask

    if output is not None:
        _check_writable(output)
    loaded = LexicalSAE.from_pretrained(model)
    training = loaded.record.get("experiment")
    if config is None and training is None:
        raise ConfigError(f"{model} does not say which data it was trained on; name a settings file with --config.")
    settings = load_config(config, set_ or [], training if config is None else None)
    test = load_test_split(settings.data, settings.seed, loaded.labels)
    task = ClassificationTask(test, loaded.tokenizer, loaded.max_length)
    try:
        frozen = Backbone.from_name(loaded.config.name, revision=loaded.config.revision)[0].to(loaded.device)
        notes = []
    except BackboneError as error:  # a model must be measurable without the hub it came from
        frozen, notes = None, [f"grounding.frozen_share was left out: {error}"]
    results = evaluate_model(loaded, task, settings, frozen=frozen, console=err) | {"notes": notes}
    if output is not None:
        output.write_text(json.dumps(results, indent=1, ensure_ascii=False), encoding="utf-8")
    if as_json:
        print(json.dumps(results))
    else:
        print_results(results)


@app.command()
@kindly
def predict(model: ModelFolder, texts: Texts = None, file: File = None, as_json: AsJson = False) -> None:
    """Predict the label of texts."""
    check_model_folder(model)
    from splade.inference import predict_batch
    from splade.models.lexical_sae import LexicalSAE

    wanted = _texts(texts, file)
    loaded = LexicalSAE.from_pretrained(model)
    cut = 0
    for part in _parts(wanted):
        for p in predict_batch(loaded, part):
            cut += p.truncated
            if as_json:
                print(json.dumps({"text": p.text, "label": p.label, "probabilities": p.probabilities}))
            else:
                print(f"{p.label}\t{p.probabilities[p.label]:.4f}\t{p.text}")
    _say_cut(cut, loaded.max_length)


@app.command()
@kindly
def explain(
    model: ModelFolder,
    texts: Texts = None,
    file: File = None,
    target: Annotated[
        str | None, typer.Option("--target", help="Explain this label instead of the predicted one.")
    ] = None,
    as_json: AsJson = False,
    top: Annotated[int, typer.Option("--top", min=1, help="Rows of each table; the rest is one row.")] = 12,
) -> None:
    """Show why: every prediction as a sum of words that gives its logit."""
    check_model_folder(model)
    from splade.inference import explain_batch
    from splade.models.lexical_sae import LexicalSAE
    from splade.reporting.terminal import print_explanation

    wanted = _texts(texts, file)
    loaded = LexicalSAE.from_pretrained(model)
    explanations = (one for part in _parts(wanted) for one in explain_batch(loaded, part, target))
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


def _check_writable(file: Path) -> None:
    """A file that cannot be written must not come to light after minutes of work."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.open("a").close()
    except OSError as error:
        raise ConfigError(f"{file} cannot be written ({error.strerror}); name another file with --output.") from error


def _texts(texts: Iterable[str] | None, file: Path | None) -> list[str]:
    """Texts of the arguments, of a file, or of standard input."""
    wanted = list(texts or [])
    if file is not None:
        if wanted:
            raise DataError("Both texts and --file were given; give one of them.")
        try:
            return _lines(file.read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(
                f"{file} cannot be read as UTF-8 text ({error}); name a file with one text a line."
            ) from error
    if wanted == ["-"] or (not wanted and not sys.stdin.isatty()):
        return _lines(sys.stdin.buffer.read().decode("utf-8", "replace"))
    if "-" in wanted:
        raise DataError("'-' (standard input) was given beside other texts; give one or the other.")
    if not wanted:
        raise DataError("There is no text to read; give texts as arguments, --file FILE, or '-' for standard input.")
    return wanted


def _parts(texts: list[str]) -> list[list[str]]:
    """Some texts at a time, so that the first answers are printed while the last texts wait."""
    return [texts[start : start + TEXTS_AT_A_TIME] for start in range(0, len(texts), TEXTS_AT_A_TIME)]


def _say_cut(texts: int, max_length: int) -> None:
    if texts:
        err.print(f"{texts} text(s) were cut to the {max_length} tokens the model reads.", highlight=False)


def _lines(content: str) -> list[str]:
    """One text a line. Not `splitlines`, which also cuts at form feeds and other characters that texts may hold."""
    lines = content.split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]


def print_results(results: dict[str, Any]) -> None:
    """The headline figures as a table."""
    table = Table(title=results.get("experiment_name"), show_header=False)
    dense = results.get("dense")
    beside = f"  (dense head: {dense['accuracy']:.4f})" if dense else ""
    table.add_row("accuracy", f"{results['accuracy']:.4f}{beside}")
    table.add_row("macro F1", f"{results['macro_f1']:.4f}")
    active = results["active_tokens"]
    table.add_row(
        "active tokens a text", f"{active['mean']:.1f} of {results['vocab_size']:,} (95 % have ≤ {active['p95']:.0f})"
    )
    table.add_row(
        "identity, max error",
        f"{results['dla']['max_error']:.1e} over {results['evaluated']:,} texts, every class",
    )
    for share, kept in results["completeness"].items():
        if share in ("0.1", "0.5"):
            table.add_row(
                f"accuracy keeping {float(share):.0%}",
                f"{kept['accuracy']:.4f}  (random tokens: {kept['random_accuracy']:.4f})",
            )
    if three := results["completeness_tokens"].get("3"):
        table.add_row(
            "accuracy keeping 3 tokens", f"{three['accuracy']:.4f}  (random tokens: {three['random_accuracy']:.4f})"
        )
    separation = results["separation"]
    table.add_row(
        "circuits, cosine", f"{separation['cosine']:.2f} between classes, {separation['within_cosine']:.2f} within"
    )
    grounding = results["grounding"]
    table.add_row("contribution on words in the text", f"{grounding['input_share']:.0%}")
    table.add_row("own token strongest at its word", f"{grounding['self_activation']:.0%}")
    if lexicon := grounding.get("lexicon"):
        table.add_row(
            f"on words rated by {lexicon['name']}",
            f"{lexicon['coverage']:.0%}, of that {lexicon['right_sign']:.0%} of the right sign",
        )
    if dense:
        ratio = results["seconds"]["per_step"] / dense["seconds_per_step"]
        table.add_row("seconds a step", f"{results['seconds']['per_step']:.3f}  ({ratio:.2f} × the dense head's)")
    out.print(table)
    for note in results.get("notes", []):
        out.print(f"Note: {note}", highlight=False, markup=False, soft_wrap=True)


def main() -> None:
    """Entry point of the console command."""
    from splade.studies.commands import app as studies

    app.add_typer(studies, name="study")
    app()


if __name__ == "__main__":
    main()
