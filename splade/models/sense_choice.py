"""Which tokens get several senses, and where their senses start: from what the backbone makes of them in the texts."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from splade.config.schema import ModelConfig
from splade.data.batching import EncodedTexts, collate, longest_first
from splade.errors import ConfigError
from splade.models.backbone import Backbone
from splade.models.vocabulary import Vocabulary

# Training texts that `auto` reads, a seeded sample.
TEXTS_READ = 2_000

# A token that occurs less often in them is not judged: two means of a handful of states explain half of any variance.
FEWEST_OCCURRENCES = 20

# Occurrences of a token that are kept; more would not move the means.
MOST_OCCURRENCES = 200

# Tokens that `auto` chooses at the most: those whose states fall most clearly into groups.
MOST_TOKENS = 100

# k-means: how often it begins anew, and how often the means move; a few dozen states settle sooner.
STARTS, ROUNDS = 4, 10

# Share of the variance of a token's hidden states that M means must explain for it to count as ambiguous. Of
# twenty states drawn from one round cloud in 384 dimensions two means explain 0.06, of two hundred 0.01.
LEAST_EXPLAINED = 0.2


def choose_senses(
    config: ModelConfig, backbone: Backbone, tokenizer: PreTrainedTokenizerFast, texts: EncodedTexts, seed: int
) -> tuple[list[int], Tensor] | None:
    """The tokens, ascending, and the means (n, M, d) their senses start from; None when senses are not asked for.

    `auto` takes the whole words whose hidden states M means explain best: 1 − Σ‖h − mean‖²/Σ‖h − h̄‖², at least
    LEAST_EXPLAINED, over at least FEWEST_OCCURRENCES occurrences.
    """
    if config.senses == 1:
        return None
    vocabulary = Vocabulary.from_tokenizer(tokenizer, backbone.vocab_size)
    rows = np.random.default_rng(seed).permutation(len(texts))
    if config.sense_tokens != "auto":
        tokens = vocabulary.tokens_of(config.sense_tokens, "model.sense_tokens")
        states = _hidden_states(backbone, tokenizer, texts, _enough(texts, rows, tokens), tokens)
        starts = [_means(states[token], config.senses, seed)[0] for token in tokens]
        return tokens, torch.stack(starts)
    rows = np.sort(rows[:TEXTS_READ])
    counts = np.bincount(np.concatenate([texts[row] for row in rows]), minlength=backbone.vocab_size)
    fit = (vocabulary.whole_word & ~vocabulary.stop).numpy() & (counts >= FEWEST_OCCURRENCES)
    states = _hidden_states(backbone, tokenizer, texts, rows, fit.nonzero()[0].tolist())
    groups = {token: _means(hidden, config.senses, seed) for token, hidden in states.items()}
    clear = [token for token, (_, explained) in groups.items() if explained >= LEAST_EXPLAINED]
    tokens = sorted(sorted(clear, key=lambda token: (-groups[token][1], token))[:MOST_TOKENS])
    if not tokens:
        raise ConfigError(
            f"model.sense_tokens is 'auto', but no word of the training texts occurs {FEWEST_OCCURRENCES} times in "
            f"states that fall into {config.senses} groups; list the words, or set model.senses to 1."
        )
    return tokens, torch.stack([groups[token][0] for token in tokens])


def _enough(texts: EncodedTexts, rows: np.ndarray, tokens: list[int]) -> np.ndarray:
    """Those of the rows, ascending, that have MOST_OCCURRENCES of each token between them, or all there are."""
    left = dict.fromkeys(tokens, MOST_OCCURRENCES)
    chosen = []
    for row in rows:
        wanted = [token for token in set(texts[row].tolist()) & left.keys() if left[token] > 0]
        for token in wanted:
            left[token] -= 1
        if wanted:
            chosen.append(row)
    return np.sort(np.array(chosen, dtype=np.int64))


@torch.no_grad()
def _hidden_states(
    backbone: Backbone, tokenizer: PreTrainedTokenizerFast, texts: EncodedTexts, rows: np.ndarray, tokens: list[int]
) -> dict[int, Tensor]:
    """(occurrences, d) of each token, MOST_OCCURRENCES at the most."""
    device = backbone.input_embeddings().weight.device
    wanted = torch.zeros(backbone.vocab_size, dtype=torch.bool)
    wanted[tokens] = True
    states: dict[int, list[Tensor]] = {token: [] for token in tokens}
    for part in longest_first(texts.lengths[rows], 64):
        ids, mask = collate(texts, rows[part], tokenizer.pad_token_id or 0)
        hidden = backbone(ids.to(device), mask.to(device)).float().cpu()  # (B, L, d)
        for text, place in (wanted[ids] & (mask > 0)).nonzero().tolist():
            kept = states[int(ids[text, place])]
            if len(kept) < MOST_OCCURRENCES:
                kept.append(hidden[text, place])
    width = backbone.hidden_size
    return {token: torch.stack(kept) if kept else torch.zeros(0, width) for token, kept in states.items()}


def _means(hidden: Tensor, senses: int, seed: int) -> tuple[Tensor, float]:
    """(M, d) means of groups of hidden states (n, d), and the share of their variance that these explain.

    With fewer states than senses the means are random directions around what there is.
    """
    if len(hidden) < senses:
        generator = torch.Generator().manual_seed(seed)
        centre = hidden.mean(0) if len(hidden) else hidden.new_zeros(hidden.shape[1])
        return centre + torch.randn(senses, hidden.shape[1], generator=generator), 0.0
    generator, attempts = torch.Generator().manual_seed(seed), []
    for _ in range(STARTS):
        means = hidden[torch.randperm(len(hidden), generator=generator)[:senses]]
        for _ in range(ROUNDS):
            nearest = torch.cdist(hidden, means).argmin(1)
            members = [hidden[nearest == m] for m in range(senses)]
            means = torch.stack([group.mean(0) if len(group) else means[m] for m, group in enumerate(members)])
        left, nearest = torch.cdist(hidden, means).min(1)
        attempts.append((float(left.square().sum()), means, torch.bincount(nearest, minlength=senses)))
    left_over, means, counts = min(attempts, key=lambda attempt: attempt[0])
    total = float((hidden - hidden.mean(0)).square().sum())
    order = counts.argsort(descending=True, stable=True)  # the commonest sense is the first
    return means[order], 1 - left_over / total if total else 0.0
