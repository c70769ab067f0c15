"""The campaign in its shortest form, and that its verdicts can fail: bugs are planted and must be found."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from splade.errors import DataError
from splade.models.lexical_sae import LexicalSAE
from tests.campaign import __main__ as command
from tests.campaign import calls, files, kills, pairs, places, reading
from tests.campaign.case import Case, Family, Trial, carry_out, draw
from tests.campaign.cli import Ran, forked
from tests.campaign.families import FAMILIES, plan
from tests.campaign.moments import Moment, at_write
from tests.campaign.quirks import QUIRKS
from tests.campaign.report import failures, signature
from tests.campaign.tables import Expected, Table
from tests.campaign.trees import check_kept, check_tidy, tree
from tests.campaign.verdicts import (
    Lost,
    Outcome,
    Refused,
    Skip,
    Verdict,
    Wrong,
    fault_of,
    judge,
    must_accept,
    must_refuse,
)
from tests.campaign.workers import run_all
from tests.campaign.workshop import KILLED, Workshop, build


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """Trained once; a quarter of a minute."""
    return build(tmp_path_factory.mktemp("campaign"))


@pytest.fixture
def no_workshop(tmp_path: Path) -> Workshop:
    """For cases that need no model."""
    return Workshop(tmp_path, 1.0)


def fail(error: Exception) -> Callable[[], None]:
    def run() -> None:
        raise error

    return run


class TestVerdicts:
    @pytest.mark.parametrize(
        ("error", "verdict"),
        [
            (KeyError("label"), Verdict.TRACEBACK),
            (DataError("The file x has no column 'text'; name one."), Verdict.SENTENCE),
            (DataError("The file has two lines.\nHere is another."), Verdict.TRACEBACK),
            (DataError("The model cannot be read ('labels'); train it again."), Verdict.TRACEBACK),
            (DataError("no full stop"), Verdict.TRACEBACK),
            (DataError(""), Verdict.TRACEBACK),
            (Wrong("80 written, 75 read"), Verdict.WRONG),
            (Lost("thesis.txt is gone"), Verdict.LOST),
            (Skip("no root"), Verdict.SKIPPED),
        ],
    )
    def test_every_ending_has_one(self, error: Exception, verdict: Verdict) -> None:
        assert judge(fail(error)).verdict is verdict

    def test_an_end_without_a_word_is_right(self) -> None:
        assert judge(lambda: None) == Outcome(Verdict.RIGHT)

    def test_a_detail_names_the_line_of_the_program(self) -> None:
        assert "config/load.py:" in judge(lambda: reading.load_config(None, [5])).detail  # type: ignore[list-item]

    def test_success_of_what_must_be_refused_is_wrong_and_the_other_way_round(self) -> None:
        assert judge(lambda: must_refuse(lambda: None, "nonsense")).verdict is Verdict.WRONG
        assert judge(lambda: must_accept(fail(DataError("No.")), "a tuple")).verdict is Verdict.WRONG

    def test_more_mistakes_are_counted_after_the_sentence(self) -> None:
        assert fault_of("--set: seed must be at least 0, but is -1. (and 2 more)") is None

    @pytest.mark.parametrize(
        ("ran", "verdict"),
        [
            (Ran(0, "", ""), Verdict.RIGHT),
            (Ran(2, "", "Data: own files.\nThere is no file x; check the path.\n"), Verdict.SENTENCE),
            (Ran(1, "", ""), Verdict.TRACEBACK),
            (Ran(2, "", ""), Verdict.TRACEBACK),
            (Ran(0, "", "Traceback (most recent call last):\n"), Verdict.TRACEBACK),
            (Ran(-11, "", ""), Verdict.TRACEBACK),
        ],
    )
    def test_of_commands(self, ran: Ran, verdict: Verdict) -> None:
        assert judge(ran.succeeded).verdict is verdict


class TestCases:
    def test_a_seed_is_a_case(self, no_workshop: Workshop) -> None:
        first, again = (draw(Case("files", 5), FAMILIES["files"], no_workshop).description for _ in range(2))
        others = {draw(Case("files", seed), FAMILIES["files"], no_workshop).description for seed in range(20)}
        assert first == again and len(others) > 15
        assert Case.parse("files:5") == Case("files", 5)

    def test_a_plan_has_the_cases_asked_for_and_another_seed_others(self) -> None:
        planned = plan(list(FAMILIES), 1000, 50, 0)
        assert len([case for case in planned if case.family == "kills"]) == 50
        assert 990 <= len([case for case in planned if case.family not in ("kills", "disk", "pairs")]) <= 1010
        assert not set(planned) & set(plan(list(FAMILIES), 1000, 50, 1))

    def test_a_process_that_dies_or_hangs_costs_its_own_case_alone(self, no_workshop: Workshop) -> None:
        ends: list[Callable[[Path], Any]] = [lambda _: None, lambda _: os._exit(3), lambda _: time.sleep(60)]

        def one(rng: Random, _: Workshop) -> Trial:
            return Trial("an end", rng.choice(ends))

        family = {"ends": Family("ends", one, limit=0.5)}
        results = list(run_all([Case("ends", seed) for seed in range(8)], family, no_workshop, jobs=2))
        assert {result.case.seed for result in results} == set(range(8))
        assert {result.outcome.verdict for result in results} == {Verdict.RIGHT, Verdict.TRACEBACK, Verdict.HUNG}

    def test_the_exit_code_tells(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, no_workshop: Workshop) -> None:
        monkeypatch.setattr(command, "build", lambda folder: replace(no_workshop, folder=folder))
        for end, code in ((lambda _: None, 0), (lambda _: fail(Wrong("a bug"))(), 1)):
            monkeypatch.setattr(command, "FAMILIES", {"files": Family("files", lambda *_, end=end: Trial("it", end))})
            with pytest.raises(SystemExit) as ended:
                command.campaign(cases=4, kills=0, families="files", jobs=1, json_file=tmp_path / "all.json")
            assert ended.value.code == code
            assert len(json.loads((tmp_path / "all.json").read_text())["cases"]) == 4


class TestPlantedBugs:
    """Each oracle sees the mistake it is for."""

    def check_table(self, folder: Path, **changes: Any) -> Outcome:
        table = Table("csv", [f"film {row}" for row in range(12)], ["a", "b"] * 6, **changes)
        return judge(lambda: files._check(table, folder))

    @pytest.mark.parametrize(
        "bug", [lambda texts: texts[:-1], lambda texts: texts[::-1], lambda texts: [text.strip("f") for text in texts]]
    )
    def test_texts_lost_reordered_or_changed(self, bug: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.check_table(tmp_path).verdict is Verdict.RIGHT
        real = reading.load_dataset

        def load(*given: Any) -> Any:
            found = real(*given)
            train = replace(
                found.train, texts=bug(found.train.texts), labels=found.train.labels[: len(bug(found.train.texts))]
            )
            return replace(found, train=train)

        monkeypatch.setattr(reading, "load_dataset", load)
        assert self.check_table(tmp_path).verdict is Verdict.WRONG

    def test_a_note_that_is_missing_and_a_file_that_must_be_refused(self, tmp_path: Path) -> None:
        assert self.check_table(tmp_path, noted="a delimiter").verdict is Verdict.WRONG
        assert self.check_table(tmp_path, expected=Expected.REFUSED).verdict is Verdict.WRONG
        assert self.check_table(tmp_path, header=["q", "y"]).verdict is Verdict.WRONG  # refused, and must not be

    def test_every_quirk_writes_a_file(self, tmp_path: Path) -> None:
        for name, (formats, quirk) in QUIRKS.items():
            for format_ in formats:
                table = Table(format_, [f"film {row}" for row in range(12)], ["a", "b"] * 6)
                quirk(Random(name), table)
                assert table.write(tmp_path, name).stat().st_size > 0

    def test_answers_in_another_order(self, workshop: Workshop) -> None:
        model, texts = calls.load(workshop.model("named")), calls.reviews(8)
        answers = calls.predict_batch(model, texts)
        calls.compare(answers, answers, texts)
        assert judge(lambda: calls.compare(answers[::-1], answers, texts)).verdict is Verdict.WRONG
        assert judge(lambda: calls.compare(answers[:-1], answers, texts)).verdict is Verdict.WRONG

    def test_files_of_the_user_gone_changed_or_left_behind(self, tmp_path: Path) -> None:
        (tmp_path / "thesis.txt").write_text("mine")
        before = tree(tmp_path)
        check_kept(before, tree(tmp_path))
        (tmp_path / "thesis.txt").write_text("yours")
        assert judge(lambda: check_kept(before, tree(tmp_path))).verdict is Verdict.LOST
        check_kept(before, tree(tmp_path), ["thesis.txt"])
        (tmp_path / "thesis.txt").rename(tmp_path / ".writing_model")
        assert judge(lambda: check_kept(before, tree(tmp_path))).verdict is Verdict.LOST
        assert judge(lambda: check_tidy(tree(tmp_path), before)).verdict is Verdict.LOST

    def test_a_save_that_empties_the_folder(
        self, workshop: Workshop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        real = LexicalSAE.save_pretrained

        def save(model: LexicalSAE, folder: Any) -> str:
            shutil.rmtree(folder, ignore_errors=True)
            return real(model, folder)

        monkeypatch.setattr(LexicalSAE, "save_pretrained", save)
        monkeypatch.chdir(tmp_path)
        found = judge(lambda: places._check("save", "a thesis", "absolute", "here", tmp_path, workshop))
        assert found.verdict is Verdict.LOST and "thesis.txt" in found.detail

    def test_a_model_that_is_gone_or_another(self, workshop: Workshop, tmp_path: Path) -> None:
        kills.check_a_model(workshop.run("earlier"), workshop, ("earlier",))
        assert judge(lambda: kills.check_a_model(tmp_path, workshop, ("earlier",))).verdict is Verdict.LOST
        other = judge(lambda: kills.check_a_model(workshop.run("earlier"), workshop, ("reference",)))
        assert other.verdict is Verdict.WRONG

    def test_ways_to_end_after_a_signal(self) -> None:
        interrupt = Moment("time", "SIGINT", 0.5)
        kills.check_ending(Ran(130, "", "Stopped."), interrupt)
        for ran in (Ran(1, "", ""), Ran(130, "", "Traceback (most recent call last):"), Ran(-11, "", "")):
            assert judge(lambda ran=ran: kills.check_ending(ran, interrupt)).verdict is Verdict.TRACEBACK

    def test_a_history_of_two_runs(self, tmp_path: Path) -> None:
        (tmp_path / "metrics.jsonl").write_text("".join(f'{{"step": {step}}}\n' for step in (1, 2, 1, 3, 2)))
        assert judge(lambda: pairs._check_history(tmp_path, [])).verdict is Verdict.WRONG


class TestKills:
    def test_a_process_is_killed_before_the_write_asked_for(self, workshop: Workshop, tmp_path: Path) -> None:
        out = tmp_path / "out"
        strike = lambda: os.kill(os.getpid(), signal.SIGKILL)  # noqa: E731
        ran = forked(["train", *workshop.settings(out, **KILLED)], tmp_path, lambda: at_write(1, strike))
        assert ran.code == -signal.SIGKILL and not out.exists()

    def test_a_run_that_nobody_killed_is_the_reference(self, workshop: Workshop, tmp_path: Path) -> None:
        kills.finish(tmp_path / "out", tmp_path, workshop)


@pytest.mark.slow
def test_the_shortest_form(workshop: Workshop) -> None:
    """A few cases of every quick family and two kills: nothing is wrong, lost, hung or a traceback."""
    planned = plan(list(FAMILIES), 150, 2, 0)
    failed = failures(list(run_all(planned, FAMILIES, workshop, jobs=2)))
    found = {
        f"{result.outcome.verdict.value}: {signature(result.outcome.detail)}": str(result.case) for result in failed
    }
    assert not found


def test_a_refusal_is_a_sentence() -> None:
    assert isinstance(Ran(2, "", "There is no text to read.\n").refusal, Refused)


def test_a_trial_has_a_folder_of_its_own(no_workshop: Workshop) -> None:
    before, seen = Path.cwd(), []
    carry_out(Trial("look", lambda folder: seen.append((folder, Path.cwd()))), no_workshop)
    assert seen[0][0] == seen[0][1] != before == Path.cwd() and not seen[0][0].exists()
