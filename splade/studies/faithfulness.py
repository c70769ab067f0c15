"""Faithfulness of one run: trained if need be, beside the dense baseline, then measured at the bottleneck and at the
words of the text, against the explainers that any model can have."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from rich.console import Console

from splade.config.schema import Config
from splade.errors import ConfigError
from splade.evaluation.run import measures_for
from splade.studies.study import Part, State, carry_out, check_classification, part_states
from splade.studies.variations import Variation

NAME = "faithfulness"

MEASURES = ("eraser", "removability", "deletion", "explainers")
"""What is measured, beside all that a training measures anyway."""

LEAST_TO_DO: tuple[State, ...] = ("finished", "measured otherwise", "begun", "new", "other")
"""What may be there of the run, with a dense baseline or without; of two, the one that is further on is taken."""


def faithfulness_study(config: Config, *, overwrite: bool = False, console: Console | None = None) -> dict[str, Any]:
    """The results of the run in `output_dir`, which is trained if there is none, and its explanations measured.

    A finished run is not trained again: only what was not measured is. If it has no dense baseline, explainers are
    compared on our model alone.
    """
    check_classification(NAME, config)
    console, folder = console or Console(quiet=True), Path(config.output_dir)
    both = [_asking_for(config, dense) for dense in (True, config.evaluation.dense_baseline)]
    states = part_states([Part(Variation(NAME, {}), each) for each in both])
    wanted, state = min(zip(both, states, strict=True), key=lambda pair: LEAST_TO_DO.index(pair[1]))
    if state == "other" and not overwrite:
        raise ConfigError(
            f"{folder} holds a run with other settings or data; run it again with --overwrite, or choose another with "
            "--set output_dir."
        )
    carry_out(wanted, state, console)
    results: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return results


def _asking_for(config: Config, dense: bool) -> Config:
    """The settings, with the measures of faithfulness beside those they ask for."""
    asked = config.evaluation.measures
    if asked is None:
        asked = [measure.name for measure in measures_for(config.task) if not measure.on_request]
    evaluation = dataclasses.replace(
        config.evaluation, measures=list(dict.fromkeys([*asked, *MEASURES])), dense_baseline=dense
    )
    return dataclasses.replace(config, evaluation=evaluation)
