"""The command line, run in three ways: in this process, in a fork of it that can be killed, and cold."""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from typer.testing import CliRunner

from splade.__main__ import EXIT_INTERRUPTED, main
from splade.cli import app
from tests.campaign.verdicts import Crashed, Ended, Hung, refused

SENTENCE_CODE, INTERRUPTED_CODE = 2, 130
LONGEST = 120.0  # seconds that a run may take, on a machine that has other things to do


@dataclass(frozen=True)
class Ran:
    """A command that has ended; a code below 0 is the signal that ended it."""

    code: int
    stdout: str
    stderr: str

    @property
    def refusal(self) -> Ended | None:
        """Why it did not succeed, as a verdict; `None` if it did."""
        if "Traceback (most recent call last)" in self.stderr:
            return Crashed(f"a traceback on standard error: {self.stderr.strip()[-200:]}")
        if self.code == 0:
            return None
        if self.code != SENTENCE_CODE:
            return Crashed(f"exit code {self.code}: {self.stderr.strip()[-200:]}")
        if "╭─ Error" in self.stderr:  # click's own refusal of an option, in a box
            inside = [line.strip("│ ") for line in self.stderr.splitlines() if line.startswith("│")]
            return refused(" ".join(inside).rstrip(".?") + ".")
        said = self.stderr.strip().splitlines()
        return refused(said[-1] if said else "")

    def succeeded(self) -> Ran:
        """Itself, or the verdict it ended in."""
        if self.refusal is not None:
            raise self.refusal
        return self


def invoke(*arguments: object, stdin: str | bytes | None = None) -> Ran:
    """The command in this process; what it raises is raised."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Ran(done.exit_code, done.stdout, done.stderr)


def script(name: str, *arguments: object) -> Ran:
    """`python -m splade.scripts.NAME` in this process."""
    stdout, stderr = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, [name, *map(str, arguments)]
    code: object = 0
    try:
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            runpy.run_module(f"splade.scripts.{name}", run_name="__main__")
    except SystemExit as end:
        code = end.code
    finally:
        sys.argv = before
    return Ran(code if isinstance(code, int) else int(code is not None), stdout.getvalue(), stderr.getvalue())


@dataclass(frozen=True)
class Running:
    """A command in a process of its own, its output going to files."""

    pid: int
    stdout: Path
    stderr: Path

    def kill(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def ended(self, limit: float = LONGEST) -> Ran:
        """Wait for it."""
        code = wait(self.pid, limit)
        return Ran(code, *(file.read_text(encoding="utf-8", errors="replace") for file in (self.stdout, self.stderr)))


def wait(pid: int, limit: float) -> int:
    """The exit code of a child, below 0 for a signal; one that does not end is killed and has hung."""
    until = time.monotonic() + limit
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise Hung(f"no end after {limit:.0f} s")


def _outputs(folder: Path) -> tuple[Path, Path]:
    number = len(list(folder.glob("stdout_*")))
    return folder / f"stdout_{number}", folder / f"stderr_{number}"


def start(arguments: Sequence[object], log: Path, prepare: Callable[[], None] = lambda: None) -> Running:
    """Fork this process, which has everything imported, and run the command there; `prepare` is called before it.

    A case takes a second instead of ten this way; `start_cold` has what is left out, the start of the interpreter.
    """
    stdout, stderr = _outputs(log)
    for file in (stdout, stderr):  # a process that is killed at once makes none
        file.touch()
    pid = os.fork()
    if pid == 0:
        _be_the_command([str(argument) for argument in arguments], stdout, stderr, prepare)
    return Running(pid, stdout, stderr)


def _be_the_command(arguments: list[str], stdout: Path, stderr: Path, prepare: Callable[[], None]) -> NoReturn:
    code: object = 1
    try:
        for number, path in enumerate((Path(os.devnull), stdout, stderr)):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        sys.argv = ["lexical-sae", *arguments]
        prepare()
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:  # before `main` had begun, or after it had ended
        code = EXIT_INTERRUPTED
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
        os._exit(int(code) if isinstance(code, int) else 1)


def start_cold(arguments: Sequence[object], log: Path) -> Running:
    """The command in a fresh interpreter, as a user starts it."""
    stdout, stderr = _outputs(log)
    with stdout.open("wb") as out, stderr.open("wb") as err:
        command = [sys.executable, "-m", "splade", *map(str, arguments)]
        root = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        process = subprocess.Popen(
            command,
            stdout=out,
            stderr=err,
            stdin=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": path},
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # shells ignore it in the background
        )
    process.returncode = 0  # `wait` is who waits for it
    return Running(process.pid, stdout, stderr)


def forked(arguments: Sequence[object], log: Path, prepare: Callable[[], None] = lambda: None) -> Ran:
    """Start and wait."""
    return start(arguments, log, prepare).ended()
