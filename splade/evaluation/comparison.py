"""The comparison of explainers on some texts: asks each in turn, and keeps what it found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from typing import Annotated, TypeVar

import numpy as np
from pydantic import Field, TypeAdapter
from pydantic.dataclasses import dataclass as settings_dataclass

from splade.config.numbers import PositiveInt
from splade.config.variants import SETTINGS, Choices
from splade.evaluation.explained_texts import ComparedTexts, Decisions, Explained, explained
from splade.evaluation.explained_tokens import Bottleneck, TokenBounds, TokenValues, mean_values
from splade.evaluation.explainer_figures import ExplainerFigures, TextValues, explainer_figures, text_values
from splade.evaluation.explainer_findings import CONTROLS
from splade.evaluation.measure import NoParts, Parts
from splade.explainers import CHANCE_DRAWS, DLA, EXPLAINERS, Explainer, ExplainerParts, Lime, Subject
from splade.models.protocol import is_lexical

OF_MODELS = (
    *("dla", "lime", "integrated_gradients", "integrated_gradients_l2", "gradient_shap", "gradient_x_input"),
    *("gradient", "attention", "occlusion", *CONTROLS),
)
"""Ours, its rivals and the controls, in the order of the table; what is named besides explains itself."""

T = TypeVar("T")


@settings_dataclass(config=SETTINGS, frozen=True)
class ExplainersSettings:
    """Who is compared, and on how many texts."""

    explainers: Annotated[list[str], Choices("explainer"), Field(min_length=1)] = field(
        default_factory=lambda: list(OF_MODELS)
    )
    """The explainers that are compared; ours is `dla`."""
    explainers_texts: PositiveInt = 100
    """Texts that are explained; where they are long, slow explainers explain fewer, and the results say how many."""
    explainers_lime_texts: PositiveInt = 20
    """Of these, the ones that LIME explains: it asks for 5,000 shortened texts of each; equal ones are read once."""
    explainers_stability_texts: PositiveInt = 5
    """Of these, the ones that are explained again with four other seeds, whether or not anything is drawn."""


class Comparison:
    """Asks explainers about the same texts; what each has found is kept as soon as it is there."""

    def __init__(
        self,
        settings: ExplainersSettings,
        parts: ExplainerParts,
        compared: ComparedTexts,
        kept: Parts | None = None,
        advance: Callable[[int], None] = lambda explainers: None,
    ):
        self.settings, self.parts, self.compared = settings, parts, compared
        self.kept, self.advance = kept or NoParts(), advance

    def names(self, subject: Subject) -> list[str]:
        """The explainers that can explain a model."""
        lexical = is_lexical(subject.model)
        return [name for name in self.settings.explainers if lexical or not EXPLAINERS.get(name).by_words]

    def figures(self, subject: Subject) -> dict[str, ExplainerFigures]:
        """What each explainer is worth on a model, by its name; the subject's own name tells what is kept of it."""
        compared, seed = self.compared, self.parts.seed
        decisions = self._remembered(
            subject, "decisions", Decisions, lambda: Decisions.of(subject, compared.texts, seed)
        )
        said: dict[str, Explained] = {}
        for name in self.names(subject):
            said[name] = self._explained(EXPLAINERS.get(name)(self.parts), subject, decisions)
            self.advance(1)
        tokens = self._tokens(subject, decisions, said)
        values = {
            name: TextValues(text_values(of_texts, compared, decisions), tokens.get(name))
            for name, of_texts in said.items()
        }
        ours, timed = values.get(DLA.name), min(map(len, said.values()))
        return {
            name: explainer_figures(
                of_texts, values[name], decisions, seed, timed=timed, ours=None if name == DLA.name else ours
            )
            for name, of_texts in said.items()
        }

    def _explained(self, explainer: Explainer, subject: Subject, decisions: Decisions) -> Explained:
        settings = self.settings
        most = settings.explainers_lime_texts if explainer.name == Lime.name else settings.explainers_texts
        arguments = explainer, subject, self.compared, decisions, most, settings.explainers_stability_texts
        return self._remembered(subject, explainer.name, Explained, lambda: explained(*arguments))

    def _tokens(
        self, subject: Subject, decisions: Decisions, said: Mapping[str, Explained]
    ) -> dict[str, np.ndarray | None]:
        """By explainer, what it is worth at the bottleneck, on the texts that it explained."""
        if not is_lexical(subject.model):
            return {}
        bottleneck = Bottleneck(subject, self.compared.texts, decisions.classes)
        bounds = self._remembered(subject, "token-bounds", TokenBounds, bottleneck.bounds)
        found = {}
        for name, of_texts in said.items():
            values = partial(self._token_values, bottleneck, bounds, name, len(of_texts))
            found[name] = self._remembered(subject, f"{name}-tokens", TokenValues, values).table
        return found

    def _token_values(self, bottleneck: Bottleneck, bounds: TokenBounds, name: str, texts: int) -> TokenValues:
        """Of one that goes by chance, the mean over several draws."""
        explainer = EXPLAINERS.get(name)(self.parts)
        others = explainer.other_seeds(CHANCE_DRAWS) if explainer.by_chance else ()
        return TokenValues.of(mean_values([bottleneck.values(one, texts, bounds) for one in (explainer, *others)]))

    def _remembered(self, subject: Subject, name: str, kind: type[T], find: Callable[[], T]) -> T:
        """What an interrupted comparison has left behind, or else what is found now."""
        adapter, part = TypeAdapter(kind), f"{subject.name}-{name}"
        if (kept := self.kept.recall(part)) is not None:
            return adapter.validate_python(kept)
        found = find()
        self.kept.keep(part, adapter.dump_python(found, mode="json"))
        return found
