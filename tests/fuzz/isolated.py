"""Calls in child processes, so that a signal or a call without end is seen and the others go on."""

from __future__ import annotations

import os
import signal
import traceback
import warnings
from typing import TYPE_CHECKING, TypeVar

from pysim.errors import PysimError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")
LONGEST = 5  # [s] of processor time that an input may take
LATEST = 20  # [s] of processor time after which a process is ended that does not answer


class Slow(BaseException):
    """End of a call that lasts."""


def faults(
    use: Callable[[T], None], inputs: Sequence[T], may_last: Callable[[T], bool] = lambda _: False
) -> list[str]:
    """Return what went wrong in calls: a signal, an error that no user can read, or no end in LONGEST [s].

    Calls with inputs that `may_last` are interrupted then; one that does not answer is ended.
    """
    found, first = [], 0
    while first < len(inputs):
        done, end, problem = _in_child(use, inputs[first:], may_last)
        found += [f"{inputs[first + k]}: {text}" for k, text in done]
        first += end
        if problem:
            found.append(f"{inputs[first]}: {problem}")
            first += 1
    return found


def _in_child(
    use: Callable[[T], None], inputs: Sequence[T], may_last: Callable[[T], bool]
) -> tuple[list[tuple[int, str]], int, str]:
    """Call in one child; return the errors by input, how many inputs ended, and how the child did if not all did."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reads)
        try:
            _serve(use, inputs, may_last, writes)
        finally:
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as file:
        lines = file.read().decode().split("\0")[:-1]
    _, status = os.waitpid(child, 0)
    errors = [(k, text) for k, text in enumerate(lines) if text]
    if len(lines) == len(inputs):
        return errors, len(lines), ""
    name = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "ended early"
    return errors, len(lines), "does not answer" if name == "SIGVTALRM" else name


def _interrupt(*_: object) -> None:
    raise Slow


def _serve(
    use: Callable[[T], None], inputs: Sequence[T], may_last: Callable[[T], bool], writes: int
) -> None:
    """Call with every input, and write a line for each: its error, or nothing."""
    signal.signal(signal.SIGPROF, _interrupt)
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)  # ends the process, whatever it does
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    for given in inputs:
        signal.setitimer(signal.ITIMER_VIRTUAL, LATEST)
        os.write(writes, _problem(use, given, may_last=may_last(given)).encode() + b"\0")


def _problem(use: Callable[[T], None], given: T, *, may_last: bool) -> str:
    """Return what is wrong with a call; an empty text if nothing is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            signal.setitimer(signal.ITIMER_PROF, LONGEST)
            use(given)
        except PysimError as error:
            wrong = not str(error).strip() or "bug in pysim" in str(error)
            return repr(error) if wrong else ""
        except Slow:
            return "" if may_last else f"no end in {LONGEST} s"
        except BaseException as error:  # noqa: BLE001, reported by the parent
            where = traceback.extract_tb(error.__traceback__)[-1]
            return f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    return ""
