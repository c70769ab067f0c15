"""`lexical-sae record show | verify | replay | undo`: what was removed from a model, and whether that is so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from splade.cli.errors import reports_errors
from splade.cli.options import ModelFolder, flag
from splade.cli.surgery import Key, Output, Person, Purpose, Reason, Role, account, check_place, load, save
from splade.errors import RecordError
from splade.models.folder import check_model_folder
from splade.utils.one_line import one_line

app = typer.Typer(help="The record of what was removed from a model.", no_args_is_help=True)


@app.command("show")
@reports_errors
def show(
    model: ModelFolder, as_json: Annotated[bool, flag("--json", "Print one JSON object a record, as it is.")] = False
) -> None:
    """Show what was removed from a model, when, by whom and why."""
    check_model_folder(model)
    loaded = load(model)
    from splade.reporting.removals import described
    from splade.surgery.chain import read_chain

    for record, line in zip(read_chain(loaded.surgery), loaded.surgery, strict=True):
        if as_json:
            print(json.dumps(json.loads(line)))  # ASCII: some readers end lines at other characters too
            continue
        print(one_line(f"{record.number}  {record.time}  {described(record)}"))
        who = ", ".join(part for part in (record.account["person"], record.account["role"]) if part)
        for name, value in (
            ("by", who),
            ("reason", record.account["reason"]),
            ("purpose", record.account["purpose"]),
            ("matched nothing", ", ".join(map(str, record.unmatched))),
            ("model", f"{record.before[:12]} -> {record.after[:12]}"),
            ("record", record.hash[:12]),
            ("signed with", (record.signature or {}).get("key", "")),
        ):
            if value:
                print(one_line(f"   {name}: {value}"))
        for sentence in record.not_guaranteed:
            print(one_line(f"   not guaranteed: {sentence}"))
    if not loaded.surgery and not as_json:
        print(f"{model}: nothing is on record.")


@app.command("verify")
@reports_errors
def verify(
    model: ModelFolder,
    key: Annotated[
        Path | None, typer.Option("--key", help="File of the public Ed25519 key (PEM) that must have signed.")
    ] = None,
) -> None:
    """Check that a model is what its records say: every byte of them, their order, the model's hash, and what it says
    of the texts in them."""
    check_model_folder(model)
    loaded = load(model)
    from splade.surgery.verification import verify as verified

    found = verified(loaded, key=key)
    if not found.records:
        print(f"{model} has no records, and nothing is removed from it: there was nothing to check.")
        return
    print(
        f"{model}: {found.records} record(s) hold; {found.texts} text(s) were read again, and the largest difference "
        f"of a logit is {found.difference:.1e}; {found.signed} signature(s) checked."
    )


@app.command("replay")
@reports_errors
def replay(model: ModelFolder) -> None:
    """Read the texts of every record again, with the model as it was before and after it, and say how far its logits
    are from those stored."""
    check_model_folder(model)
    loaded = load(model)
    from splade.surgery.verification import replay as replayed

    answers = replayed(loaded)
    for one in answers:
        same = "the same" if one.same else "NOT the same"
        print(f"{one.number}  {one.texts} text(s)  before {one.before:.1e}  after {one.after:.1e}  {same}")
    if not answers:
        print(f"{model}: there is no record to replay.")
    elif not all(one.same for one in answers):
        raise RecordError("The model does not say what its records say; it is another model, or damaged.")


@app.command("undo")
@reports_errors
def undo(
    model: ModelFolder,
    output: Output,
    person: Person = "",
    role: Role = "",
    reason: Reason = "",
    purpose: Purpose = "",
    key: Key = None,
) -> None:
    """Take back what the last record did, and save the model to another folder; that is on record too."""
    check_model_folder(model)
    check_place(model, output)
    loaded = load(model)
    from splade.surgery.suppress import undo_last

    record = undo_last(loaded, account=account(person, role, reason, purpose), key=key)
    save(loaded, output)
    left = ", ".join([*loaded.suppressed_words, *loaded.silenced_words]) or "nothing"
    print(one_line(f"Record {record.undoes} is taken back; removed from {output}: {left}."))
