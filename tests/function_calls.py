"""Numbers of function calls, in place of times: they are the same on every machine, however busy it is."""

from __future__ import annotations

import cProfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def function_calls(work: Callable[[], object]) -> int:
    """Return how many functions `work` calls, built-in ones among them."""
    profile = cProfile.Profile()
    profile.runcall(work)
    return sum(entry.callcount for entry in profile.getstats())
