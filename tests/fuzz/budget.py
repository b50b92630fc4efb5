"""Duration of the fuzz tests, and the errors that they allow.

By default each test takes the same few inputs in every run. `PYSIM_FUZZ_SECONDS=60` runs each for a minute with other
inputs every time; a failure prints the input, which then becomes a file of `tests/fuzz/corpus` or an `@example`.
"""

from __future__ import annotations

import os
import time
import warnings
from typing import TYPE_CHECKING, Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings

from pysim.errors import PysimError, PysimWarning

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = float(os.environ.get("PYSIM_FUZZ_SECONDS", "0"))  # of each test
EXAMPLES = 25  # of each test without a time
ROUND = 200  # examples between two looks at the clock
LONGEST = 20  # [s] of processor time that an input may take


def fuzz(*strategies: Any, examples: int = EXAMPLES) -> Callable[[Callable[..., None]], Any]:
    """Run a test on many inputs of these strategies, as long as `PYSIM_FUZZ_SECONDS` says."""

    def decorate(test: Callable[..., None]) -> Callable[[], None]:
        def run_for_a_while() -> None:
            if not SECONDS:
                _run(test, strategies, examples, None)
                return
            end, seed = time.monotonic() + SECONDS, int.from_bytes(os.urandom(4), "big")
            while time.monotonic() < end:
                _run(test, strategies, ROUND, seed)
                seed += 1

        run_for_a_while.__name__ = test.__name__
        run_for_a_while.__doc__ = test.__doc__
        run_for_a_while.__module__ = test.__module__
        return run_for_a_while

    return decorate


def _run(
    test: Callable[..., None], strategies: tuple[Any, ...], examples: int, seed: int | None
) -> None:
    phases = [Phase.explicit, Phase.generate] + ([Phase.shrink] if SECONDS else [])
    run = given(*strategies)(test)
    run = settings(
        max_examples=examples,
        derandomize=seed is None,
        database=None,
        deadline=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )(run)
    (run if seed is None else hypothesis.seed(seed)(run))()


def result_or_error(call: Callable[[], Any]) -> Any:
    """Return what a call returns, None if it raises an error that a user can read; anything else fails the test."""
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", PysimWarning)
        try:
            found = call()
        except PysimError as error:
            found = None
            problem = str(error)
            assert problem.strip()
            assert "bug in pysim" not in problem
    took = time.process_time() - begin
    assert took < LONGEST, f"took {took:.1f} s of processor time"
    return found
