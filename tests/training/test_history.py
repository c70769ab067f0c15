"""The history has a line a note, forgets an earlier run, and is cut where a run goes on."""

from __future__ import annotations

from pathlib import Path

from splade.training.history import History


def test_a_new_run_begins_anew_and_adds_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "run" / "metrics.jsonl"
    for _ in range(2):
        history = History(path)
        history.begin([{"step": 0, "phase": "mlm"}])
        history.write({"step": 1})
    assert path.read_text() == '{"step": 0, "phase": "mlm"}\n{"step": 1}\n'


def test_without_a_file_nothing_is_written(tmp_path: Path) -> None:
    history = History(None)
    history.begin([{"step": 0}])
    history.write({"step": 1})
    history.cut(0)
    assert not list(tmp_path.iterdir())


def test_it_is_cut_to_the_step_resumed_from(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"step": 2, "validation": {}}\n{"step": 3}\n{"st')
    History(path).cut(2)
    assert path.read_text() == '{"step": 1}\n{"step": 2, "validation": {}}\n'
    History(tmp_path / "missing").cut(2)
