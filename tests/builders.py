"""Small real things to test with, built on the spot: tokenizers, backbones of every family, separable reviews."""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForMaskedLM, PreTrainedTokenizerFast

from splade.config.schema import ModelConfig
from splade.data.batching import encode_texts
from splade.models.backbone import Backbone
from splade.models.calibration import INITIAL_DENSITY
from splade.models.dense import DenseClassifier
from splade.models.lexical_sae import LexicalSAE
from splade.models.sparse import SparseRows
from splade.models.supports import DictionarySupport
from splade.models.vocabulary import Vocabulary

TokenizerKind = Literal["wordpiece", "bpe", "unigram"]


def _words(line: str) -> list[str]:
    return line.split()


POSITIVE = _words(
    "good great excellent charming funny delightful brilliant witty lovely beautiful clever moving warm perfect "
    "enjoyable superb"
)
NEGATIVE = _words(
    "bad awful terrible boring dull stupid weak poor ugly horrible lame tedious cold silly shallow clumsy"
)
NOUNS = _words(
    "movie film story plot actor cast music scene ending script book camera director comedy drama journey character "
    "bank card account system fire bill computer water city team game word people money house"
)
OTHER_WORDS = _words(
    "i you he she it we they is was are were be been have has had do does did don can will would the a an and but or "
    "if of in on at to for with from by about this that these my your his her its so too very really quite rather "
    "often also only just no not never nor without hardly nothing none well made make makes watch watched watching "
    "see saw feel like love hate laugh think find found give time year day man woman new old long short first last "
    "serious interest london paris berlin moscow john mary smith england german french"
)
WORDS = list(dict.fromkeys([*POSITIVE, *NEGATIVE, *NOUNS, *OTHER_WORDS]))
PUNCTUATION = list(".,!?'-\"$()")
SUFFIXES = ["s", "ing", "ed", "ly", "able", "er", "watch", "ness"]
CHARACTERS = list(string.ascii_lowercase + string.digits)

MAX_POSITIONS = 64


def build_tokenizer(kind: TokenizerKind = "wordpiece") -> PreTrainedTokenizerFast:
    """A fast tokenizer over ``WORDS`` that also spells any other word of ASCII letters, in pieces."""
    tokenizer, special = {"wordpiece": _wordpiece, "bpe": _byte_level, "unigram": _unigram}[kind]()
    start, end = special["cls_token"], special["sep_token"]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}",
        pair=f"{start} $A {end} $B {end}",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in (start, end)],
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=MAX_POSITIONS, **special)


def _wordpiece() -> tuple[Tokenizer, dict[str, str]]:
    special = _special(pad="[PAD]", unknown="[UNK]", start="[CLS]", end="[SEP]", mask="[MASK]")
    pieces = [*special.values(), "[unused0]", "[unused1]", *PUNCTUATION, *CHARACTERS, *WORDS, "un", "##t"]
    pieces += [f"##{piece}" for piece in [*SUFFIXES, *CHARACTERS]]
    vocabulary = {piece: index for index, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer, special


def _byte_level() -> tuple[Tokenizer, dict[str, str]]:
    special = _special(pad="<pad>", unknown="<unk>", start="<s>", end="</s>", mask="<mask>")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=4000,  # more than the words need, so every one of them ends as one piece
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],  # in RoBERTa's order: padding is not 0
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    openings = [word.capitalize() for word in ("the", "this", "it", "good", "bad")]
    tokenizer.train_from_iterator(
        [f" {word}" for word in [*WORDS, "Good", "café"]] + [*openings, "good", "'t"], trainer
    )
    return tokenizer, special


