"""The models that a server answers for: found by name, loaded once, and never changed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from splade.apps.server.answers import SPEECH, Json
from splade.apps.server.encodings import RememberingModel
from splade.apps.server.errors import Refusal, invalid
from splade.apps.server.run import Run
from splade.apps.server.survey import Survey
from splade.errors import ConfigError, nearest
from splade.inference import check_target
from splade.models.folder import check_model_folder
from splade.models.lexical_sae import LexicalSAE
from splade.surgery.chain import read_chain
from splade.surgery.fingerprint import model_hash
from splade.task_description import describe
from splade.tasks import TASKS
from splade.utils.cuda import Precision

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Names of models: they stand in paths and in labels of metrics."""

USUAL_FOLDER = "model"
"""What a run calls the folder of its model, which is then named after the run."""

NO_DATA = "The server was told to show no test texts."

SHOWN_SETTINGS = ("support", "gate", "pooling", "head", "context", "topk_per_position")
"""Those of a model's settings that shape the sum."""


@dataclass(frozen=True)
class ServedModel:
    """One model under its name."""

    name: str
    model: RememberingModel
    about: Json
    """The answer of `/model`."""
    run: Run
    survey: Survey

    @classmethod
    def plain(cls, name: str, model: LexicalSAE, most_bytes: int) -> ServedModel:
        """A model that comes from no folder, and has no run."""
        run = Run(reason="The model comes from no folder.")
        unit = describe(model.task).unit
        survey = Survey.without("The model comes from no folder, so that it has no test texts.", unit, run)
        return cls(name, RememberingModel(model, most_bytes), _about(name, model, run), run, survey)

    @property
    def brief(self) -> Json:
        """An entry of `/models`."""
        return {key: self.about[key] for key in ("name", "task", "labels", "max_length")}

    def given(self, texts: Sequence[Any]) -> list[Any]:
        """Texts of a request, checked as its task reads them."""
        items: list[Any] = TASKS.get(self.model.task).given(texts).items
        return items

    def check_decides(self, asked: str) -> None:
        """Refuse a question that is for models of another task; `asked` is its path."""
        decides = SPEECH.get(self.model.task).decides
        if asked != decides:
            raise Refusal(
                422,
                "wrong_task",
                f"The model '{self.name}' does {self.model.task}, so {asked} is not for it; ask {decides}.",
            )

    def check_target(self, target: str | None) -> None:
        """Refuse a label that there is not."""
        if target is not None and target not in self.model.labels:
            try:
                check_target(self.model, target)
            except Exception as error:
                raise invalid(str(error)) from None

    def check_word(self, word: int | None) -> None:
        """Refuse a word to explain where whole texts are decided on."""
        if word is not None and SPEECH.get(self.model.task).decides != "/tag":
            raise Refusal(
                422,
                "wrong_task",
                f"The model '{self.name}' does {self.model.task} and explains whole texts, so word is not for it; "
                "leave it out.",
            )


class Models:
    """All models of a server, in the order in which they were named."""

    def __init__(self, models: Sequence[ServedModel]):
        self.all = {one.name: one for one in models}

    @property
    def default(self) -> ServedModel:
        return next(iter(self.all.values()))

    def get(self, name: str | None) -> ServedModel:
        """The one of a name; None: the default."""
        if name is None:
            return self.default
        if name not in self.all:
            known = ", ".join(self.all)
            raise Refusal(
                404,
                "unknown_model",
                f"No model is called '{name[:60]}' here; there are: {known}.{nearest(name, self.all)}",
            )
        return self.all[name]


def named_folders(asked: Sequence[str]) -> dict[str, Path]:
    """The folders of models by their names: `FOLDER`, or `NAME=FOLDER`."""
    folders: dict[str, Path] = {}
    for one in asked:
        name, equals, place = one.partition("=")
        folder = Path(place if equals else one).expanduser()
        if not equals:
            whole = folder.resolve()
            name = whole.parent.name if whole.name == USUAL_FOLDER else whole.name
        if not NAME.fullmatch(name):
            raise ConfigError(
                f"The model {folder} would be called '{name}', but a name is of letters, digits, '.', '_' and '-'; "
                f"name it with NAME={folder}."
            )
        if name in folders:
            raise ConfigError(f"Two models would be called '{name}'; name one of them with NAME={folder}.")
        folders[name] = folder
    return folders


def load(name: str, folder: Path, precision: Precision, most_bytes: int, *, data: bool) -> ServedModel:
    """A saved model, ready to answer; `data`: whether its run's test texts may be read and shown."""
    check_model_folder(folder)
    model = LexicalSAE.from_pretrained(folder)
    run = Run.beside(folder)
    about = _about(name, model, run)
    model.config = replace(model.config, dtype=precision)  # of the products in what is answered; no weight changes
    about["precision"] = _precision(model)
    survey = Survey.of(model, folder, run) if data else Survey.without(NO_DATA, describe(model.task).unit, run)
    return ServedModel(name, RememberingModel(model, most_bytes), about, run, survey)


def _about(name: str, model: LexicalSAE, run: Run) -> Json:
    """The answer of `/model`."""
    return {
        "name": name,
        "task": model.task,
        "labels": list(model.labels),
        "max_length": model.max_length,
        "hash": model_hash(model),
        "precision": _precision(model),
        "vocabulary": model.vocab_size,
        "settings": {key: _plain(getattr(model.config, key)) for key in SHOWN_SETTINGS},
        "removed": {"tokens": list(model.suppressed_words), "words": list(model.silenced_words)},
        "record": _record(model),
        "run": run.to_json(),
    }


def _precision(model: LexicalSAE) -> str:
    return str(model.precision).removeprefix("torch.")


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, list | tuple) else value


def _record(model: LexicalSAE) -> list[Json]:
    """The removals on record, as `/model` shows them."""
    rows = []
    for record in read_chain(model.surgery) if model.surgery else ():
        named: dict[str, list[str]] = {"token": [], "word": []}
        for one in record.asked:
            named.setdefault(one["what"], []).extend(one["names"])
        account = {key: str(record.account.get(key) or "") for key in ("person", "role", "reason", "purpose")}
        rows.append(
            {
                "number": record.number,
                "operation": record.operation,
                "when": record.time,
                **account,
                "removed": named["token"],
                "silenced": named["word"],
                "undoes": record.undoes,
            }
        )
    return rows
