"""Commands are kind: a user's mistake is one sentence and an exit code, never a traceback."""

from __future__ import annotations

import errno
import io
import logging
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps

from rich.console import Console

from splade.errors import LexicalSAEError
from splade.utils.one_line import one_line

EXIT_USER, EXIT_INTERRUPTED = 2, 130

# Ways a disk or a path refuses to be written to.
UNWRITABLE = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EROFS, errno.EPERM),
    *(errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP),
}

err = Console(stderr=True)


def run_kindly(command: Callable[[], None]) -> None:
    """Run a command; a user's mistake is one sentence and exit code 2, Ctrl-C is 130, neither shows a traceback."""
    from splade.training.interrupt import Interrupted

    logging.getLogger("transformers").setLevel(logging.ERROR)
    try:
        command()
        sys.stdout.flush()  # or what cannot be written comes to light when it is too late to say so
    except LexicalSAEError as error:
        err.print(one_line(str(error)), highlight=False, markup=False, soft_wrap=True)
        sys.exit(EXIT_USER)
    except Interrupted as error:
        err.print(f"{error} Go on with the same command and --resume.", highlight=False, markup=False, soft_wrap=True)
        sys.exit(EXIT_INTERRUPTED)
    except KeyboardInterrupt:
        err.print("Stopped.")
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        _drop_output()
        sys.exit(1)
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        advice = "make room or choose another --set output_dir=… and go on with --resume"
        if error.filename is None:  # standard output, or a file that filled up under way
            _drop_output()
            advice = "make room and run again, a training with --resume"
        err.print(
            f"{error.filename or 'The output'} could not be written ({error.strerror}); what was saved before is "
            f"untouched, so {advice}.",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
        sys.exit(EXIT_USER)


def _drop_output() -> None:
    """What is still to be written goes nowhere, so that Python does not try once more at its end."""
    with suppress(io.UnsupportedOperation):  # a stream that is no file, as in a test
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def kindly(command):  # type: ignore[no-untyped-def]
    """A command of the app, run by `run_kindly`."""

    @wraps(command)
    def wrapped(*args: object, **kwargs: object) -> None:
        run_kindly(lambda: command(*args, **kwargs))

    return wrapped