def _unigram() -> tuple[Tokenizer, dict[str, str]]:
    special = _special(pad="[PAD]", unknown="[UNK]", start="[CLS]", end="[SEP]", mask="[MASK]")
    pieces = [*special.values(), "▁", *PUNCTUATION, *CHARACTERS, *SUFFIXES, *(f"▁{word}" for word in WORDS)]
    # The longer the piece, the likelier: a word is spelled only if it is not in the list.
    scored = [(piece, len(piece) - 20.0) for piece in dict.fromkeys(pieces)]
    tokenizer = Tokenizer(models.Unigram(scored, unk_id=1))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Lowercase(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer, special


def _special(*, pad: str, unknown: str, start: str, end: str, mask: str) -> dict[str, str]:
    return {"pad_token": pad, "unk_token": unknown, "cls_token": start, "sep_token": end, "mask_token": mask}


#: Family: (model type, tokenizer, settings beyond the common ones).
FAMILIES: dict[str, tuple[str, TokenizerKind, dict[str, Any]]] = {
    "bert": ("bert", "wordpiece", {}),
    "distilbert": ("distilbert", "wordpiece", {}),
    "roberta": ("roberta", "bpe", {"type_vocab_size": 1}),
    "modernbert": ("modernbert", "bpe", {"decoder_bias": True, "local_attention": 8}),
    "deberta": (
        "deberta-v2",
        "unigram",
        {
            "type_vocab_size": 0,
            "relative_attention": True,
            "position_biased_input": False,
            "pos_att_type": ["p2c", "c2p"],
            "position_buckets": 16,
            "norm_rel_ebd": "layer_norm",
            "share_att_key": True,
        },
    ),
    "mpnet": ("mpnet", "bpe", {}),
    "electra": ("electra", "wordpiece", {"embedding_size": 16}),  # embeddings smaller than hidden states
}
# DeBERTa's other head, which multiplies by the word embeddings itself.
FAMILIES["deberta-new"] = ("deberta-v2", "unigram", {**FAMILIES["deberta"][2], "legacy": False})


def build_backbone_folder(
    tmp_path: Path, family: str = "bert", head: bool = True, dropout: float = 0.0, **settings: Any
) -> Path:
    """Save a tiny random masked-LM (hidden 32, 2 layers) with its tokenizer, and return the folder.

    ``head=False`` saves the encoder alone, as sentence-embedding models come. ``settings`` go to the config.
    """
    model_type, kind, own = FAMILIES[family]
    tokenizer = build_tokenizer(kind)
    common = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
        "max_position_embeddings": MAX_POSITIONS,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.cls_token_id,
        "eos_token_id": tokenizer.sep_token_id,
    }
    if model_type == "modernbert":
        dropouts = {"embedding_dropout": dropout, "attention_dropout": dropout, "mlp_dropout": dropout}
        own = {**own, "cls_token_id": tokenizer.cls_token_id, "sep_token_id": tokenizer.sep_token_id}
    elif model_type == "distilbert":
        common["hidden_dim"] = common.pop("intermediate_size")
        dropouts = {"dropout": dropout, "attention_dropout": dropout}
    else:
        dropouts = {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    config = AutoConfig.for_model(model_type, **{**common, **dropouts, **own, **settings})
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        model = AutoModelForMaskedLM.from_config(config)
        for parameter in model.parameters():  # biases start at 0 and norms at 1, behind which a mistake could hide
            parameter.add_(0.1 * torch.randn_like(parameter))
    folder = tmp_path / (family if head else f"{family}-without-head")
    (model if head else model.base_model).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def build_model(
    tmp_path: Path,
    support: str = "neighbourhood",
    family: str = "bert",
    *,
    active: int = 12,
    classes: int = 2,
    chosen: tuple[list[int], Tensor] | None = None,
    task: Literal["classification", "tagging"] = "classification",
    texts: Sequence[str] | None = None,
    **settings: Any,
) -> LexicalSAE:
    """An untrained model on a tiny backbone, calibrated so that a toy review has about ``active`` active tokens.

    ``support`` may join several by ``+``; its dictionary holds the adjectives. ``chosen``: tokens with senses and
    where those start. ``texts``: where the split words come from that have columns from the start. ``settings`` go to
    ``ModelConfig``.
    """
    folder = tmp_path / family
    if not folder.exists():
        build_backbone_folder(tmp_path, family)
    backbone, tokenizer = Backbone.from_name(str(folder))
    vocabulary = Vocabulary.from_tokenizer(tokenizer, backbone.vocab_size)
    defaults = {
        "hidden_size": 16,
        "neighbours": 6,
        "neighbour_similarity": -1.0,
        "dtype": "float32",
        "head": "relu_mlp",
        "token_dropout": 0.0,
    }
    config = ModelConfig(**{"support": support, **defaults, **settings})
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(1)
        model = LexicalSAE(
            backbone,
            tokenizer,
            TAGS if task == "tagging" else [f"class {number}" for number in range(classes)],
            config,
            max_length=MAX_POSITIONS,
            texts=None if texts is None else encode_texts(texts, tokenizer, MAX_POSITIONS),
            senses=chosen,
            task=task,
        )
        adjectives = [token for word in [*POSITIVE, *NEGATIVE] for token in vocabulary.match(word)]
        for each in model.encoder.supports:
            if isinstance(each, DictionarySupport):
                each.tokens = torch.tensor(sorted(set(adjectives)))
        for parameter in model.head.parameters():  # it starts near 0, behind which a mistake could hide
            parameter.add_(0.5 * torch.randn_like(parameter))
    batches: list[tuple[Tensor, ...]] = [encode(model, toy_reviews(32)[0])]
    if task == "tagging":
        batches = [(*batches[0], model.by_word(model(*batches[0])).groups)]
    model.calibrate(batches, active / INITIAL_DENSITY)
    return model.eval()


def build_dense(
    tmp_path: Path, *, classes: int = 2, task: Literal["classification", "tagging"] = "classification"
) -> DenseClassifier:
    """An untrained dense baseline on the same tiny backbone, with the same labels."""
    folder = tmp_path / "bert"
    if not folder.exists():
        build_backbone_folder(tmp_path, "bert")
    backbone, tokenizer = Backbone.from_name(str(folder))
    labels = TAGS if task == "tagging" else [f"class {number}" for number in range(classes)]
    config = ModelConfig(hidden_size=16, dtype="float32")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return DenseClassifier(backbone, tokenizer, labels, config, max_length=MAX_POSITIONS, task=task).eval()


class Wrapper(nn.Module):
    """A model with another inside, which answers for it."""

    def __init__(self, inside: LexicalSAE) -> None:
        super().__init__()
        self.inside = inside

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("inside"), name)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        return self.inside(input_ids, attention_mask)


