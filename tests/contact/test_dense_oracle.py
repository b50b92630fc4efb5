"""Convex steps of random scenes: bodies, arms with limits, dry friction and servos, and robots with a free root.

Oracle: tests/oracles/contact_step.py, which minimises the cost of each step by SciPy in dense matrices.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.typing import Array
from tests.contact.random_scenes import FAMILIES, STEPS, Family
from tests.nightly import at_night
from tests.oracles.contact_step import ContactStep, Memory, fixed_point

MOST = 15  # renewals of the radii of friction; the step has twice as many passes


def second_pass(step: ContactStep, run: pysim.Trajectory, row: int) -> Array:
    """Minimise in two passes, the second with the radii at which points of a run slid.

    These are μ times normal impulses of an iterate of the first pass, which need not be its end.
    """
    step.renew_radii(step.solve())
    points = run.contacts
    for P in step.points:
        for k in range(points.offsets[row], points.offsets[row + 1]):
            away = points.point[k] - P.p, points.normal[k] - P.n
            if np.abs(away).max() > 1e-9:
                continue
            force = points.force[k]
            friction = step.h * float(np.linalg.norm(force - P.n @ force * P.n))
            P.radius = max(P.radius, friction) if points.stuck[k] else friction
    return step.solve()


def solved(step: ContactStep, run: pysim.Trajectory, row: int, passes: int) -> Array | None:
    if passes == 1:
        return step.solve()
    return second_pass(step, run, row) if passes == 2 else fixed_point(step, MOST)


@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of starts beyond limits, and long steps
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("passes", [1, 2, 2 * MOST])
@pytest.mark.parametrize("share", [1 / 3, *at_night(1)], ids=["a third", "all"])
def test_steps_minimise_the_cost_of_the_dense_oracle(
    tmp_path: Path, family: Family, passes: int, share: float
) -> None:
    """With one pass, with two and the radii of the second, and at the fixed point of the radii.

    Steps are left out in which the fixed point needs too many renewals.
    """
    compared = 0
    for number in range(round(share * {1: 21, 2: 9, 2 * MOST: 9}[passes])):  # 91 of 273 problems
        rng = np.random.default_rng([FAMILIES.index(family), passes, number])
        drawn = family(tmp_path, rng, passes)
        scene, h = drawn.scene, drawn.scene.settings.step
        run = pysim.simulate(scene)
        assert run.contact_forces is not None
        memory = Memory()
        for n in range(STEPS):
            step = ContactStep(scene, run.q[n], run.v[n], h, memory, drawn.servos)
            v = solved(step, run, n + 1, passes)
            if v is None:
                break
            found = step.end(v)
            # Radii of friction are renewed while they change by more than 10⁻⁹ of them.
            tolerance = 1e-9 if passes <= 2 else 1e-8
            speed, force = np.abs(found.v).max(), np.abs(found.forces).max(initial=0.0)
            allowed = tolerance * max(1.0, speed)
            np.testing.assert_allclose(run.v[n + 1], found.v, rtol=0, atol=allowed)
            np.testing.assert_allclose(run.q[n + 1], found.q, rtol=0, atol=h * allowed + 1e-14)
            np.testing.assert_allclose(
                run.contact_forces[n + 1],
                found.forces,
                rtol=0,
                atol=tolerance * max(1.0, force),
            )
            compared += 1
            if step.leaves_memory_to_rounding(v):
                break
    assert compared > 0.7 * STEPS * (number + 1)
