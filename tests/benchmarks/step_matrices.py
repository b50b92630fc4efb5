"""A and B of a step of 64 ANYmals on their feet and in motion, beside ∂ABA and the step itself.

Run as `python -m tests.benchmarks.step_matrices`.
"""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path

import numpy as np

import pysim
from tests.benchmarks.timing import take_turns

SCENE = Path(__file__).parents[2] / "scenes" / "environments" / "anymal.toml"
NODES = 64


def nodes(reach: float) -> pysim.Worlds:
    """Return worlds that stand, or whose targets [rad] move by up to `reach`."""
    worlds, rng = pysim.Worlds(SCENE, NODES), np.random.default_rng(0)
    worlds.step(steps=200)
    for _ in range(5 if reach else 0):
        worlds.inputs["target"][:] += rng.uniform(-reach, reach, (NODES, 12))
        worlds.step(steps=5)
    return worlds


def main() -> None:
    warnings.simplefilter("ignore", pysim.PysimWarning)
    for name, reach in (("on their feet", 0.0), ("targets ± 0.1 rad", 0.1)):
        worlds = nodes(reach)
        start, model = worlds.save(), worlds.model
        q, v = np.array(worlds.q), np.array(worlds.v)

        def step(worlds: pysim.Worlds = worlds, start: bytes = start) -> None:
            worlds.load(start)
            worlds.step(steps=1)

        both = partial(pysim.step_derivatives, worlds)
        aba = partial(pysim.aba_derivatives, model, q, v, 0 * v)
        times = take_turns({"A and B": both, "∂ABA": aba, "step": step})
        per_node = {what: f"{1e6 * time / NODES:.1f} µs" for what, time in times.items()}
        ratio = times["A and B"] / times["∂ABA"]
        print(f"{name}: {per_node} a node; A and B are {ratio:.1f} × ∂ABA")  # noqa: T201


if __name__ == "__main__":
    main()
