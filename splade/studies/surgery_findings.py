"""What the study of surgery found: conditions compared on every set, the table, and what is left of the gap."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from splade.config.schema import Config
from splade.evaluation.bias import BiasResult, evaluate_bias
from splade.evaluation.bias_measure import BiasSettings
from splade.evaluation.estimate import Estimate
from splade.evaluation.group_rates import LargestGap
from splade.models.saving import library_versions
from splade.reporting.surgery_page import write_surgery_page
from splade.studies.conditions import CONDITIONS
from splade.studies.conditions.base import Bench, Ran
from splade.studies.conditions.coded import CodedTexts
from splade.studies.surgery_words import words_found
from splade.studies.tables import markdown_table, print_table
from splade.utils.atomic import write_json, write_text

BASELINE, WANTED, CONTROL = "baseline", "suppression_refit", "random_refit"
"""The conditions that the verdict is about."""

MOST_LOST = 0.01
"""Accuracy that a removal may cost, at the matched rate: at thresholds of their own, conditions differ by these too."""

HEADINGS = (
    *("", "condition", "accuracy, %", "false positives, %", "largest gap, points"),
    *("at the matched rate: accuracy, %", "change of it", "largest gap, points ", "change of it ", "BPSN AUC"),
)

NOTE = (
    "Largest gap: by how much more often harmless texts about one group are called harmful than all harmless texts, of "
    "the groups with 50 or more; at the threshold of the highest F1 on validation texts, and where {fpr:g} % of all "
    "harmless texts are called harmful in every condition. Changes are against the baseline on the same texts, with "
    "95 % intervals by paired bootstrap. BPSN: power mean over groups. Random words: the mean of {draws} draws; their "
    "intervals are those of the first."
)


def leave_results(folder: Path, config: Config, bench: Bench, ran: Sequence[Ran], out: Console) -> dict[str, Any]:
    """Compare the conditions on every set, and leave `results.json`, `table.md` and `report.html`."""
    settings = config.evaluation.of(BiasSettings)
    sets: dict[str, Any] = {}
    tables: list[str] = []
    for name, part in bench.tests.items():
        bench.say(f"Comparing on {name}")
        found = compare(part, bench.validation, ran, settings.bias_matched_fpr, config.seed)
        sets[name] = set_json(part, found, ran)
        headings, cells = rows_of(found, ran)
        draws = max((number_of(each.name) for each in ran), default=0)
        title = f"{config.experiment_name}: {name} ({len(part):,} texts)"
        note = NOTE.format(fpr=100 * settings.bias_matched_fpr, draws=draws)
        print_table(out, title, headings, cells, [note] if not tables else [])
        tables.append(f"### {name}\n\n{markdown_table(headings, cells)}\n")
    results = {
        "study": "surgery",
        "experiment_name": config.experiment_name,
        "dataset": config.data.dataset_name,
        "seed": config.seed,
        "versions": library_versions(),
        "matched_fpr": settings.bias_matched_fpr,
        "words": dataclasses.asdict(bench.words) | {"removal": bench.words.removal.to_json()},
        "conditions": conditions_json(ran),
        "sets": sets,
        "verdict": verdict(bench, ran, settings.bias_matched_fpr, config.seed),
        **words_found(bench, ran, settings.bias_matched_fpr, config.seed),
    }
    sentences = results["verdict"]["sentences"]
    for sentence in sentences:
        out.print(sentence, highlight=False, markup=False, soft_wrap=True)
    text = "\n".join([*tables, *(f"{each}\n" for each in (bench.words.how, note, *sentences))])
    write_text(folder / "table.md", text)
    write_surgery_page(folder / "report.html", results)
    write_json(folder / "results.json", results)
    return results


def compare(part: CodedTexts, validation: CodedTexts, ran: Sequence[Ran], matched_fpr: float, seed: int) -> BiasResult:
    """All that ran, on one set; the first is what the others are compared with."""
    scores = {each.name: each.scores[part.name] for each in ran}
    held_out = {each.name: each.scores[validation.name] for each in ran}
    return evaluate_bias(
        scores,
        part.positive,
        part.members,
        validation=(held_out, validation.positive),
        matched_fpr=matched_fpr,
        texts=part.drawn,
        seed=seed,
    )


def base_of(name: str) -> str:
    """The condition of a draw: `random 2` is one of `random`."""
    return name.rpartition(" ")[0] if name.rpartition(" ")[2].isdigit() and " " in name else name


def number_of(name: str) -> int:
    """The number of a draw; 0: it is none."""
    return int(name.rpartition(" ")[2]) if base_of(name) != name else 0


def draws_of(ran: Sequence[Ran]) -> dict[str, list[Ran]]:
    """What ran, by condition."""
    found: dict[str, list[Ran]] = {}
    for each in ran:
        found.setdefault(base_of(each.name), []).append(each)
    return found


def conditions_json(ran: Sequence[Ran]) -> dict[str, Any]:
    """What each condition is, and what it did."""
    found = {}
    for name, draws in draws_of(ran).items():
        condition = CONDITIONS.get(name)
        found[name] = {
            "title": condition.title,
            "about": condition.about,
            "draws": [each.name for each in draws],
            "refit_epochs": [each.refit_epoch for each in draws if each.refit_epoch is not None],
            "removed": [each.removed for each in draws],
            "notes": list(dict.fromkeys(note for each in draws for note in each.notes)),
        }
    return found


def set_json(part: CodedTexts, found: BiasResult, ran: Sequence[Ran]) -> dict[str, Any]:
    """A set's figures as `results.json` has them; of several draws, the mean beside each."""
    values = dataclasses.asdict(found)
    values["texts"], values["source"] = len(part), part.source
    values["summary"] = {name: summary(found, draws) for name, draws in draws_of(ran).items()}
    return values


