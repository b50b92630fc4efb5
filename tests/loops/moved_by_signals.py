"""Energy balance of coordinates and of frames that follow signals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import pysim
from pysim.integrators import BUILTIN

FIXED = [name for name, scheme in BUILTIN.items() if not scheme.adaptive and name != "convex"]


def check_balance(load: Callable[..., pysim.Scene], text: str, drive: str, integrator: str) -> None:
    """Hold that the work of a drive closes the balance of energy to the order of the scheme."""
    order = {"semi_implicit": 1, "convex": 1, "rk4": 4, "variational4": 2}.get(integrator, 2)
    left = []
    for step in (2e-3, 1e-3):
        keys: dict[str, object] = {"simulation.integrator": integrator}
        if integrator != "dopri5":
            keys["simulation.step"] = step
        run = pysim.simulate(load(text, keys))
        assert set(run.work) == {drive, "dissipated", "injected"}
        balance = run.energy_balance
        left.append(np.abs(balance - balance[0]).max())
    assert np.ptp(run.energy) > 1
    if integrator == "dopri5":
        assert left[0] < 1e-6
    elif integrator == "rk4":
        assert left[1] < 1e-8
    else:
        assert np.log2(left[0] / left[1]) > order - 0.4
