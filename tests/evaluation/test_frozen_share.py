"""Would the untrained backbone also put these words there?"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from splade.config.schema import EvaluationConfig
from splade.data.types import TextSplit
from splade.evaluation import frozen_share
from splade.evaluation.frozen_share import FrozenShare
from splade.evaluation.measure import References
from splade.evaluation.run import evaluate
from splade.models.backbone import Backbone
from splade.tasks import ClassificationTask
from tests.builders import build_model, toy_reviews


def test_an_untrained_model_says_what_the_frozen_backbone_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a support that holds each position's highest scores, all contribution is on the backbone's proposals."""
    model = build_model(tmp_path, "full", exclude_stop_words=False, active=4)
    task = ClassificationTask(TextSplit(*toy_reviews(12)), model.tokenizer, 64)
    frozen, _ = Backbone.from_name(str(tmp_path / "bert"))
    frozen.eval()

    def share() -> float:
        config = EvaluationConfig(batch_size=8, measures=["frozen_share"])
        found = evaluate(model, task, config, share=0.1, references=References(lambda: frozen))[
            FrozenShare
        ].frozen_share
        assert found is not None
        return found

    assert share() == pytest.approx(1.0)
    monkeypatch.setattr(frozen_share, "FROZEN_TOP", 1)
    few = share()
    assert 0 < few < 1
    with torch.no_grad():  # a model that has drifted away from the backbone it came from
        model.encoder.weight.copy_(model.encoder.weight.flip(0))
    assert share() < few
