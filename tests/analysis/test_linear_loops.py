"""Linear systems of convex steps of mechanisms with loops, couplings and prescribed motions.

Oracle: the best of central differences of sixth order, of six sizes, of the engine's own steps from states that stay
closed while their independent coordinates and velocities move.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.analysis.linearization import _Linearization
from pysim.analysis.linearized_scene import with_state
from pysim.typing import Array
from tests.analysis.test_gradients import WEIGHTS
from tests.analysis.test_loop_gradients import (
    CHAIN,
    FOUR_BAR,
    LOOPS,
    SCENES,
    SIZES,
    SMOOTH,
    scene_of,
    started,
)
from tests.elements.blocks import table

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of starts and planes


def differences(at: _Linearization) -> list[Array]:
    """Return [A B] by differences of every size."""
    places = [*at.element_places, *at.input_places]
    unit = np.eye(2 * at.N.shape[1] + len(places))
    weights = np.array(list(WEIGHTS.values()))
    moves = [k * size * unit for size in SIZES for k in WEIGHTS]
    (ends,) = at._next(*at.moved(np.concatenate([0 * unit[:1], *moves])))
    values = ends[1:].reshape(len(SIZES), len(WEIGHTS), len(unit), -1)
    slopes = np.einsum("skic,k->sci", values, weights) / 60
    return list(slopes / SIZES[:, None, None])


def check(scene: pysim.Scene, q: Array, v: Array, period: float | None = None) -> None:
    system = pysim.linearize(scene, state=(q, v), period=period)
    at = _Linearization(with_state(scene, pysim.State(q, v)), None, None, system.period)
    assert at._steps() is not None  # its steps have derivatives
    own = np.hstack([system.A, system.B])
    kept = [at.states.index(name) for name in system.states]
    columns = [*kept, *range(len(at.states), len(at.states) + system.B.shape[1])]
    oracles = [x[np.ix_(kept, columns)] for x in differences(at)]
    errors = [np.linalg.norm(own - x) for x in oracles]
    assert min(errors) < SMOOTH * np.linalg.norm(own)


@pytest.mark.parametrize("kind", ["ball", "universal", "revolute", "distance"])
def test_a_closed_chain_in_motion_has_the_matrices_of_differences(
    kind: str, tmp_path: Path
) -> None:
    scene = scene_of(tmp_path, CHAIN + LOOPS[kind])
    check(scene, *started(scene, 2, 2.0), period=6e-3)


@pytest.mark.parametrize("name", ["bricard", "stewart_platform", "five_bar", "differential"])
def test_a_scene_with_loops_or_couplings_has_the_matrices_of_differences(name: str) -> None:
    keys = {"integrator": "convex", "step": 2e-3, "solver_tolerance": 1e-13, "passes": 1}
    changes = {f"simulation.{key}": value for key, value in keys.items()}
    scene = pysim.load_scene(SCENES / f"{name}.toml", changes)
    check(scene, *started(scene, 1, 0.3))


def test_a_four_bar_under_a_sampled_controller_has_the_matrices_of_differences(
    tmp_path: Path,
) -> None:
    read = {"type": "coordinates", "coordinates": ["drive"], "period": 4e-3}
    pd = {"type": "pd", "inputs": ["torque", "read.q", "read.v"], "kp": 20.0, "kd": 0.4}
    text = FOUR_BAR.replace('type = "position_servo"', 'type = "force"').split("kp = 40.0")[0]
    text = text.replace('name = "torque"\n', 'name = "torque"\nunit = "rad"\n')
    text = text.replace('command = "torque"', 'command = "pd"')
    text += table("sensor", name="read", **read) + table("controller", name="pd", **pd, period=4e-3)
    scene = scene_of(tmp_path, text)
    check(scene, *started(scene, 1, 0.0))


def test_a_chain_with_a_prescribed_motion_has_the_matrices_of_differences(tmp_path: Path) -> None:
    motion = 'type = "revolute"\naxis = [0, 1, 0]\nmotion = { signal = "turn" }\n'
    text = CHAIN.replace('type = "ball"\n', motion, 1)
    sine = {"type": "sine", "amplitude": 0.2, "frequency": 3.0, "unit": "rad"}
    scene = scene_of(tmp_path, text + LOOPS["distance"] + table("signal", name="turn", **sine))
    q, v = started(scene, 3)
    assert np.abs(v).max() > 1.0
    check(scene, q, v)
