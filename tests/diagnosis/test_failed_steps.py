"""Records of failed steps and the errors that are written of them.

Oracle: the error of `simulate`, word for word; the state of the world before it was changed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.diagnosis.failed_steps import explain
from pysim.errors import PysimWarning, SimulationError
from pysim.simulation.run import output_times
from pysim.worlds.failure import Failure, Status
from pysim.worlds.world_records import WorldRecords
from tests.simulation.test_replay_adaptive import HARD_STOP
from tests.simulation.test_worlds import SERVO, load


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Steps that are too long are meant here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=PysimWarning, message=".*beyond the")
        yield


def diverging(folder: Path) -> pysim.Scene:
    """Return a scene whose controller amplifies a velocity until it overflows."""
    text = SERVO.replace("INTEGRATOR", "rk4").replace("PERIOD", "").replace("2.0", "2e6")
    return load(folder, text)


def stopping_hard(folder: Path) -> pysim.Scene:
    """Return a scene whose adaptive steps shrink to nothing at a stop."""
    return load(folder, HARD_STOP)


def failed(scene: pysim.Scene) -> tuple[WorldRecords, Failure]:
    """Return the records of a world that failed from the scene's start, and its failed step."""
    records = WorldRecords(scene, 1, np.zeros(1, np.intp))
    state = scene.state
    records.begin(None, 0.0, state.q[None], state.v[None], state.loop_q[None], 1)
    times = [*output_times(scene.settings.duration, scene.settings.every)]
    records.advance(np.array(times[1:]), 1)
    return records, records.failure(0)


@pytest.mark.parametrize(
    ("make", "why"), [(diverging, Status.DIVERGED), (stopping_hard, Status.UNDERFLOW)]
)
def test_the_error_of_a_failed_step_is_that_of_the_run(
    tmp_path: Path, make: Callable[[Path], pysim.Scene], why: Status
) -> None:
    scene = make(tmp_path)
    failure = failed(scene)[1]
    with pytest.raises(SimulationError) as caught:
        pysim.simulate(scene)
    assert failure.why == why
    assert str(explain(failure)) == str(caught.value)


def test_a_failure_keeps_the_state_when_its_world_goes_on(tmp_path: Path) -> None:
    records, failure = failed(stopping_hard(tmp_path))
    t, q, v = float(records.t[0]), records.q[0].copy(), records.v[0].copy()
    text = str(explain(failure))
    records.t[0], records.q[0], records.v[0] = 0.0, 7.0, 7.0
    assert failure.t == t
    np.testing.assert_array_equal(failure.state.q, q)
    np.testing.assert_array_equal(failure.state.v, v)
    assert str(explain(failure)) == text
