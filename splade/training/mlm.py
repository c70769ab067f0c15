"""A short masked-language-model warm-up: a backbone without a trained head learns to say words before it classifies."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedTokenizerFast

from splade.config.numbers import is_auto
from splade.config.schema import Config
from splade.errors import ConfigError
from splade.models.backbone import Backbone
from splade.tasks import Task
from splade.training.constants import PROVISIONAL_LEARNING_RATE
from splade.training.optim import parameter_groups
from splade.utils.cuda import pick_dtype

# Share of positions that must be guessed, and what stands there instead (Devlin et al., 2019): the mask, any token, or
# the word itself, because after the warm-up the model reads whole texts without a mask.
GUESSED, MASKED, REPLACED = 0.15, 0.8, 0.1


class _MaskedLM(nn.Module):
    """Scores h·Eᵀ + b at chosen positions; E stays, all of the backbone that may learn and b do."""

    weight: Tensor

    def __init__(self, backbone: Backbone):
        super().__init__()
        self.backbone = backbone
        weight, bias = backbone.decoder()
        self.register_buffer("weight", weight)  # (V, d)
        self.bias = nn.Parameter(bias)  # (V,)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, chosen: Tensor) -> Tensor:
        """(n, V) scores where `chosen` (B, L) is true."""
        return self.backbone(input_ids, attention_mask)[chosen].float() @ self.weight.T + self.bias


def mlm_warmup(
    backbone: Backbone, tokenizer: PreTrainedTokenizerFast, task: Task, config: Config, batch_size: int
) -> list[dict[str, Any]]:
    """Teach `backbone` masked-token prediction on the training texts; returns lines for `metrics.jsonl`.

    It ends before the model is built, so that whatever holds on to the backbone as it was before training (frozen
    readers, anchors, thresholds) sees the warm one. It keeps no checkpoints: a resumed run does it again, and the same
    seed gives the same weights.
    """
    steps, training = config.training.mlm_warmup_steps, config.training
    if tokenizer.mask_token_id is None:
        raise ConfigError(
            "training.mlm_warmup_steps is set, but the tokenizer has no mask token to hide words behind; set it to 0."
        )
    device = backbone.input_embeddings().weight.device
    precision = pick_dtype(device, config.model.dtype)
    model = _MaskedLM(backbone).to(device)
    rate = PROVISIONAL_LEARNING_RATE if is_auto(training.learning_rate) else training.learning_rate
    optimizer = torch.optim.AdamW(parameter_groups([model], replace(training, learning_rate=rate)))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)  # falls to nothing
    generator = torch.Generator().manual_seed(config.seed)
    lines, window = [], torch.zeros(3)  # sums of loss, right guesses and guesses since the last line
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(config.seed)  # dropout; what comes after draws as it would have without
        backbone.train()
        for step, rows in zip(range(steps), _epochs(task, batch_size, config.seed), strict=False):
            batch = task.batch(rows)
            shown, chosen = mask_tokens(batch.input_ids, batch.attention_mask, tokenizer, generator)
            with torch.autocast(device.type, precision, enabled=precision != torch.float32):
                scores = model(shown.to(device), batch.attention_mask.to(device), chosen.to(device))  # (n, V)
            answers = batch.input_ids[chosen].to(device)
            loss = F.cross_entropy(scores.float(), answers, reduction="sum")
            (loss / max(1, len(answers))).backward()
            nn.utils.clip_grad_norm_(model.parameters(), training.max_grad_norm)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)  # also after the last step: the next training starts without
            schedule.step()
            right = (scores.argmax(1) == answers).sum()
            window += torch.tensor([float(loss.detach()), float(right), len(answers)])
            if (step + 1) % training.log_every == 0 or step + 1 == steps:
                loss_mean, accuracy = (window[:2] / window[2].clamp(min=1)).tolist()
                lines.append(
                    {"step": 0, "phase": "mlm", "mlm_step": step + 1, "mlm_loss": loss_mean, "mlm_accuracy": accuracy}
                )
                window = torch.zeros(3)
        backbone.eval()
    backbone.set_decoder_bias(model.bias)
    return lines


def _epochs(task: Task, batch_size: int, seed: int) -> Iterator[np.ndarray]:
    """Rows of batches, epoch after epoch without end."""
    batches = task.batches(batch_size, seed, shuffle=True)
    for epoch in itertools.count():
        yield from batches.epoch(epoch)


def mask_tokens(
    input_ids: Tensor, attention_mask: Tensor, tokenizer: PreTrainedTokenizerFast, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """The ids (B, L) with some hidden, and which positions (B, L) must be guessed; special tokens never are."""
    special = torch.isin(input_ids, torch.tensor(tokenizer.all_special_ids)) | (attention_mask == 0)
    chosen = (torch.rand(input_ids.shape, generator=generator) < GUESSED) & ~special
    how = torch.rand(input_ids.shape, generator=generator)
    any_token = torch.randint(len(tokenizer), input_ids.shape, generator=generator)
    shown = torch.where(chosen & (how < MASKED), torch.tensor(tokenizer.mask_token_id), input_ids)
    return torch.where(chosen & (how >= MASKED) & (how < MASKED + REPLACED), any_token, shown), chosen