def mean_estimate(estimates: Sequence[Estimate | None]) -> Estimate | None:
    """The mean over draws, with the interval of the first about it."""
    known = [each for each in estimates if each is not None]
    if not known:
        return None
    mean, first = float(np.mean([each.mean for each in known])), known[0]
    return Estimate(mean, mean + first.low - first.mean, mean + first.high - first.mean)


def summary(found: BiasResult, draws: Sequence[Ran]) -> dict[str, Any]:
    """The few figures of a condition that stand in the table."""
    every = [found.conditions[each.name] for each in draws]
    changes = [found.changes[each.name] for each in draws if each.name in found.changes]
    largest: dict[str, list[LargestGap | None]] = {
        point: [getattr(each, point).fpr.largest for each in every] for point in ("fixed", "matched")
    }
    values: dict[str, Estimate | None] = {
        "accuracy": mean_estimate([each.fixed.accuracy for each in every]),
        "accuracy_change": mean_estimate([each.fixed.accuracy for each in changes]),
        "matched_accuracy": mean_estimate([each.matched.accuracy for each in every]),
        "matched_accuracy_change": mean_estimate([each.matched.accuracy for each in changes]),
        "fpr": mean_estimate([each.fixed.fpr.overall for each in every]),
        "bpsn": mean_estimate([each.auc.mean.bpsn for each in every]),
        "auc": mean_estimate([each.auc.overall for each in every]),
        "matched_gap_change": mean_estimate([each.matched.fpr.largest for each in changes]),
        "fixed_gap_change": mean_estimate([each.fixed.fpr.largest for each in changes]),
        **{
            f"{point}_gap": mean_estimate([gap.gap if gap else None for gap in gaps]) for point, gaps in largest.items()
        },
    }
    groups = {f"{point}_group": sorted({gap.group for gap in gaps if gap}) for point, gaps in largest.items()}
    return {name: dataclasses.asdict(each) if each else None for name, each in values.items()} | groups


