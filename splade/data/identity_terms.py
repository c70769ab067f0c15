"""Words that name people: a list for data whose texts nobody has sorted by whom they are about.

They are the plain names of groups, with plurals, and no slurs: a text with a slur is mostly harmful, so that it says
little of how harmless texts are treated. A word may have other meanings (*black*, *straight*), which a list cannot
know."""

from __future__ import annotations

from pathlib import Path

from splade.data.groups import parse_terms
from splade.errors import DataError
from splade.utils.reading import read_bytes

IDENTITY = "identity"
"""What names this list where a file could be named."""


def _terms(lines: str) -> dict[str, list[str]]:
    return parse_terms(lines.splitlines(), "the list of identity terms")


IDENTITY_TERMS = _terms(
    """
women: woman, women, female, females, girl, girls
men: man, men, male, males, boy, boys
transgender: trans, transgender, transsexual, transgenders
gay: gay, gays, homosexual, homosexuals, queer, queers
lesbian: lesbian, lesbians
bisexual: bisexual, bisexuals
straight: heterosexual, heterosexuals
black: black, blacks, african american, african americans, african-american, african-americans
white: white, whites, caucasian, caucasians
asian: asian, asians, chinese, japanese, korean, koreans, indian, indians
latino: latino, latinos, latina, latinas, latinx, hispanic, hispanics, mexican, mexicans
arab: arab, arabs, arabic, middle eastern
native american: native american, native americans, indigenous
muslim: muslim, muslims, islam, islamic
jewish: jew, jews, jewish, judaism
christian: christian, christians, catholic, catholics, protestant, protestants, christianity
hindu: hindu, hindus, hinduism
buddhist: buddhist, buddhists, buddhism
atheist: atheist, atheists, atheism
immigrant: immigrant, immigrants, refugee, refugees, migrant, migrants
disabled: disabled, disability, deaf, blind, paralyzed, paralysed, wheelchair
mentally ill: mentally ill, mental illness, autistic, bipolar, schizophrenic
old: elderly, old people, old man, old woman, old men, old women
young: teenager, teenagers, teenage, young people, young man, young woman
"""
)
"""Terms by group."""


EXCHANGEABLE = _terms(
    """
adjective: gay, lesbian, bisexual, heterosexual, transgender, male, female, black, white, asian, african, european,
adjective: american, latino, mexican, chinese, muslim, christian, jewish, hindu, buddhist, catholic, atheist, deaf,
adjective: blind, disabled, old, young, tall, short
plural: women, men, gays, lesbians, blacks, whites, asians, latinos, mexicans, americans, muslims, christians, jews,
plural: hindus, buddhists, catholics, atheists, immigrants, refugees, teenagers
"""
)
"""Words of one form, each of which can stand where another does; of the adjectives two name no group at all."""


def load_terms(source: str) -> dict[str, list[str]]:
    """The list of this name, or the terms of a file: a line a group, its name, a colon, and its terms."""
    if source == IDENTITY:
        return IDENTITY_TERMS
    path = Path(source)
    if not path.is_file():
        raise DataError(f"There is no file {source} of terms; name one, or '{IDENTITY}' for the list that is here.")
    try:
        lines = read_bytes(path).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise DataError(f"The file {source} of terms is not written in UTF-8; save it so.") from None
    return parse_terms(lines, f"The file {source}")
