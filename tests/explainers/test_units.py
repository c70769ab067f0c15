"""Which explainers speak in the unit of the logit."""

from __future__ import annotations

from splade.explainers import EXPLAINERS


def test_lengths_and_sizes_are_no_logits() -> None:
    in_logits = {name for name in EXPLAINERS.names() if EXPLAINERS.get(name).in_logits}
    assert in_logits == {
        *("dla", "lime", "integrated_gradients", "gradient_shap", "gradient_x_input", "occlusion"),
        "empty",  # nothing is nothing in every unit
    }
