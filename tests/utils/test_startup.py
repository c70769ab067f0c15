"""A process that starts loads faster; one that has started is left as it is."""

from __future__ import annotations

import gc
import subprocess
import sys

from splade.utils.startup import startup

RUN = """
import gc, importlib.util
from splade.utils.startup import startup

def found():
    return importlib.util.find_spec("colorsys") is not None

try:
    with startup(without=("colorsys",)):
        within = gc.isenabled(), found()
        raise KeyError
except KeyError:
    print(*within, gc.isenabled(), found(), gc.get_freeze_count() > 0)
"""


def run(code: str) -> list[str]:
    """What a new process prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_only_within_is_nothing_collected_and_a_library_hidden() -> None:
    assert run(RUN) == ["False", "False", "True", "True", "True"]


def test_a_library_that_is_loaded_already_stays() -> None:
    assert run("import colorsys" + RUN) == ["False", "True", "True", "True", "True"]


def test_a_process_that_has_torch_is_left_alone() -> None:
    assert "torch" in sys.modules
    frozen = gc.get_freeze_count()
    with startup(without=("colorsys",)):
        assert gc.isenabled() and sys.modules.get("colorsys", ...) is not None
    assert gc.isenabled() and gc.get_freeze_count() == frozen
