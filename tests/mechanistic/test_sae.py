"""Autoencoders find features that are there, and a decoder of random directions does not."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from splade.errors import ConfigError
from splade.mechanistic import sae
from splade.mechanistic.sae import KINDS, Kind, fit_autoencoder, fvu, has_sparsify

WIDTH, TRUE, ACTIVE = 16, 24, 2

KIND = [
    pytest.param("topk", marks=pytest.mark.skipif(not has_sparsify(), reason="eai-sparsify is not installed")),
    "relu",
]


def dictionary() -> Tensor:
    """(T, d) directions of length 1."""
    return F.normalize(torch.randn(TRUE, WIDTH, generator=torch.Generator().manual_seed(0)), dim=1)


def vectors(number: int, seed: int) -> Tensor:
    """(N, d) sums of two of the directions each, of any strength, in other units and away from the origin."""
    generator = torch.Generator().manual_seed(seed)
    places = torch.rand(number, TRUE, generator=generator).topk(ACTIVE, dim=1).indices
    values = torch.rand(number, ACTIVE, generator=generator) + 0.5
    return 3 * torch.zeros(number, TRUE).scatter(1, places, values) @ dictionary() + 1


def test_the_variance_unexplained_of_a_hand_made_example() -> None:
    """The mean is (2, 0) and the variance 4 + 0 + 4; the errors are 1 and 1."""
    there = torch.tensor([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0]])
    back = torch.tensor([[1.0, 0.0], [2.0, 1.0], [4.0, 0.0]])
    assert float(fvu(there, back)) == pytest.approx(2 / 8)
    assert float(fvu(there, there)) == 0 and float(fvu(there, there.mean(0).expand(3, 2))) == 1


@pytest.mark.parametrize("kind", KIND)
def test_a_dictionary_is_found_and_random_directions_are_no_match_for_it(kind: Kind) -> None:
    train, test = vectors(8000, 1), vectors(1000, 2)
    learned, control = (
        fit_autoencoder(kind, train, features=48, active=ACTIVE, random_decoder=random, steps=500, seed=0)
        for random in (False, True)
    )
    errors = [float(fvu(test, one.reconstruct(one.codes(test)))) for one in (learned, control)]
    found = (learned.decoder @ dictionary().T).amax(0)  # (T,) each direction's nearest
    assert float(found.mean()) > 0.95 and float((control.decoder @ dictionary().T).amax(0).mean()) < 0.7
    assert errors[0] < {"topk": 0.05, "relu": 0.4}[kind] and errors[1] > 1.8 * errors[0]
    for one in (learned, control):
        codes = one.codes(test)
        assert float((codes > 0).float().sum(1).mean()) == pytest.approx(ACTIVE, abs=0.4) and float(codes.min()) >= 0
        torch.testing.assert_close(one.decoder.norm(dim=1), torch.ones(48))
        torch.testing.assert_close(one.reconstruct(codes), codes @ one.directions + one.origin)


@pytest.mark.parametrize("kind", KIND)
def test_a_random_decoder_never_learns_and_its_encoder_does(kind: Kind) -> None:
    settings = {"features": 32, "active": 3, "random_decoder": True, "seed": 5}
    drawn, after = (fit_autoencoder(kind, vectors(500, 1), steps=steps, **settings) for steps in (0, 30))  # type: ignore[arg-type]
    assert torch.equal(drawn.decoder, after.decoder)
    assert not torch.equal(drawn.codes(vectors(10, 2)), after.codes(vectors(10, 2)))


@pytest.mark.parametrize("kind", KIND)
def test_a_seed_says_all_and_no_other_random_choice_is_touched(kind: Kind) -> None:
    before = torch.get_rng_state()
    one, same, other = (
        fit_autoencoder(kind, vectors(300, 1), features=20, active=2, steps=5, seed=seed) for seed in (1, 1, 2)
    )
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(one.decoder, same.decoder) and not torch.equal(one.decoder, other.decoder)


@pytest.mark.parametrize("kind", KIND)
def test_vectors_that_are_all_alike_are_no_error(kind: Kind) -> None:
    alike = torch.ones(40, 6)
    one = fit_autoencoder(kind, alike, features=12, active=2, steps=3, seed=0)
    assert torch.isfinite(one.reconstruct(one.codes(alike))).all()


def test_what_is_not_installed_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sae, "sparsify_version", lambda: None)
    with pytest.raises(ConfigError, match=r"need eai-sparsify, .* pip install 'lexical-sae\[sae\]', or choose"):
        fit_autoencoder("topk", vectors(10, 0), features=8, active=1, steps=1, seed=0)
    assert set(KINDS) == {"topk", "relu"}
    fit_autoencoder("relu", vectors(10, 0), features=8, active=1, steps=1, seed=0)
