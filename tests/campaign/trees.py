"""A folder as a person sees it: every path in it, and what is there, to the byte."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from splade.models.folder import READY, WRITING
from splade.run_folder import LOCK
from tests.campaign.verdicts import Lost

Tree = dict[str, str]
ASIDE = (".writing_", READY, WRITING)  # how what is not yet whole, or not yet in its place, is called


def tree(folder: Path) -> Tree:
    """What each path below a folder is: a folder, a link and where to, or a file's hash."""
    found: Tree = {}
    for above, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = Path(above, name)
            shown = str(path.relative_to(folder))
            if path.is_symlink():
                found[shown] = f"link to {os.readlink(path)}"
            elif path.is_dir():
                found[shown] = "folder"
            else:
                found[shown] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def check_kept(before: Tree, after: Tree, replaceable: Iterable[str] = ()) -> None:
    """Nothing that was there is gone or changed, but what may be replaced."""
    allowed = set(replaceable)
    for path, what in before.items():
        if path in allowed or Path(path).name == LOCK:  # who held the lock last is nothing to keep
            continue
        if path not in after:
            raise Lost(f"{path} ({what[:12]}) is gone")
        if after[path] != what:
            raise Lost(f"{path} was {what[:12]} and is now {after[path][:12]}")


def check_tidy(after: Tree, before: Tree) -> None:
    """No half-written thing is left behind."""
    left = [path for path in after if any(name in path for name in ASIDE) and path not in before]
    if left:
        raise Lost(f"left behind: {', '.join(sorted(left)[:3])}")
