"""A user's mistake is one sentence on standard error and an exit code, never a traceback."""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps

from splade.cli.console import say
from splade.errors import EXIT_INTERRUPTED, LexicalSAEError
from splade.utils.one_line import one_line

EXIT_USER = 2


def run_reporting_errors(command: Callable[[], None]) -> None:
    """Run a command; a user's mistake is one sentence and exit code 2, Ctrl-C is 130, neither shows a traceback."""
    from splade.training.interrupt import Interrupted

    logging.getLogger("transformers").setLevel(logging.ERROR)
    try:
        command()
        sys.stdout.flush()  # a full disk shows here, and not as the interpreter ends
    except LexicalSAEError as error:
        say(one_line(str(error)))
        sys.exit(EXIT_USER)
    except Interrupted as error:
        say(one_line(f"{error} {error.advice}"))
        sys.exit(EXIT_INTERRUPTED)
    except KeyboardInterrupt:
        say("Stopped.")
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        _drop_output()
        sys.exit(1)
    except OSError as error:
        if error.filename is None:
            _drop_output()
        said = (
            f"{error.filename or 'The output'} could not be read or written ({error.strerror or error}); what was "
            "saved before is untouched, so make room or name another place, and run the command again (train: with "
            "--resume)."
        )
        say(one_line(said))
        sys.exit(EXIT_USER)
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "can't allocate memory" not in str(error):  # as torch says it
            raise
        say(
            "The memory of this machine was not enough; take fewer or shorter texts at a time (training.batch_size, "
            "evaluation.batch_size, data.max_length)."
        )
        sys.exit(EXIT_USER)


def _drop_output() -> None:
    """What is still to be written goes nowhere, so that Python does not try once more at its end."""
    with suppress(io.UnsupportedOperation):  # a stream that is no file, as in a test
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def reports_errors(command: Callable[..., None]) -> Callable[..., None]:
    """A command of the app, run by `run_reporting_errors`."""

    @wraps(command)
    def wrapped(*args: object, **kwargs: object) -> None:
        run_reporting_errors(lambda: command(*args, **kwargs))

    return wrapped
