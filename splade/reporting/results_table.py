"""The headline figures of `results.json` as a table in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from splade.reporting.by_class import class_rows, confusions, shown_and_others
from splade.reporting.figures import decimal

CONFUSIONS_IN_TABLE = 3
"""Pairs of classes named in the table."""


def print_results(results: Mapping[str, Any], console: Console) -> None:
    """The headline figures, those of the task, then what every model is asked; and the notes."""
    table = Table(title=results.get("experiment_name"), show_header=False)
    tagging = results.get("task") == "tagging"
    (_add_tagging if tagging else _add_classification)(table, results)
    row, rows = ("word", "words") if tagging else ("text", "texts")
    counted = {f"active tokens a {row}": results["active_tokens"]}
    if tagging:
        counted["active tokens a word (entities)"] = results["active_tokens_entities"]
    for name, active in counted.items():
        if active:
            spread = f"of {results['vocab_size']:,} (95 % have ≤ {active['p95']:.0f})"
            table.add_row(name, f"{active['mean']:.1f} {spread}")
    looked_at = results["words"] if tagging else results["evaluated"]
    table.add_row("identity, max error", f"{results['dla']['max_error']:.1e} over {looked_at:,} {rows}, every class")
    _add_completeness(table, results, "entities" if tagging else None)
    separation = results["separation"]
    for title, key in (
        ("circuits, cosine", "cosine"),
        ("circuits, cosine of sizes", "size_cosine"),
        ("all active tokens, cosine of sizes", "overlap"),
    ):
        between, within = (decimal(separation.get(each)) for each in (key, f"within_{key}"))
        table.add_row(title, f"{between} between classes, {within} within")
    grounding = results["grounding"]
    table.add_row("contribution on words in the text", f"{grounding['input_share']:.0%}")
    table.add_row("own token strongest at its word", f"{grounding['self_activation']:.0%}")
    for title, key, name in (("heaviest token", "heaviest", "token"), ("heaviest word", "heaviest_word", "word")):
        if carried := grounding.get(key):
            table.add_row(title, f"{escape(carried[name])}, {carried['share']:.1%} of all contribution")
    if strongest := results.get("strongest"):
        shares = [found["share"] for found in strongest.values()]
        table.add_row(
            "one token strongest for a tag", f"at {sum(shares) / len(shares):.0%} of its words, mean over tags"
        )
    if lexicon := grounding.get("lexicon"):
        table.add_row(
            f"on words rated by {lexicon['name']}",
            f"{lexicon['coverage']:.0%}, of that {lexicon['right_sign']:.0%} of the right sign",
        )
    if dense := results.get("dense"):
        ratio = results["seconds"]["per_step"] / dense["seconds_per_step"]
        table.add_row("seconds a step", f"{results['seconds']['per_step']:.3f}  ({ratio:.2f} × the dense head's)")
    console.print(table)
    for note in results.get("notes", []):
        console.print(f"Note: {note}", highlight=False, markup=False, soft_wrap=True)


def _add_classification(table: Table, results: Mapping[str, Any]) -> None:
    table.add_row("accuracy", f"{results['accuracy']:.4f}{_dense(results, 'accuracy')}")
    table.add_row("macro F1", f"{results['macro_f1']:.4f}{_dense(results, 'macro_f1')}")
    shown, others = shown_and_others(class_rows(results))
    for row in shown:
        dense = f", dense head's F1 {row.dense:.4f}" if row.dense is not None else ""
        details = f"precision {decimal(row.precision)}, recall {decimal(row.recall)}, {row.support:,} texts{dense}"
        table.add_row(f"F1 of {escape(row.name)}", f"{row.f1:.4f}  ({details})")
    if others:
        table.add_row(f"F1 of the other {len(others)} labels", f"{others[0].f1:.4f} to {others[-1].f1:.4f}")
    for number, one in enumerate(confusions(results)[:CONFUSIONS_IN_TABLE]):
        title = "" if number else "taken for another most often"
        table.add_row(title, f"{escape(one.gold)} for {escape(one.given)}: {one.count:,} of {one.of:,}")


def _add_tagging(table: Table, results: Mapping[str, Any]) -> None:
    table.add_row("entity F1", f"{results['f1']:.4f}{_dense(results, 'f1')}")
    table.add_row("precision, recall", f"{results['precision']:.4f}, {results['recall']:.4f}")
    for name, found in results["per_type"].items():
        table.add_row(f"F1 of {escape(name)}", f"{found['f1']:.4f}  ({found['support']:,} entities)")
    table.add_row("words with the right tag", f"{results['token_accuracy']:.4f}")
    for k, capped in results["topk_per_position"].items():
        table.add_row(
            f"entity F1, at most {k} tokens a word", f"{capped['f1']:.4f}  ({capped['capped']:.1%} of words had more)"
        )


def _add_completeness(table: Table, results: Mapping[str, Any], part: str | None) -> None:
    """What is left of the accuracy when few tokens are kept; of a tagger, at the words of entities."""
    key = f"completeness_{part}" if part else "completeness"
    where = f" ({part})" if part else ""
    kept = {f"{float(share):.0%}": figures for share, figures in results[key].items() if share in ("0.1", "0.5")}
    if three := results[f"{key}_tokens"].get("3"):
        kept["3 tokens"] = three
    for name, figures in kept.items():
        beside = f"  (random tokens: {figures['random_accuracy']:.4f})"
        table.add_row(f"accuracy keeping {name}{where}", f"{figures['accuracy']:.4f}{beside}")


def _dense(results: Mapping[str, Any], key: str) -> str:
    dense = results.get("dense")
    return f"  (dense head: {dense[key]:.4f})" if dense else ""
