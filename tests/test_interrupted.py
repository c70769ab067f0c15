"""Ctrl-C ends a command with one word and exit code 130, whatever it interrupts; a full disk with one sentence."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest


def run_program(folder: Path, module: str, begin: str = "") -> subprocess.CompletedProcess[str]:
    """A program whose command `run` is that of a module written here."""
    (folder / "told.py").write_text("import os, signal, sys\n" + textwrap.dedent(module))
    program = f"from splade.__main__ import run_command\n{textwrap.dedent(begin)}\nrun_command('told', 'run')"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=folder)


PRESS = "os.kill(os.getpid(), signal.SIGINT)"


@pytest.mark.parametrize(
    "module",
    [
        f"{PRESS}\ndef run(): ...",  # while libraries are loaded
        f"from splade.cli.errors import reports_errors\n@reports_errors\ndef run():\n    {PRESS}",  # in the command
        f"try:\n    {PRESS}\nexcept BaseException:\n    raise ImportError('a library that was cut off')",
        f"def run():\n    try:\n        {PRESS}\n    except BaseException:\n        raise ValueError('anything')",
        f"""
        class Unlucky:
            def __del__(self):
                {PRESS}
        def run():
            unlucky = Unlucky()
            del unlucky
            import time; time.sleep(0.01)
            raise ValueError("whatever comes of it")
        """,
    ],
)
def test_one_word_and_no_traceback(tmp_path: Path, module: str) -> None:
    done = run_program(tmp_path, module)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Stopped.\n")


def test_a_second_time_it_ends_at_once(tmp_path: Path) -> None:
    module = f"""
    def run():
        try:
            {PRESS}
        except KeyboardInterrupt:
            {PRESS}
        print("went on")
    """
    done = run_program(tmp_path, module)
    assert (done.returncode, done.stdout) == (130, "")


def test_a_command_that_is_done_is_done(tmp_path: Path) -> None:
    """As the interpreter ends, there is nothing left to interrupt."""
    module = f"""
    import atexit
    atexit.register(lambda: {PRESS})
    def run():
        print("done")
    """
    done = run_program(tmp_path, module)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_a_background_job_ignores_it(tmp_path: Path) -> None:
    begin = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    done = run_program(tmp_path, f"def run():\n    {PRESS}\n    print('went on')", begin)
    assert (done.returncode, done.stdout) == (0, "went on\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full to stand for a full disk")
def test_an_answer_that_cannot_be_printed() -> None:
    module = "from splade.cli.errors import reports_errors\n@reports_errors\ndef run():\n    print('an answer')\n"
    program = f"{module}\nimport typer; typer.run(run)"
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-c", program], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2 and "Traceback" not in done.stderr and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("The output could not be read or written (No space left on device)")
