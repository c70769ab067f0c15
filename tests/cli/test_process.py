"""The command line as a process: its streams, its help, and what is taken over."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from splade.cli import app
from tests.runs import expect_sentence, json_lines, read_json, run_cli


def fresh(*arguments: object, **how: Any) -> subprocess.CompletedProcess[bytes]:
    """The command line in a process of its own, which streams of the system need."""
    command = [sys.executable, "-m", "splade", *map(str, arguments)]
    return subprocess.run(command, capture_output="stdout" not in how, timeout=300, **how)


@pytest.mark.parametrize("command", ["predict", "explain"])
def test_a_full_disk_behind_standard_output(model: Path, command: str) -> None:
    with open("/dev/full", "w") as full:
        done = fresh(command, "--model", model, "good", stdout=full, stderr=subprocess.PIPE)
    said = done.stderr.decode()
    assert done.returncode == 2 and said.startswith("The output could not be read or written (No space left on device)")
    assert len(said.splitlines()) == 1


def test_streams_that_are_closed_or_of_few_characters(model: Path) -> None:
    done = fresh("predict", "--model", model, "schön 👍", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0 and done.stdout.endswith(b"\tsch\\xf6n \\U0001f44d\n")
    command = f"{sys.executable} -m splade predict --model {model} - <&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=300)
    assert done.returncode == 2 and done.stderr.startswith(b"Standard input is closed")


def test_the_installed_command_explains_in_a_new_process(model: Path) -> None:
    """And through a pipe: one JSON object a line on standard output, nothing on standard error."""
    command = [Path(sys.executable).with_name("lexical-sae"), "explain", "--model", model, "--json", "-"]
    done = subprocess.run(command, input=b"a charming film\n\n", capture_output=True, timeout=300)
    assert (done.returncode, done.stderr.decode()) == (0, "")
    assert [one["text"] for one in json_lines(done.stdout.decode())] == ["a charming film", ""]


def test_help_lists_the_commands() -> None:
    assert {command.name or command.callback.__name__ for command in app.registered_commands} == {  # type: ignore[union-attr]
        "train",
        "evaluate",
        "predict",
        "explain",
        "bias",
        "suppress",
        "concept",
        "serve",
        "rehash",
    }
    assert all(name in run_cli("--help").stdout for name in ("train", "evaluate", "predict", "explain"))


def test_help_wraps_where_the_terminal_does_and_flags_have_no_type() -> None:
    shown = run_cli("predict", "--help").stdout
    *_, paragraph = shown.split("Arguments")[0].split("A classifier's line is")
    lines = [line for line in paragraph.splitlines() if line.strip()]
    assert len(lines) > 3 and all(len(line.rstrip()) > 60 for line in lines[1:-2])  # none broken in mid-sentence
    (flag,) = (line for line in shown.splitlines() if "--json " in line and "Print" in line)
    assert "bool" not in flag


def test_help_says_what_json_each_command_prints() -> None:
    helps = {command: run_cli(command, "--help").stdout for command in ("evaluate", "predict", "explain")}
    assert "one JSON object a text" not in helps["evaluate"] and "as one JSON object" in helps["evaluate"]
    assert all("one JSON object a text" in helps[command] for command in ("predict", "explain"))


def test_a_change_on_purpose_is_taken_over(model: Path, tmp_path: Path) -> None:
    changed = shutil.copytree(model, tmp_path / "model")
    record = read_json(changed / "lexical_sae.json")
    (changed / "lexical_sae.json").write_text(json.dumps({**record, "labels": ["good", "bad"]}))
    expect_sentence(run_cli("predict", "--model", changed, "charming"), "lexical-sae rehash --model")
    done = run_cli("rehash", "--model", changed)
    assert done.exit_code == 0 and "lexical_sae.json taken as changed on purpose" in done.stdout
    assert run_cli("predict", "--model", changed, "charming").stdout.startswith("bad\t")
    assert "nothing had changed" in run_cli("rehash", "--model", changed).stdout