def rows_of(found: BiasResult, ran: Sequence[Ran]) -> tuple[list[str], list[list[str]]]:
    """The table of a set."""
    cells = []
    for number, (name, draws) in enumerate(draws_of(ran).items(), 1):
        row = summary(found, draws)
        cells.append(
            [
                *(str(number), CONDITIONS.get(name).title),
                shown(row["accuracy"], within=False),
                shown(row["fpr"], within=False),
                f"{shown(row['fixed_gap'], within=False)} {', '.join(row['fixed_group'])}".strip(),
                shown(row["matched_accuracy"], within=False),
                shown(row["matched_accuracy_change"], signed=True),
                f"{shown(row['matched_gap'])} {', '.join(row['matched_group'])}".strip(),
                shown(row["matched_gap_change"], signed=True),
                shown(row["bpsn"], scale=1, digits=3, within=False),
            ]
        )
    return list(HEADINGS), cells


def shown(
    found: Mapping[str, float] | None, *, signed: bool = False, scale: float = 100, digits: int = 1, within: bool = True
) -> str:
    """`−3.1 [−5.0, −1.2]`; a dash where there is none."""
    if found is None:
        return "–"
    sign = "+" if signed else ""

    def number(value: float) -> str:
        text = f"{scale * value:{sign}.{digits}f}"
        return text.replace("-", "−")

    interval = f" [{number(found['low'])}, {number(found['high'])}]" if within else ""
    return number(found["mean"]) + interval


def verdict(bench: Bench, ran: Sequence[Ran], matched_fpr: float, seed: int) -> dict[str, Any]:
    """Whether removal with a refit halves the largest gap for a point of accuracy or less, and beats random words."""
    part = next(iter(bench.tests.values()))
    by_name, found = draws_of(ran), compare(part, bench.validation, ran, matched_fpr, seed)
    if WANTED not in by_name or found.conditions[BASELINE].matched.fpr.largest is None:
        return {"sentences": []}
    before, after = (summary(found, by_name[name]) for name in (BASELINE, WANTED))
    first, second = before["matched_gap"]["mean"], after["matched_gap"]["mean"]
    change, lost = after["matched_gap_change"], after["matched_accuracy_change"]
    halved, cheap = second <= first / 2, lost["mean"] >= -MOST_LOST
    sentences = [
        f"On {part.name}, removal with a refit changes the largest gap at the matched rate from {100 * first:.1f} "
        f"points ({', '.join(before['matched_group'])}) to {100 * second:.1f} ({', '.join(after['matched_group'])}), "
        f"by {shown(change, signed=True)}, and accuracy by {shown(lost, signed=True)} points: it "
        f"{'halves' if halved else 'does not halve'} the gap, for {'no more than' if cheap else 'more than'} a point."
    ]
    against = []
    if CONTROL in by_name:
        pair = compare(part, bench.validation, [*by_name[WANTED], *by_name[CONTROL]], matched_fpr, seed)
        against = [pair.changes[each.name].matched.fpr.largest for each in by_name[CONTROL]]
        beats = all(each is not None and each.low > 0 for each in against)
        listed = "; ".join(shown(dataclasses.asdict(each), signed=True) for each in against if each)
        sentences.append(
            f"Random words leave a gap that is larger by {listed} points (a draw each): removal "
            f"{'beats' if beats else 'does not beat'} them by more than the interval."
        )
    else:
        beats = False
    better = [
        CONDITIONS.get(name).title
        for name, draws in by_name.items()
        if name not in (BASELINE, WANTED)
        and (own := summary(found, draws))["matched_gap"]
        and own["matched_gap"]["mean"] < second
        and own["matched_accuracy_change"]["mean"] >= -MOST_LOST
    ]
    if better:
        sentences.append(f"A smaller gap for no more accuracy than a point has: {', '.join(better)}.")
    return {
        "set": part.name,
        "halved": halved,
        "cheap": cheap,
        "beats_random": beats,
        "against_random": [dataclasses.asdict(each) if each else None for each in against],
        "better": better,
        "sentences": sentences,
    }