def encode(model: LexicalSAE | DenseClassifier, texts: list[str]) -> tuple[Tensor, Tensor]:
    """Token ids and attention mask (B, L), padded to the longest text."""
    batch = model.tokenizer(texts, return_tensors="pt", padding=True, truncation=True, max_length=model.max_length)
    return batch["input_ids"], batch["attention_mask"]


def sparse_rows(*rows: dict[int, float], vocab_size: int = 10) -> SparseRows:
    """Rows given as {token: value}, entry ``n`` from position ``n``; a value of 0 is an entry near its threshold."""
    entries = [(row, token, value) for row, values in enumerate(rows) for token, value in sorted(values.items())]
    return SparseRows(
        torch.tensor([row for row, _, _ in entries], dtype=torch.long),
        torch.tensor([token for _, token, _ in entries], dtype=torch.long),
        torch.arange(len(entries)),
        torch.tensor([value for _, _, value in entries], dtype=torch.float32),
        len(rows),
        vocab_size,
    )


def position_scores(attribution: SparseRows, positions: int) -> Tensor:
    """(B·L,) what the positions of a batch contribute: each token's attribution, where its value came from."""
    _, position, value = attribution.by_position()
    return torch.zeros(positions).index_add(0, position, value)


def toy_reviews(n: int, seed: int = 0) -> tuple[list[str], list[int]]:
    """``n`` short reviews, half of them good (1) and half bad (0), told apart by their adjectives."""
    generator = random.Random(seed)
    labels = [index % 2 for index in range(n)]
    generator.shuffle(labels)
    texts = []
    for label in labels:
        first, second = generator.sample(POSITIVE if label else NEGATIVE, 2)
        noun, other = generator.sample(NOUNS, 2)
        pattern = generator.choice(
            [
                "the {noun} was {first} and the {other} {second} .",
                "a very {first} {noun} with a {second} {other}",
                "i think this is a {first} , {second} {noun} !",
                "{first} {noun} , {second} {other} .",
            ]
        )
        texts.append(pattern.format(first=first, second=second, noun=noun, other=other))
    return texts, labels


TAGS = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]

#: Names that the tokenizer knows, and some that it splits.
PLACES, PEOPLE = _words("london paris berlin moscow oslo"), _words("john mary smith evans")


def tagged_sentences(n: int, seed: int = 0) -> tuple[list[list[str]], list[list[int]]]:
    """``n`` short sentences with the number of each word's tag in ``TAGS``; some places are of three words."""
    generator = random.Random(seed)
    sentences, tags = [], []
    for _ in range(n):
        place, person = generator.choice(PLACES), generator.choice(PEOPLE)
        noun, adjective = generator.choice(NOUNS), generator.choice(POSITIVE)
        parts: list[tuple[list[str], list[int]]] = generator.choice(
            [
                [(["the", noun, "in"], [0, 0, 0]), ([place], [1]), (["is", adjective, "."], [0, 0, 0])],
                [([person, generator.choice(PEOPLE)], [3, 4]), (["saw", "a", noun], [0, 0, 0])],
                [([person], [3]), (["watched", "the"], [0, 0]), (["bank", "of", place], [1, 2, 2])],
            ]
        )
        sentences.append([word for words, _ in parts for word in words])
        tags.append([tag for _, numbers in parts for tag in numbers])
    return sentences, tags
