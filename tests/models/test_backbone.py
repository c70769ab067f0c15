"""The backbone adapter: every family's scores are h·Eᵀ + b, missing heads are repaired, layers can be bypassed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import AutoModelForMaskedLM, BertForMaskedLM, PreTrainedTokenizerFast

from splade.errors import BackboneError
from splade.models import pretrained
from splade.models.backbone import Backbone
from tests.builders import FAMILIES, MAX_POSITIONS, build_backbone_folder, toy_reviews

SENTENCES = [
    "The weather in Paris was surprisingly warm for early spring.",
    "She opened a bank account and deposited her first salary.",
    "It is a charming and often affecting journey.",
    "Scientists discovered a new species of frog in the forest.",
    "The government announced higher taxes on imported goods.",
    "He never liked the food at that little restaurant.",
    "Our team won the final match after extra time.",
    "The old computer crashed while saving the document.",
    "Children played in the garden until the sun went down.",
    "Doctors recommend drinking more water during the summer.",
    "The train to Berlin leaves at seven in the morning.",
    "Critics praised the film for its honest performances.",
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, bool], Path]:
    root = tmp_path_factory.mktemp("families")
    return {(family, head): build_backbone_folder(root, family, head) for family in FAMILIES for head in (True, False)}


@pytest.fixture(params=list(FAMILIES))
def family(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=[True, False], ids=["trained", "repaired"])
def head(request: pytest.FixtureRequest) -> bool:
    return request.param


def encode(tokenizer: PreTrainedTokenizerFast, texts: list[str] | None = None) -> tuple[Tensor, Tensor]:
    batch = tokenizer(texts or [*toy_reviews(3)[0], "good"], return_tensors="pt", padding=True)
    return batch["input_ids"], batch["attention_mask"]


def test_trained_head_gives_the_models_own_scores(folders: dict[tuple[str, bool], Path], family: str) -> None:
    folder = folders[family, True]
    backbone, tokenizer = Backbone.from_name(str(folder))
    ids, mask = encode(tokenizer)
    own = AutoModelForMaskedLM.from_pretrained(folder)(input_ids=ids, attention_mask=mask).logits  # (B, L, V)
    weight, bias = backbone.decoder()
    hidden = backbone(ids, mask)  # (B, L, d)
    assert (backbone.head, backbone.notice, backbone.tied) == ("trained", None, True)
    assert hidden.shape == (*ids.shape, backbone.hidden_size)
    assert weight.shape == (backbone.vocab_size, backbone.hidden_size) and bias.shape == (backbone.vocab_size,)
    assert bias.abs().max() > 0  # the checkpoint's bias, not a fresh one
    seen = mask.bool()
    torch.testing.assert_close((hidden @ weight.T + bias)[seen], own[seen], atol=1e-4, rtol=1e-4)


def test_missing_head_is_said_and_repaired(folders: dict[tuple[str, bool], Path], family: str) -> None:
    backbone, tokenizer = Backbone.from_name(str(folders[family, False]))
    weight, bias = backbone.decoder()
    embeddings = backbone.frozen_embeddings()
    assert backbone.head == "repaired" and not backbone.tied
    assert backbone.notice is not None and "no trained masked-LM head" in backbone.notice
    torch.testing.assert_close(weight, embeddings / embeddings.norm(dim=1, keepdim=True))
    assert not bias.any()
    ids, mask = encode(tokenizer)
    hidden, last = backbone(ids, mask), backbone.model(input_ids=ids, attention_mask=mask)[0]
    if family != "electra":  # whose embeddings are smaller than its hidden states
        torch.testing.assert_close(hidden, last)


def test_repair_decodes_through_the_projection_of_small_embeddings(folders: dict[tuple[str, bool], Path]) -> None:
    backbone, tokenizer = Backbone.from_name(str(folders["electra", False]))
    ids, mask = encode(tokenizer)
    projection = backbone.model.embeddings_project.weight  # (32, 16)
    widened = backbone.decoder()[0] @ projection.T  # (V, 32): what the layers saw of each word, up to its length
    last = backbone.model(input_ids=ids, attention_mask=mask)[0]
    torch.testing.assert_close(backbone(ids, mask) @ backbone.decoder()[0].T, last @ widened.T)


def test_state_dict_round_trip(folders: dict[tuple[str, bool], Path], family: str, head: bool) -> None:
    backbone, tokenizer = Backbone.from_name(str(folders[family, head]))
    copy = Backbone.from_config(backbone.config, backbone.head)
    ids, mask = encode(tokenizer)
    assert not torch.allclose(copy(ids, mask), backbone(ids, mask))
    copy.load_state_dict(backbone.state_dict())
    torch.testing.assert_close(copy(ids, mask), backbone(ids, mask), atol=0, rtol=0)
    assert copy.hidden_size == backbone.hidden_size and copy.decoder()[0].shape == backbone.decoder()[0].shape


def test_every_parameter_has_a_use(folders: dict[tuple[str, bool], Path], family: str, head: bool) -> None:
    backbone, tokenizer = Backbone.from_name(str(folders[family, head]))
    backbone.train()
    backbone(*encode(tokenizer)).square().sum().backward()
    assert [name for name, parameter in backbone.named_parameters() if parameter.grad is None] == []


def test_padding_changes_nothing(folders: dict[tuple[str, bool], Path], family: str) -> None:
    backbone, tokenizer = Backbone.from_name(str(folders[family, True]))
    ids, mask = encode(tokenizer, ["a good movie", "the cast was charming and the plot is witty , i think"])
    alone = encode(tokenizer, ["a good movie"])
    assert mask[0].sum() < mask.shape[1]
    torch.testing.assert_close(backbone(ids, mask)[:1, : alone[0].shape[1]], backbone(*alone), atol=1e-5, rtol=1e-4)


def test_bypassed_layers_hand_on_their_input(folders: dict[tuple[str, bool], Path], family: str) -> None:
    backbone, tokenizer = Backbone.from_name(str(folders[family, True]))
    ids, mask = encode(tokenizer)
    plain = backbone(ids, mask)
    with backbone.bypass_layer(0), backbone.bypass_layer(1):
        bypassed = backbone(ids, mask)
        # With no layer left, a position sees its own token alone (and where it stands): the others do not matter.
        swapped = ids.clone()
        swapped[:, 1] = ids[:, 2]
        torch.testing.assert_close(backbone(swapped, mask)[:, 2:4], bypassed[:, 2:4])
    with backbone.bypass_layer(1):
        assert not torch.allclose(backbone(ids, mask), bypassed)
    assert not torch.allclose(plain, bypassed)
    torch.testing.assert_close(backbone(ids, mask), plain)  # and everything is as before


def test_bypass_of_a_layer_that_is_not_there(tiny_backbone_path: Path) -> None:
    backbone, _ = Backbone.from_name(str(tiny_backbone_path))
    assert backbone.layers == 2
    with pytest.raises(BackboneError, match="from 0 to 1"), backbone.bypass_layer(2):
        pass


def test_max_length_is_usable_in_full(folders: dict[tuple[str, bool], Path], family: str) -> None:
    backbone, _ = Backbone.from_name(str(folders[family, True]))
    # RoBERTa numbers positions from its padding id (1) + 1, so two of its rows are never used.
    assert backbone.max_length == (MAX_POSITIONS - 2 if family in ("roberta", "mpnet") else MAX_POSITIONS)
    ids = torch.full((1, backbone.max_length), 20)
    assert torch.isfinite(backbone(ids, torch.ones_like(ids))).all()
    if family in {"bert", "distilbert", "roberta", "electra"}:  # positions from a table
        longer = torch.full((1, backbone.max_length + 1), 20)
        with pytest.raises((IndexError, RuntimeError)):
            backbone(longer, torch.ones_like(longer))


def test_autocast_to_bfloat16(folders: dict[tuple[str, bool], Path], family: str, head: bool) -> None:
    backbone, tokenizer = Backbone.from_name(str(folders[family, head]))
    ids, mask = encode(tokenizer)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = backbone(ids, mask)
    exact = backbone(ids, mask)
    assert torch.nn.functional.cosine_similarity(rounded.float(), exact, dim=-1)[mask.bool()].min() > 0.99


def test_untied_decoder_is_kept(tmp_path: Path) -> None:
    folder = build_backbone_folder(tmp_path, "bert", tie_word_embeddings=False)
    backbone, tokenizer = Backbone.from_name(str(folder))
    ids, mask = encode(tokenizer)
    weight, bias = backbone.decoder()
    assert not backbone.tied and not torch.allclose(weight, backbone.frozen_embeddings())
    own = AutoModelForMaskedLM.from_pretrained(folder)(input_ids=ids, attention_mask=mask).logits
    torch.testing.assert_close((backbone(ids, mask) @ weight.T + bias), own, atol=1e-4, rtol=1e-4)


def test_decoder_and_embeddings_are_copies(tiny_backbone_path: Path) -> None:
    backbone, _ = Backbone.from_name(str(tiny_backbone_path))
    before = backbone.frozen_embeddings()
    for tensor in (*backbone.decoder(), backbone.frozen_embeddings()):
        assert not tensor.requires_grad
        tensor.zero_()
    torch.testing.assert_close(backbone.frozen_embeddings(), before)
    assert backbone.decoder()[1].any()


def test_half_precision_checkpoints_become_float32(tmp_path: Path) -> None:
    folder = build_backbone_folder(tmp_path, "bert")
    AutoModelForMaskedLM.from_pretrained(folder).bfloat16().save_pretrained(folder)
    backbone, _ = Backbone.from_name(str(folder))
    assert {parameter.dtype for parameter in backbone.parameters()} == {torch.float32}
    copy = Backbone.from_config(backbone.config, "trained")
    assert {parameter.dtype for parameter in copy.parameters()} == {torch.float32}


def test_dropout_of_the_config_is_kept(tmp_path: Path) -> None:
    backbone, tokenizer = Backbone.from_name(str(build_backbone_folder(tmp_path, "bert", dropout=0.5)))
    ids, mask = encode(tokenizer)
    torch.testing.assert_close(backbone(ids, mask), backbone(ids, mask))  # loaded for evaluation
    backbone.train()
    assert not torch.allclose(backbone(ids, mask), backbone(ids, mask))


def test_minilm_ranks_its_own_tokens_first(minilm: tuple[Backbone, PreTrainedTokenizerFast]) -> None:
    backbone, tokenizer = minilm
    assert (backbone.head, backbone.hidden_size, backbone.layers, backbone.max_length) == ("repaired", 384, 6, 512)
    ids, mask = encode(tokenizer, SENTENCES)
    ordinary = mask.bool() & (ids != tokenizer.cls_token_id) & (ids != tokenizer.sep_token_id)
    with torch.no_grad():
        weight, bias = backbone.decoder()
        repaired = (backbone(ids, mask) @ weight.T + bias).argmax(-1)
        torch.manual_seed(0)
        folder = pretrained._locate("minilm")
        plain = AutoModelForMaskedLM.from_pretrained(folder)(input_ids=ids, attention_mask=mask).logits.argmax(-1)
    assert (repaired == ids)[ordinary].float().mean() > 0.7
    assert (plain == ids)[ordinary].float().mean() < 0.05


def test_head_of_another_form_is_refused(tiny_backbone_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = BertForMaskedLM.forward

    def scaled(self: BertForMaskedLM, *args: object, **kwargs: object) -> tuple[Tensor]:
        return (3 * plain(self, *args, **kwargs)[0] + 1,)

    monkeypatch.setattr(BertForMaskedLM, "forward", scaled)
    with pytest.raises(BackboneError, match="not a product of hidden states"):
        Backbone.from_name(str(tiny_backbone_path))


def test_after_each_layer_is_the_head_on_what_the_layers_before_gave(
    folders: dict[tuple[str, bool], Path], family: str, head: bool
) -> None:
    backbone, tokenizer = Backbone.from_name(str(folders[family, head]))
    ids, mask = encode(tokenizer)
    plain = backbone(ids, mask)
    states = backbone.after_each_layer(ids, mask)
    assert len(states) == backbone.layers + 1
    torch.testing.assert_close(states[2], plain, atol=0, rtol=0)
    with backbone.bypass_layer(1):
        torch.testing.assert_close(states[1], backbone(ids, mask))
        with backbone.bypass_layer(0):
            torch.testing.assert_close(states[0], backbone(ids, mask))
    assert not torch.allclose(states[0], states[1])
    torch.testing.assert_close(backbone(ids, mask), plain, atol=0, rtol=0)  # and everything is as before
    assert all("forward" not in vars(module) for module in backbone.modules())
