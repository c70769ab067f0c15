"""Records: changed, removed, moved or of another model, they are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from splade.errors import ConfigError, ModelError, RecordError
from splade.intervene import replay, suppress_token_globally, verify
from splade.models.folder import SURGERY
from splade.models.lexical_sae import LexicalSAE
from splade.models.rehash import rehash_model
from splade.surgery.chain import read_chain, sealed
from tests.builders import build_model

WORDS = ["film", "plot", "good", "movie"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    """A model with four records; a test must leave it alone."""
    built = build_model(tmp_path_factory.mktemp("chain"))
    for word in WORDS:
        suppress_token_globally(built, [word], probes=[f"a {word}", "the end"])
    return built


def test_a_whole_chain_is_read(model: LexicalSAE) -> None:
    chain = read_chain(model.surgery)
    assert [record.names for record in chain] == [[word] for word in WORDS]
    assert [record.line() for record in chain] == list(model.surgery)
    assert all(json.loads(line)["format"] == 1 for line in model.surgery)
    found = verify(model)
    assert (found.records, found.texts, found.signed) == (4, 8, 0) and found.difference < 1e-6
    assert all(one.same for one in replay(model)) and model.suppressed_words == ["good", "movie", "film", "plot"]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_one_changed_byte_is_refused(model: LexicalSAE, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, 3))
    content = bytearray(model.surgery[number].encode())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] = data.draw(st.integers(32, 126).filter(lambda byte: byte != content[place]))
    lines = [*model.surgery]
    lines[number] = content.decode("utf-8", "replace")
    with pytest.raises(RecordError, match=f"Record {number}"):
        read_chain(lines)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.lists(st.integers(0, 3), max_size=6))
def test_taken_out_moved_or_repeated_is_refused(model: LexicalSAE, order: list[int]) -> None:
    try:
        chain = read_chain([model.surgery[number] for number in order])
    except RecordError:
        return
    assert order == list(range(len(order)))  # only the end may be missing: the model itself shows that
    assert chain == read_chain(model.surgery)[: len(order)]


@pytest.mark.parametrize("kept", [0, 1, 3])
def test_records_missing_at_the_end_are_shown_by_the_model(model: LexicalSAE, kept: int) -> None:
    lines, model.surgery = model.surgery, model.surgery[:kept]
    try:
        with pytest.raises(RecordError, match="no record says so" if not kept else "removes other words"):
            verify(model)
    finally:
        model.surgery = lines


def test_a_forged_chain_does_not_fit_the_model(model: LexicalSAE, tmp_path: Path) -> None:
    """Records sealed anew, as anybody can, still have to say what the model says."""
    chain = read_chain(model.surgery)
    first = chain[3]
    probes = [{**first.probes[0], "after": [[9.0, -9.0]]}, first.probes[1]]
    forged = sealed(replace(first, probes=probes), chain[:3])
    lines, model.surgery = model.surgery, (*model.surgery[:3], forged.line())
    try:
        with pytest.raises(RecordError, match="does not say of the texts of record 3"):
            verify(model)
    finally:
        model.surgery = lines
    other = build_model(tmp_path, hidden_size=8)
    other.surgery = lines
    with pytest.raises(RecordError, match="of another model"):
        verify(other)


def test_a_model_without_removals_has_nothing_to_verify(tmp_path: Path) -> None:
    assert verify(build_model(tmp_path)).records == 0


class TestOnDisk:
    def test_the_file_is_under_the_models_hash(self, model: LexicalSAE, tmp_path: Path) -> None:
        model.save_pretrained(tmp_path / "saved")
        path = tmp_path / "saved" / SURGERY
        assert path.read_text(encoding="utf-8") == "".join(f"{line}\n" for line in model.surgery)
        content = path.read_bytes()
        path.write_bytes(content.replace(b"the end", b"the ent", 1))
        with pytest.raises(ModelError, match=r"surgery\.jsonl is damaged or was changed"):
            LexicalSAE.from_pretrained(tmp_path / "saved")
        assert SURGERY in rehash_model(tmp_path / "saved")  # on purpose: the chain itself still tells
        with pytest.raises(RecordError, match="Record 0"):
            verify(LexicalSAE.from_pretrained(tmp_path / "saved", "cpu"))
        path.unlink()
        with pytest.raises(ModelError, match="it is missing"):
            LexicalSAE.from_pretrained(tmp_path / "saved")
        rehash_model(tmp_path / "saved")
        with pytest.raises(RecordError, match="no record says so"):
            verify(LexicalSAE.from_pretrained(tmp_path / "saved", "cpu"))
        path.write_bytes(content)
        rehash_model(tmp_path / "saved")
        assert verify(LexicalSAE.from_pretrained(tmp_path / "saved", "cpu")).records == 4

    def test_a_save_without_records_takes_those_of_the_model_before_it_away(
        self, model: LexicalSAE, tmp_path: Path
    ) -> None:
        model.save_pretrained(tmp_path / "saved")
        build_model(tmp_path).save_pretrained(tmp_path / "saved")
        assert not (tmp_path / "saved" / SURGERY).exists()
        (tmp_path / "saved" / SURGERY).write_text("somebody's own")
        with pytest.raises(ModelError, match=r"holds surgery\.jsonl, which no save"):
            model.save_pretrained(tmp_path / "saved")


class TestSignatures:
    @pytest.fixture
    def keys(self, tmp_path: Path) -> tuple[Path, Path]:
        ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
        from cryptography.hazmat.primitives import serialization as s

        private = ed25519.Ed25519PrivateKey.generate()
        (tmp_path / "private.pem").write_bytes(
            private.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
        )
        (tmp_path / "public.pem").write_bytes(
            private.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo)
        )
        return tmp_path / "private.pem", tmp_path / "public.pem"

    def test_signed_and_checked(self, tmp_path: Path, keys: tuple[Path, Path]) -> None:
        model = build_model(tmp_path)
        suppress_token_globally(model, ["film"], key=keys[0])
        assert verify(model).signed == 1 and verify(model, key=keys[1]).signed == 1
        [record] = read_chain(model.surgery)
        assert record.signature is not None
        forged = replace(record, signature={**record.signature, "value": "00" * 64})
        model.surgery = (forged.line(),)
        with pytest.raises(RecordError, match="signature of record 0"):
            verify(model)

    def test_without_the_package_it_is_said(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(__import__("sys").modules, "cryptography.hazmat.primitives.asymmetric", None)
        model = build_model(tmp_path)
        with pytest.raises(ConfigError, match=r"pip install 'lexical-sae\[sign\]'"):
            suppress_token_globally(model, ["film"], key=tmp_path / "key.pem")
        assert not model.removal and model.surgery == ()

    def test_a_signature_that_is_asked_for_must_be_there(self, model: LexicalSAE, tmp_path: Path) -> None:
        with pytest.raises(RecordError, match="Record 0 is not signed"):
            verify(model, key=tmp_path / "public.pem")
