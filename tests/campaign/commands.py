"""Command lines of every command: exit code 0 with right output, or 2 with one sentence."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from random import Random

import typer
import yaml

import splade.scripts
from splade import LexicalSAE, predict_batch
from splade.cli import app
from tests.builders import toy_reviews
from tests.campaign.answers import draw_answers
from tests.campaign.case import Trial
from tests.campaign.cli import Ran, invoke, script
from tests.campaign.settings import setting
from tests.campaign.trees import tree
from tests.campaign.verdicts import Refused, Wrong, expect, must_accept, must_refuse
from tests.campaign.workshop import CLASSIFIERS, COLUMNS, TAGGER, Workshop
from tests.runs import LABELS, sets, write_csv

SHORT = {"training__max_steps": 4, "evaluation__explain_samples": 1, "evaluation__max_samples": 8}
SCRIPTS = sorted(path.stem for path in Path(splade.scripts.__path__[0]).glob("run_*.py"))
DRY_STUDIES = ["ablation", "multi-dataset", "bcos-ablation", "frontier"]
ODD_VALUES = ["", "0", "-1", "1.5", "nonsense", "nowhere/x", ".", "/dev/null", "ä漢", "x" * 300, "0,,1", "a,b", "null"]
TRAINED = 0.15  # of the trainings that a dry run approves; each takes a second


def draw(rng: Random, workshop: Workshop) -> Trial:
    return rng.choices(list(KINDS), KINDS.values())[0](rng, workshop)  # type: ignore[arg-type]


def _train(rng: Random, workshop: Workshop) -> Trial:
    """Some random settings: a dry run writes nothing, and what it approves can be trained."""
    chosen = [setting(rng) for _ in range(rng.choice([1, 1, 2, 3]))]
    chosen = [each for each in chosen if not each.startswith("output_dir")]  # see the family of places
    whole = rng.random() < TRAINED
    flags = [flag for flag in ("--resume", "--overwrite") if rng.random() < 0.05]
    arguments = [*flags, *(part for each in chosen for part in ("--set", each))]

    def check(folder: Path) -> None:
        given = [*workshop.settings("out", **SHORT), *arguments]
        before = tree(folder)
        dry = invoke("train", "--dry-run", *given).succeeded()
        expect(tree(folder) == before, "a dry run has written something")
        expect(isinstance(yaml.safe_load(dry.stdout), dict), "a dry run prints no settings")
        if whole:
            ran = invoke("train", *given)
            diverged = "The loss became" in str(ran.refusal)  # which only the training can tell
            if isinstance(ran.refusal, Refused) and not diverged:
                raise Wrong(f"a dry run approved what the training refused: {ran.refusal}")
            _check_run(ran.succeeded(), folder / "out")

    return Trial(f"train{' --dry-run' if not whole else ''} {' '.join(arguments)}", check)


def _check_run(ran: Ran, folder: Path) -> None:
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    figure = results.get("accuracy", results.get("f1", results.get("entity_f1", math.nan)))
    expect(isinstance(figure, float) and 0 <= figure <= 1, f"the results have the figure {figure}")
    LexicalSAE.from_pretrained(folder / "model")
    expect("Model:" in ran.stdout, "the model's folder is not said")


def _train_a_file(rng: Random, workshop: Workshop) -> Trial:
    """`lexical-sae train mine.csv`."""
    texts, labels = toy_reviews(64, rng.randrange(1000))

    def check(folder: Path) -> None:
        write_csv(folder / "mine.csv", texts, [LABELS[label] for label in labels])
        values = [value for value in workshop.settings("out", **SHORT)[1::2] if "_file=" not in value]
        must_accept(lambda: invoke("train", "mine.csv", "--dry-run", *sets(values)).succeeded(), "train mine.csv")

    return Trial("train mine.csv --dry-run", check)


def _evaluate(rng: Random, workshop: Workshop) -> Trial:
    """A file of known texts: the accuracy is what predicting them gives."""
    name = rng.choice(list(CLASSIFIERS))
    texts, labels = toy_reviews(24, rng.randrange(1000))
    numbers = rng.random() < 0.3 and name != "numbered"
    short = rng.choice([None, None, 5, 8])
    if numbers:
        short = None
    description = f"evaluate {name} --file of {'numbers' if numbers else 'names'}, max_length {short}"

    def check(folder: Path) -> None:
        model = LexicalSAE.from_pretrained(workshop.model(name))
        written = labels if numbers or name == "numbered" else [LABELS[label] for label in labels]
        header = [COLUMNS["text"], COLUMNS["label"]] if name == "columns" else ["text", "label"]
        path = write_csv(folder / "own.csv", texts, written, header)
        more = ["--set", f"data.max_length={short}"] if short else []
        ran = invoke("evaluate", "--model", workshop.model(name), "--file", path, "--json", *more)
        if numbers:
            must_refuse(ran.succeeded, "numbers where the model knows names")
        if isinstance(ran.refusal, Refused) and not short:
            raise Wrong(f"refused a good file: {ran.refusal}")
        found = json.loads(ran.succeeded().stdout)["accuracy"]
        model.max_length = short or model.max_length
        names = model.labels if name == "numbered" else LABELS
        right = sum(p.label == names[label] for p, label in zip(predict_batch(model, texts), labels, strict=True))
        expect(math.isclose(found, right / len(texts)), f"accuracy {found:.3f}, but {right} of {len(texts)} are right")

    return Trial(description, check)


def _evaluate_again(rng: Random, workshop: Workshop) -> Trial:
    """From another directory than that of the training, and after words were suppressed."""
    suppressed = rng.random() < 0.5
    name = rng.choice([*CLASSIFIERS, TAGGER])

    def check(folder: Path) -> None:
        place = workshop.model(name)
        if suppressed:
            model = LexicalSAE.from_pretrained(place)
            model.suppress(["movie"])
            place = folder / "suppressed"
            model.save_pretrained(place)
        must_accept(lambda: invoke("evaluate", "--model", place, "--json").succeeded(), "a model to evaluate")

    return Trial(f"evaluate {name}{' after suppress' if suppressed else ''}", check)


def _noise(rng: Random, workshop: Workshop) -> Trial:
    """Any options of any command with any values; only how it ends is judged."""
    commands = {"predict": [], "explain": [], "evaluate": [], "train": ["--dry-run"]}
    commands |= {f"study {name}": ["--dry-run"] for name in DRY_STUDIES}
    name = rng.choice(list(commands))
    options = [option for parameter in _parameters(name) for option in parameter.opts if option.startswith("--")]
    arguments = list(commands[name])
    for option in rng.sample(options, min(len(options), rng.randint(0, 3))):
        arguments += [option] if rng.random() < 0.3 else [option, rng.choice(ODD_VALUES)]
    if name == "train" or name.startswith("study"):
        arguments += workshop.settings("out", **SHORT)
    elif rng.random() < 0.7:
        models = [workshop.model("named"), workshop.model(TAGGER), workshop.backbone, Path("nowhere")]
        arguments += ["--model", str(rng.choice(models))]
    shown = " ".join(arguments[: 8 if "study" in name or name == "train" else None])
    return Trial(f"{name} {shown}", lambda _: invoke(*name.split(), *arguments, stdin=b"good film\n").succeeded())


def _parameters(name: str) -> list[typer.models.ParameterInfo]:
    command = typer.main.get_command(app)
    for part in name.split():
        command = command.commands[part]  # type: ignore[attr-defined]
    return list(command.params)  # type: ignore[arg-type]


def _script(rng: Random, workshop: Workshop) -> Trial:
    """`python -m splade.scripts.run_…` with a setting that may be wrong; those without a dry run get one that is."""
    name = rng.choice(SCRIPTS)
    dry = name in ("run_experiment", "run_ner", *(f"run_{each.replace('-', '_')}" for each in DRY_STUDIES))
    chosen = ["--set", setting(rng)]
    if chosen[1].startswith("output_dir"):
        chosen = []
    wrong = rng.choice(
        [["--config", "nowhere.yaml"], ["--set", "nonsense=1"], ["--set", "training.epochs=-1"], ["--nonsense"]]
    )
    arguments = [*workshop.settings("out", **SHORT), *(["--dry-run", *chosen] if dry else wrong)]
    shown = " ".join(["--dry-run", *chosen] if dry else wrong)
    return Trial(f"{name} {shown}", lambda _: script(name, *arguments).succeeded())


KINDS: dict[Callable[[Random, Workshop], Trial], float] = {
    draw_answers: 0.35,
    _train: 0.25,
    _train_a_file: 0.02,
    _evaluate: 0.12,
    _evaluate_again: 0.06,
    _noise: 0.12,
    _script: 0.08,
}
