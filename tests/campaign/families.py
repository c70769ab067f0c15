"""All families, and how a campaign's cases are shared among them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.campaign import calls, commands, disk, files, folders, kills, pairs, places
from tests.campaign.case import Case, Family

#: Quick families and their shares of `--cases`: the wider the space, the more.
CHEAP = {"files": 0.30, "commands": 0.22, "calls": 0.20, "folders": 0.22, "places": 0.06}
#: Families of real processes and their shares of `--kills`.
SLOW = {"kills": 1.0, "disk": 0.1, "pairs": 0.1}

FAMILIES = {
    family.name: family
    for family in (
        Family("files", files.draw),
        Family("commands", commands.draw),
        Family("calls", calls.draw),
        Family("folders", folders.draw),
        Family("places", places.draw),
        Family("kills", kills.draw, limit=240),
        Family("disk", disk.draw, limit=240),
        Family("pairs", pairs.draw, limit=240),
    )
}


def plan(families: Sequence[str], cases: int, kills: int, seed: int) -> list[Case]:
    """The cases of a campaign, in an order that mixes slow and quick ones."""
    shares = {name: share for name, share in CHEAP.items() if name in families}
    whole = sum(shares.values())
    counts = {name: max(1, round(cases * share / whole)) for name, share in shares.items() if cases}
    counts |= {name: max(1, round(kills * SLOW[name])) for name in SLOW if name in families and kills}
    planned = [Case(name, seed * 1_000_000 + number) for name, count in counts.items() for number in range(count)]
    Random(seed).shuffle(planned)
    return planned
