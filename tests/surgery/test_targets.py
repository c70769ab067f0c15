"""Targets by number, word and file: what matched, what did not, and when that is an error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from splade.errors import ConfigError, DataError, ModelError
from splade.models.lexical_sae import LexicalSAE
from splade.surgery.targets import find_targets
from tests.builders import build_model
from tests.models.open_word_models import column_of, pieces_of
from tests.surgery.models import CONTEXT


def test_a_word_stands_for_its_tokens_in_all_casings_and_pieces(shared: dict[str, LexicalSAE]) -> None:
    model = shared["byte-level"]
    matched = find_targets(model, tokens=["FILM", "unwatchable"])
    names = [match.names for match in matched.found]
    assert [{name.lower() for name in each} for each in names] == [{"film"}, {"unwatchable"}]
    spelt = {model.vocabulary.pieces[token] for token in matched.found[0].removal.tokens}
    assert "Ġfilm" in spelt
    assert pieces_of(model, "unwatchable") in matched.removal.split


def test_senses_go_with_their_token(shared: dict[str, LexicalSAE]) -> None:
    model = shared["senses"]
    token = model.vocabulary.names.index("bank")
    [further, *_] = [entry for entry, base in model.vocabulary.sense_of.items() if base == token]
    for asked in ("bank", "bank#2", token, further):
        assert find_targets(model, tokens=[asked]).removal.tokens == {token}


def test_by_number_and_as_the_tokenizer_writes_it(shared: dict[str, LexicalSAE]) -> None:
    model = shared["neighbourhood"]
    piece = model.vocabulary.pieces.index("##ing")
    assert find_targets(model, tokens=["##ing"]).removal.tokens == {piece}
    assert find_targets(model, tokens=[np.int64(piece)]).removal.tokens == {piece}
    column = column_of(model, "unwatchable")
    assert find_targets(model, tokens=column).removal.split == {pieces_of(model, "unwatchable")}
    with pytest.raises(ConfigError, match="first, and no other"):
        find_targets(model, tokens=[len(model.vocabulary) + 5])


def test_one_unknown_word_does_not_refuse_the_rest(shared: dict[str, LexicalSAE], tmp_path: Path) -> None:
    model = shared["full"]
    matched = find_targets(model, tokens=["film", "qwertyzzz", "plot"], words=["unwatchable", "good film"])
    assert [match.asked for match in matched.found] == ["film", "plot", "unwatchable"]
    assert matched.unmatched == ("qwertyzzz", "good film")
    said = "\n".join(matched.sentences())
    assert "'qwertyzzz' matched nothing" in said and "'unwatchable': silenced" in said and "'film': shut" in said
    (tmp_path / "words.txt").write_text("film\n\n  plot \nqwertyzzz\n")
    assert find_targets(model, tokens=tmp_path / "words.txt").unmatched == ("qwertyzzz",)


def test_words_given_to_a_tagger_may_hold_marks(tmp_path: Path) -> None:
    model = build_model(tmp_path, **CONTEXT)
    assert find_targets(model, words=["u.s."]).removal.words == {"u.s."}
    with pytest.raises(ConfigError):
        find_targets(build_model(tmp_path), words=["u.s."])


@pytest.mark.parametrize(
    "tokens, error",
    [
        *(((), ConfigError), ([], ConfigError), ([""], ConfigError), ([None], ModelError), (b"film", ModelError)),
        *(([True], ModelError), ([1.5], ModelError), ([["film"]], ModelError), (None, ModelError)),
    ],
)
def test_what_is_no_target(shared: dict[str, LexicalSAE], tokens: object, error: type[Exception]) -> None:
    with pytest.raises(error) as found:
        find_targets(shared["full"], tokens=tokens)  # type: ignore[arg-type]
    assert "\n" not in str(found.value)


def test_files_that_hold_no_words(shared: dict[str, LexicalSAE], tmp_path: Path) -> None:
    with pytest.raises(DataError):
        find_targets(shared["full"], tokens=tmp_path / "missing.txt")
    (tmp_path / "empty.txt").write_text("\n \n")
    with pytest.raises(ConfigError, match="has no words"):
        find_targets(shared["full"], tokens=tmp_path / "empty.txt")
