"""A tiny random model of ModernBERT's kind that reads 4,096 tokens: it knows nothing, and shows what length costs."""

from __future__ import annotations

import re

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import AutoConfig, AutoModelForMaskedLM, PreTrainedTokenizerFast

from splade.config.schema import ModelConfig
from splade.models.backbone import Backbone
from splade.models.lexical_sae import LexicalSAE
from splade.studies.filler import SENTENCES

LONGEST = 4096
VOCABULARY = 8192  # enough that a [L, V] table of scores (134 MB at 4,096) could not hide
WINDOW = 128  # ModernBERT's local attention; as in the real one; whether it saves time depends on the attention kernel


def tiny_model(config: ModelConfig, seed: int) -> LexicalSAE:
    """Untrained, with the support, gate, pooling and head of ``config``."""
    tokenizer = _tokenizer()
    torch.manual_seed(seed)
    settings = AutoConfig.for_model(
        "modernbert",
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=4,
        num_attention_heads=4,
        max_position_embeddings=LONGEST,
        local_attention=WINDOW,
        global_attn_every_n_layers=4,  # the first layer sees all, as in the real one every third does
        pad_token_id=tokenizer.pad_token_id,
        cls_token_id=tokenizer.cls_token_id,
        sep_token_id=tokenizer.sep_token_id,
        bos_token_id=tokenizer.cls_token_id,
        eos_token_id=tokenizer.sep_token_id,
    )
    backbone = Backbone(AutoModelForMaskedLM.from_config(settings), "trained").eval()
    model = LexicalSAE(backbone, tokenizer, ["negative", "positive"], config, max_length=LONGEST)
    batch = tokenizer(list(SENTENCES), padding=True, return_tensors="pt")
    model.calibrate([(batch["input_ids"], batch["attention_mask"])], active_target=10)
    return model.eval()


def _tokenizer() -> PreTrainedTokenizerFast:
    """Whole words: those of the filler, and made-up ones up to the size of the vocabulary."""
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    words = re.findall(r"\w+|[^\w\s]", " ".join(SENTENCES))
    pieces = list(dict.fromkeys([*special.values(), *words]))
    letters = "abcdefghijklmnopqrstuvwxyz"
    made_up = ("".join(letters[number // 26**place % 26] for place in range(4)) for number in range(VOCABULARY))
    pieces = list(dict.fromkeys([*pieces, *made_up]))[:VOCABULARY]
    tokenizer = Tokenizer(models.WordLevel({piece: index for index, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(token, pieces.index(token)) for token in ("[CLS]", "[SEP]")]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=LONGEST, **special)
