"""What a campaign found: a table of families and verdicts, and the failures with how to see each again."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.campaign.case import Result
from tests.campaign.verdicts import FAILURES, Verdict

SHOWN = 2  # cases of each distinct failure that are listed; the JSON file has all


def failures(results: Sequence[Result]) -> list[Result]:
    """Those that ended as nothing may end."""
    return [result for result in results if result.outcome.verdict in FAILURES]


def print_table(results: Sequence[Result], console: Console) -> None:
    """Families down, verdicts across."""
    counts = Counter((result.case.family, result.outcome.verdict) for result in results)
    families = list(dict.fromkeys(result.case.family for result in results))
    seconds = Counter[str]()
    for result in results:
        seconds[result.case.family] += result.seconds
    table = Table("family", *(verdict.value for verdict in Verdict), "cases", "s a case")
    for name in [*sorted(families), "all"]:
        own = [counts[(family, verdict)] for verdict in Verdict for family in [name]]
        if name == "all":
            own = [sum(counts[(family, verdict)] for family in families) for verdict in Verdict]
        time = seconds[name] if name != "all" else sum(seconds.values())
        table.add_row(name, *(str(each or "·") for each in own), str(sum(own)), f"{time / max(1, sum(own)):.2f}")
    console.print(table)


def print_failures(results: Sequence[Result], console: Console) -> None:
    """Failures that are alike together, the commonest first; of each, some cases with the command that repeats them."""
    alike: dict[tuple[str, Verdict, str], list[Result]] = defaultdict(list)
    for result in failures(results):
        alike[(result.case.family, result.outcome.verdict, signature(result.outcome.detail))].append(result)
    for (family, verdict, _), group in sorted(alike.items(), key=lambda item: -len(item[1])):
        console.print(f"\n{family}, {verdict.value}, {len(group)}×: {group[0].outcome.detail}", **PLAIN)
        for result in group[:SHOWN]:
            console.print(f"  {result.description[:200]}\n    python -m tests.campaign --only {result.case}", **PLAIN)


PLAIN = {"markup": False, "highlight": False, "soft_wrap": True}


def signature(detail: str) -> str:
    """A detail without what differs from case to case: paths, numbers, quoted words."""
    bare = re.sub(r"/\S+", "PATH", detail.partition(": ")[0] if detail.startswith("accepted") else detail)
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "'…'", bare)
    return re.sub(r"\d+", "0", bare)[:60]


def write_json(path: Path, results: Sequence[Result], **facts: object) -> None:
    """Everything, for a machine."""
    counts = Counter(result.outcome.verdict.value for result in results)
    rows = [
        {
            "case": str(result.case),
            "description": result.description,
            "verdict": result.outcome.verdict.value,
            "detail": result.outcome.detail,
            "seconds": round(result.seconds, 3),
        }
        for result in results
    ]
    path.write_text(json.dumps({**facts, "counts": counts, "cases": rows}, indent=1), encoding="utf-8")
