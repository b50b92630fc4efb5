"""Limit on the time of a test whose fault is that it never ends."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 20  # seconds of a busy machine for one of its processor


@contextmanager
def ends_within(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in a block that takes more processor time [s], or waits for much longer."""

    def end(*_: object) -> None:
        raise TimeoutError(f"not done after {seconds} s")

    timers = (
        (signal.ITIMER_PROF, signal.SIGPROF, seconds),
        (signal.ITIMER_REAL, signal.SIGALRM, PATIENCE * seconds),
    )
    before = [(number, signal.signal(number, end)) for _, number, _ in timers]
    for timer, _, limit in timers:
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for timer, _, _ in timers:
            signal.setitimer(timer, 0)
        for number, handler in before:
            signal.signal(number, handler)
