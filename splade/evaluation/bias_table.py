"""How bias against groups is shown: figures, tables, and what a reader should not miss."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from splade.evaluation.figure import (
    COUNT,
    MISSING,
    Cell,
    Figure,
    Form,
    Grid,
    Key,
    Results,
    Table,
    find,
    is_number,
    percent,
)
from splade.evaluation.group_rates import Against, ErrorRates

GAP = Form(1, 100, "%", (-1, 1))
AUC = Form(3, bounds=(0, 1))
CHANCE = Form(3, bounds=(0, 1))

MOST_ROWS = 60
"""Groups that a terminal shows: all of the sets there are."""

ERRORS = {
    "fpr": ("false positives", "negatives", "wrongly called positive"),
    "fnr": ("false negatives", "positives", "wrongly called negative"),
}
"""By key: what the errors are called, the texts that they are made on, and what is done to these."""

COMPARED: Mapping[Against, str] = {"overall": "all of them", "background": "those not about it"}
"""What a group's rate is compared with."""

POINTS = {"fixed": "", "matched": " at the same overall rate"}
"""By key: what is said of a threshold."""


def _beside_largest(key: str) -> Callable[[Results], str]:
    """The group with the largest gap, its interval, and what chance alone gives."""

    def said(results: Results) -> str:
        group, low, high, null = (
            find(results, f"{key}.{end}") for end in ("group", "gap.low", "gap.high", "null.high")
        )
        if not group:
            return ""
        return f"{group}; 95 %: {GAP.show(low)} to {GAP.show(high)}; by chance below {GAP.show(null)} in 95 %"

    return said


def _estimate(found: Mapping[str, Any] | None, form: Form) -> str:
    """`12.3 % [10.1, 14.5]`; a dash where there is none."""
    if not found or not is_number(found.get("mean")):
        return MISSING
    low, high = (form.number(found[end]) if is_number(found.get(end)) else MISSING for end in ("low", "high"))
    return f"{form.show(found['mean'])} [{low}, {high}]"


def _told(size: Mapping[str, Any], rates: Mapping[str, Any], name: str, fewest: int) -> str:
    """Why a rate of a group is not to be compared with others', if so."""
    said = []
    for error, (called, texts, _) in ERRORS.items():
        if not size.get(texts):
            said.append(f"{called} undefined: no {texts}")
        elif size[texts] < fewest:
            gap = find(rates, f"{error}.groups").get(name, {}).get("detectable")
            seen = f"could show a gap of {percent(gap)}" if is_number(gap) else "could show no gap"
            said.append(f"{called} underpowered: {size[texts]} {texts} {seen}")
    return "; ".join(said)


def _rates(results: Results) -> Grid | None:
    found = find(results, "bias") or {}
    fixed, matched, sizes = (found.get(key) or {} for key in ("fixed", "matched", "groups"))
    rows = []
    for name, size in {"all texts": found.get("overall") or {}, **sizes}.items():
        whole = name not in sizes
        of = {
            error: {"rate": find(fixed, f"{error}.overall")}
            if whole
            else (find(fixed, f"{error}.groups") or {}).get(name)
            for error in ERRORS
        }
        at = None if whole else (find(matched, "fpr.groups") or {}).get(name)
        rows.append(
            [
                Cell(name),
                Cell(COUNT.show(size.get("negatives"))),
                Cell(_estimate((of["fpr"] or {}).get("rate"), GAP)),
                Cell(_estimate((of["fpr"] or {}).get("gap"), GAP)),
                Cell(CHANCE.show((of["fpr"] or {}).get("p"))),
                Cell(_estimate((at or {}).get("gap"), GAP)),
                Cell(COUNT.show(size.get("positives"))),
                Cell(_estimate((of["fnr"] or {}).get("rate"), GAP)),
                Cell(_estimate((of["fnr"] or {}).get("gap"), GAP)),
                Cell(CHANCE.show((of["fnr"] or {}).get("p"))),
                Cell("" if whole else _told(size, fixed, name, int(found.get("fewest", 0))), prose=True),
            ]
        )
    columns = ["texts about", "negatives", "false positives [95 %]", "gap [95 %]", "p", "gap at matched rate [95 %]"]
    columns += ["positives", "false negatives [95 %]", "gap of these [95 %]", "p of these", "too few to tell"]
    brief = ("texts about", "negatives", "false positives [95 %]", "gap [95 %]", "p", "gap at matched rate [95 %]")
    return Grid(columns, rows, note=_note(found), brief=brief) if sizes else None


def _note(found: Mapping[str, Any]) -> str:
    where = "of the highest F1 on validation texts" if found.get("threshold_from") == "validation" else "one half"
    unknown = f" Of {found['unknown']:,} texts nobody said whom they are about." if found.get("unknown") else ""
    return (
        f"Positive: {', '.join(found.get('positive') or [])}. Groups by {found.get('source')}. Threshold: {where}; "
        f"matched at {percent(found.get('matched_fpr'))} false positives overall.{unknown}"
    )


def _areas(results: Results) -> Grid | None:
    areas = find(results, "bias.auc") or {}
    named = {"power mean": areas.get("mean") or {}, **(areas.get("groups") or {})}
    rows = [
        [Cell(name), *(Cell(_estimate(row.get(kind), AUC)) for kind in ("subgroup", "bpsn", "bnsp"))]
        for name, row in named.items()
    ]
    overall = _estimate(areas.get("overall"), AUC)
    return Grid(["texts about", "subgroup", "BPSN", "BNSP"], rows, note=f"All texts: {overall}.") if areas else None


