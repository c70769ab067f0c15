"""Post-hoc sparse autoencoders on the dense baseline: what they leave of it, beside ours, which leaves no error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

from pydantic import Field, TypeAdapter
from pydantic.dataclasses import dataclass as settings_dataclass

from splade.config.numbers import Positive, PositiveInt, Samples
from splade.config.variants import SETTINGS
from splade.errors import ConfigError
from splade.evaluation.code_figures import (
    RANDOM,
    CodeFigures,
    Fit,
    dense_figures,
    fitted_figures,
    own_active,
    own_figures,
)
from splade.evaluation.figure import (
    Drawing,
    Figure,
    Form,
    Key,
    Table,
    beside,
    percent,
    rows_of,
)
from splade.evaluation.measure import MEASURES, Measure, Scope, as_json
from splade.evaluation.sae_shown import COLUMNS, DENSE, OWN, compared, curves, said
from splade.evaluation.sampling import sampled
from splade.evaluation.splicing import training_vectors
from splade.mechanistic.sae import KINDS, has_sparsify, sparsify_version

OWN_TEXTS = 256
"""Training texts that our active tokens are counted on, for the autoencoders to have as many."""


@settings_dataclass(config=SETTINGS, frozen=True)
class SAESettings:
    """How large the autoencoders are, and how long they learn."""

    sae_expansion: PositiveInt = 4
    """Features of a post-hoc autoencoder, as a multiple of the width of the hidden states."""
    sae_active: Annotated[list[Positive], Field(min_length=1)] = field(default_factory=lambda: [1.0, 4.0, 16.0])
    """Active features of the autoencoders a prediction, as multiples of our active tokens."""
    sae_vectors: PositiveInt = 65_536
    """Hidden states of training texts that they are fitted to, all held in memory."""
    sae_steps: PositiveInt = 300
    """Steps that each of them learns, of 512 hidden states."""
    sae_texts: Samples = 1_000
    """Test texts they are measured on; -1: all that are explained."""


@dataclass(frozen=True)
class SAEResult:
    """All of them on the same texts."""

    models: dict[str, CodeFigures]
    """`own`, `dense`, and each autoencoder: its kind, active features a position, and `random` if its decoder is."""
    features: int
    vectors: int
    """Hidden states fitted to."""
    training_texts: int
    """That these are of."""
    own_active: float
    """Our active tokens a row of training texts."""
    positions: float
    """That the dense head reads a row."""
    texts: int
    """Measured on."""
    rows: int
    without_topk: bool
    """Whether `eai-sparsify` was missing."""


@MEASURES.register("sae")
class PostHocSAE(Measure[SAEResult]):
    """Autoencoders fitted to the dense baseline's hidden states of training texts, and spliced in on test texts."""

    Settings = SAESettings
    title = "Post-hoc autoencoders"
    about = (
        "Sparse autoencoders explain a model that is there already: they write the dense baseline's hidden states as a "
        "few of many learned features, and an error. Here they are fitted to training texts, and on test texts their "
        "reconstruction takes the place of the hidden states. Ours decides by its words and leaves no error. Features "
        "stand at positions and our tokens in a whole {unit}; so as many are active a position as make, over the "
        "positions that the dense head reads of a {unit}, our active tokens, or the multiples of "
        "`evaluation.sae_active`, in whole features; distinct features a {unit} are counted beside. The control is a "
        "decoder of random directions that never learns: what it reaches too is no sign of features that were found."
    )
    section = "sae"
    on_request = True
    reads = "sample"
    figures = (
        Figure(
            "sae.matched.accuracy",
            "accuracy through an autoencoder",
            "Accuracy of the dense baseline when what the sparsest autoencoder makes of its hidden states takes their "
            "place; it has about as many active features as we have tokens.",
            column="sae_accuracy",
            beside=compared,
        ),
        Figure(
            "sae.matched.fvu",
            "variance an autoencoder leaves out",
            "Share of the hidden states' variance that this autoencoder does not reconstruct. Ours leaves nothing out: "
            "its logits are sums of words.",
            Form(1, 100, "%"),
            better="lower",
            column="sae_fvu",
            beside=beside("random decoder {}", "sae.matched.random_fvu"),
        ),
        Figure(
            "sae.matched.error_share",
            "the error's share of logits",
            "Of what this autoencoder's features and its error add to the decided labels' logits, the error's.",
            better="lower",
            beside=beside("random decoder {}", "sae.matched.random_error_share"),
        ),
    )
    tables = (
        Table(
            "sae.models",
            "sae.models.<name>.{accuracy,cross_entropy}",
            "What a {unit} is decided by",
            "`own`: our model; `dense`: the dense baseline as it is; the others with the reconstruction of an "
            "autoencoder in the place of its hidden states: its kind, its active features a position, and `random` "
            "where the decoder is random. Of a tagger a row is a word, and `accuracy` that of single tags.",
            rows_of("sae.models", "decided by", COLUMNS, said),
        ),
    )
    drawings = (
        Drawing(
            "sae",
            "Accuracy through autoencoders, over their active features",
            "Higher and further left is better. A learned decoder is worth what it is above the dashed line of a "
            "random one.",
            curves,
        ),
    )
    keys = (
        Key(
            "sae.models.<name>.{active,strongest_r2,strongest_and_error_r2,error_share}",
            "not of `dense`: words or distinct features active, mean; R² over {units} of the decided labels' logits by "
            "the base and the ten strongest of them, and by these and the error; Σ|error| of Σ(|features| + |error|)",
        ),
        Key(
            "sae.models.<name>.{fvu,active_per_position,dead}",
            "of autoencoders: fraction of variance unexplained, active features a position that the head reads, share "
            "of features that no position activates",
        ),
        Key("sae.models.own.max_error", "largest gap between a logit and the sum of its words, all labels"),
        Key("sae.models.<name>.{accuracy_interval,cross_entropy_interval}.{low,high}", "95 %, by bootstrap over texts"),
        Key("sae.{features,vectors,training_texts}", "features of each, hidden states fitted to, texts these are of"),
        Key("sae.{own_active,positions}", "what was matched: our active tokens, and positions read, on training texts"),
        Key("sae.{texts,rows}, sae.matched.name", "measured on; the autoencoder of `sae.matched`"),
        Key("sae.without_topk", "whether TopK was left out, because eai-sparsify was not installed"),
    )

    @classmethod
    def check(cls, scope: Scope) -> None:
        if not (scope.config.dense_baseline if scope.to_train else scope.references.dense is not None):
            raise ConfigError(
                "The measure 'sae' looks into the dense baseline of a run, and there is none; train with --set "
                "evaluation.dense_baseline=true, or leave the measure out."
            )
        if not scope.to_train and scope.references.training is None:
            raise ConfigError(
                "The measure 'sae' is fitted to training texts, and those of this model are not at hand; put them "
                "where the training found them, or leave the measure out."
            )

    @classmethod
    def sources(cls, scope: Scope) -> list[str]:
        return [sparsify_version() or ""]

    def result(self) -> SAEResult:
        scope, settings = self.scope, self.scope.config.of(SAESettings)
        dense, training = scope.references.dense, scope.references.training
        assert dense is not None and training is not None, "checked before"
        fitted = training_vectors(dense, training, settings.sae_vectors, scope.config.batch_size, scope.seed)
        own = own_active(scope, training, fitted.texts[:OWN_TEXTS])
        features = settings.sae_expansion * fitted.values.shape[1]
        numbers = sorted({min(features, max(1, round(n * own / fitted.positions))) for n in settings.sae_active})
        texts = scope.rows[sampled(len(scope.rows), settings.sae_texts)[0]]
        kinds = [kind for kind in KINDS if kind != "topk" or has_sparsify()]
        models = self._part(OWN, lambda: {OWN: own_figures(scope, texts), DENSE: dense_figures(scope, dense, texts)})
        with scope.progress("fitting autoencoders", 2 * len(kinds) * len(numbers) * settings.sae_steps) as advance:
            for active in numbers:
                fit = Fit(kinds, fitted.values, features, active, settings.sae_steps, scope.seed)
                models |= self._part(str(active), partial(fitted_figures, scope, dense, texts, fit, advance))
        counts = (features, len(fitted.values), len(fitted.texts), own, fitted.positions)
        return SAEResult(models, *counts, len(texts), scope.task.size(texts), not has_sparsify())

    def _part(self, name: str, measure: Callable[[], dict[str, CodeFigures]]) -> dict[str, CodeFigures]:
        """What was measured of some models before it was interrupted, or is now."""
        form = TypeAdapter(dict[str, CodeFigures])
        if (kept := self.parts.recall(name)) is not None:
            return form.validate_python(kept)
        found = measure()
        self.parts.keep(name, form.dump_python(found, mode="json"))
        return found

    def findings(self, result: SAEResult) -> list[str]:
        found = []
        if result.without_topk:
            found.append(
                "TopK autoencoders were left out of the comparison, because eai-sparsify is not installed; pip install "
                "'lexical-sae[sae]' and measure again."
            )
        as_good = [
            f"{said(name)} ({percent(control.accuracy)} against {percent(learned.accuracy)})"
            for name, learned in result.models.items()
            if (control := result.models.get(name + RANDOM)) and control.accuracy >= learned.accuracy_interval.low
        ]
        if as_good:
            found.append(
                "A random decoder is, to within what these texts can tell, as accurate as a learned one in these "
                f"autoencoders: {'; '.join(as_good)}; there, accuracy is no sign that features were found."
            )
        return found

    @staticmethod
    def to_json(result: SAEResult) -> dict[str, Any]:
        models: dict[str, Any] = {}
        for name, figures in result.models.items():
            known = {key: value for key, value in as_json(figures).items() if value is not None}
            subsets = known.pop("accuracy_of")
            models[name] = known | {f"accuracy_{subset}": value for subset, value in subsets.items()}
        first = next(name for name in models if name not in (OWN, DENSE))  # the sparsest
        matched = {"name": first}
        for ending, start in (("", ""), (RANDOM, "random_")):
            matched |= {f"{start}{key}": models[first + ending][key] for key in ("accuracy", "fvu", "error_share")}
        return as_json(result) | {"models": models, "matched": matched}
