"""Finding and loading a pretrained masked language model, with one helpful sentence where that fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerFast
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES
from transformers.utils import logging as transformers_logging

from splade.errors import BackboneError, nearest
from splade.models.packaged import ALIASES

# Where its files are missing, transformers builds an empty tokenizer of 5 to 7 special tokens instead of failing.
SMALLEST_VOCABULARY = 16


def load_pretrained(name: str, revision: str | None) -> tuple[PreTrainedModel, PreTrainedTokenizerFast, set[str]]:
    """Load a masked-LM in float32, its fast tokenizer, and the names of the weights its checkpoint lacks.

    ``name`` is an alias, a local folder or a Hub name. Only safetensors are read: a pickle can run any code.
    """
    place = _locate(name)
    options: dict[str, Any] = {"revision": revision or "main", "trust_remote_code": False}
    with _quiet():
        try:
            config = AutoConfig.from_pretrained(place, **options)
        except Exception as error:  # whatever the library raises: bad JSON, unknown type, no network
            raise BackboneError(_why_no_config(name, place, error)) from error
        if config.model_type not in MODEL_FOR_MASKED_LM_MAPPING_NAMES or config.is_encoder_decoder:
            raise BackboneError(
                f"The model type '{config.model_type}' of '{name}' is not a masked-LM encoder in transformers; choose "
                "a masked language model such as BERT, RoBERTa, ModernBERT, DeBERTa or ELECTRA."
            )
        tokenizer = _load_tokenizer(name, place, options)
        try:
            model, info = AutoModelForMaskedLM.from_pretrained(
                place, config=config, dtype=torch.float32, use_safetensors=True, output_loading_info=True, **options
            )
        except Exception as error:
            raise BackboneError(_why_no_weights(name, place, error)) from error
    missing = set(info["missing_keys"])
    lost = sorted(key for key in missing if key.startswith(model.base_model_prefix + "."))
    if lost:
        raise BackboneError(
            f"The checkpoint '{name}' lacks {len(lost)} weights of its encoder, '{lost[0]}' among them; it is damaged "
            "or of another architecture than its config.json says, so fetch it again."
        )
    if len(tokenizer) > config.vocab_size:
        raise BackboneError(
            f"The tokenizer of '{name}' has {len(tokenizer)} tokens but the model only {config.vocab_size} embeddings; "
            "they do not belong together, so fetch the checkpoint again."
        )
    return model, tokenizer, missing


def _locate(name: str) -> str:
    if name in ALIASES:
        path = ALIASES[name].locate(name)
    else:
        path = Path(name).expanduser()
        if not path.is_dir():
            if name.startswith((".", "/", "~")) or name.count("/") > 1:
                raise BackboneError(f"The backbone folder '{name}' does not exist; check the path.")
            return name  # a Hub name
    if not (path / "config.json").is_file():
        raise BackboneError(
            f"The folder '{name}' has no config.json; expected a model saved by transformers' save_pretrained."
        )
    return str(path)


def _load_tokenizer(name: str, place: str, options: dict[str, Any]) -> PreTrainedTokenizerFast:
    try:
        tokenizer = AutoTokenizer.from_pretrained(place, **options)
    except Exception as error:
        raise BackboneError(
            f"The tokenizer of '{name}' cannot be loaded ({_first_line(error)}); expected a tokenizer.json beside the "
            "model."
        ) from error
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise BackboneError(
            f"'{name}' has only a slow tokenizer, and words cannot be located in the text without a fast one; save a "
            "tokenizer.json with it or choose another model."
        )
    if len(tokenizer) < SMALLEST_VOCABULARY:
        raise BackboneError(
            f"The tokenizer of '{name}' has only {len(tokenizer)} tokens, which means that its files are missing; "
            "expected a tokenizer.json beside the model."
        )
    if tokenizer.pad_token_id is None:
        raise BackboneError(f"The tokenizer of '{name}' has no padding token; set one and save it with the model.")
    return tokenizer


def _why_no_config(name: str, place: str, error: Exception) -> str:
    if Path(place).is_dir():
        return f"The config.json of '{name}' cannot be used ({_first_line(error)}); expected a transformers config."
    return (
        f"The backbone '{name}' is no alias ({', '.join(ALIASES)}), no folder here, and cannot be had from the Hugging "
        f"Face Hub ({_first_line(error)}); check the name and the network, or use 'minilm', which needs neither."
        f"{nearest(name, ALIASES)}"
    )


def _why_no_weights(name: str, place: str, error: Exception) -> str:
    folder = Path(place)
    pickled = folder.is_dir() and not any(folder.glob("*.safetensors")) and any(folder.glob("*.bin"))
    if pickled or (isinstance(error, OSError) and "safetensors" in str(error)):
        only = ", only pickled ones, which can run any code when read," if pickled else ""
        return (
            f"The checkpoint '{name}' has no safetensors weights{only} and is not loaded; convert it with "
            "save_pretrained or choose another revision."
        )
    return f"The weights of '{name}' cannot be loaded ({_first_line(error)}); they are damaged, so fetch them again."


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__).rstrip(".:")


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide transformers' progress bars and load report, which speak of what the notice says better."""
    verbosity = transformers_logging.get_verbosity()
    bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if bars:
            transformers_logging.enable_progress_bar()