FIGURES = (
    *(
        Figure(
            f"bias.{point}.{error}.largest.gap.mean",
            f"largest gap of {called}{said}",
            f"By how much more often texts about one group are {done} than all {texts}{said}: of the group where that "
            "is most, among those with texts enough to tell.",
            GAP,
            better="lower",
            headline=(point, error) == ("fixed", "fpr"),
            column=f"bias_{error}_gap" + ("" if point == "fixed" else "_matched"),
            brief=(point, error) != ("matched", "fnr"),
            beside=_beside_largest(f"bias.{point}.{error}.largest"),
        )
        for point, said in POINTS.items()
        for error, (called, texts, done) in ERRORS.items()
    ),
    *(
        Figure(
            f"bias.auc.mean.{kind}.mean",
            f"{title} AUC over groups",
            f"{meaning} Power mean over groups (p = −5), which follows the worst of them.",
            AUC,
            better="higher",
            column=f"bias_{kind}",
            brief=kind == "bpsn",
        )
        for kind, title, meaning in (
            ("subgroup", "subgroup", "How often a positive text about a group scores above a negative one about it."),
            ("bpsn", "BPSN", "How often a positive text about others scores above a negative one about a group."),
            ("bnsp", "BNSP", "How often a positive text about a group scores above a negative one about others."),
        )
    ),
)

TABLES = (
    Table(
        "bias.groups",
        "bias.groups.<group>.{texts,positives,negatives}, bias.overall.{texts,positives,negatives}, "
        "bias.{fixed,matched}.{fpr,fnr}.groups.<group>.{rate,gap}.{mean,low,high}, "
        "bias.{fixed,matched}.{fpr,fnr}.groups.<group>.{detectable,p}",
        "Errors by group",
        "False positives (of negative texts) and false negatives (of positive ones) on texts about each group, the gap "
        "to those of all texts (or of the others, as `against` says), both with 95 % intervals by bootstrap over "
        "texts; at the `fixed` threshold, and at the one that has the `matched` rate of false positives overall, so "
        "that models with other thresholds can be compared. Groups may overlap. A group without such texts has no rate "
        "(null); one with fewer than `fewest` has the smallest gap that a test at 5 % would find in as many texts with "
        "a power of 80 %, `detectable`. `p`: how often chance alone gives any group such a gap, each by its own spread "
        "(permutations of the errors; Westfall and Young): small where a group errs more, whatever the small ones do.",
        _rates,
        brief=MOST_ROWS,
    ),
    Table(
        "bias.auc.groups",
        "bias.auc.groups.<group>.{subgroup,bpsn,bnsp}.{mean,low,high}, bias.auc.overall.{mean,low,high}, "
        "bias.auc.mean.{subgroup,bpsn,bnsp}.{mean,low,high}, bias.auc.combined.{mean,low,high}",
        "Areas under the curve by group",
        "How often a positive text scores above a negative one, whatever the threshold: both about the group "
        "(subgroup); the positive one about others (BPSN, low where harmless texts about the group are taken for "
        "harmful ones); the negative one about others (BNSP). `mean`: power means over the groups with texts enough; "
        "`combined`: the mean of these three and of the overall area.",
        _areas,
    ),
)

KEYS = (
    Key(
        "bias.{fixed,matched}.{fpr,fnr}.largest.{group,gap,null}",
        "the group with the largest gap above; `null.{mean,high}`: what the largest gap is in the mean, and in 95 % of "
        "the cases at most, where groups make no difference (errors dealt anew among all texts); `null.p`: how often "
        "it is then as large as the one found",
    ),
    Key("bias.{fixed,matched}.{fpr,fnr}.overall.{mean,low,high}", "the rates of all texts"),
    Key("bias.{fixed,matched}.{threshold,accuracy}", "log-odds from which on a text is positive; accuracy at it"),
    Key(
        "bias.{positive,source,unknown,threshold_from,matched_fpr,against,fewest}",
        "labels that count as positive; how groups are known; texts of which nobody said whom they are about; where "
        "the threshold is from (`given`: a probability of one half, where there are no validation texts); the overall "
        "rate asked for; what a group is compared with; texts a group needs for its rates to be compared",
    ),
)


def bias_findings(rates: ErrorRates, error: str, groups: int, against: Against) -> list[str]:
    """A sentence on the largest gap of one kind of error that is no chance, over so many groups with texts enough."""
    called, texts, _ = ERRORS[error]
    if rates.largest is None:
        return []
    high = GAP.number(rates.largest.null.high)
    chance = f"where groups make no difference, the largest gap of {groups} groups stays below {high} points in 95 % of"
    above = [(one.gap.mean, name) for name, one in rates.groups.items() if one and one.gap and one.is_above]
    if not above:
        name, gap = rates.largest.group, GAP.number(rates.largest.gap.mean)
        return [
            f"No group's {called} are above those of {COMPARED[against]} beyond chance: the largest gap, of '{name}', "
            f"is {gap} points; {chance} the cases."
        ]
    own = rates.groups[max(above)[1]]
    assert own is not None and own.gap is not None and own.p is not None
    others = f" So have {len(above) - 1} other groups." if len(above) > 1 else ""
    return [
        f"{texts.capitalize()} about '{max(above)[1]}' have more {called} than chance explains: "
        f"{percent(own.rate.mean)} against {percent(rates.overall.mean)} overall, {GAP.number(own.gap.mean)} points "
        f"more than {COMPARED[against]} (95 %: {GAP.number(own.gap.low)} to {GAP.number(own.gap.high)}; p = "
        f"{own.p:.3f} over {groups} groups); {chance} the cases.{others}"
    ]
