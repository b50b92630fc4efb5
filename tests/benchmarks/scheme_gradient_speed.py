"""Cost of gradients of steps by schemes that solve no contacts, beside these steps.

    python -m tests.benchmarks.scheme_gradient_speed

64 worlds of a tree of twelve hinges on a body that moves freely, steps of 1 ms; times are the processor's on one
thread, in turn, and of steps with derivatives by the start.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import pysim
from pysim.worlds.loading import compile_scene
from tests.benchmarks.report import print_line
from tests.benchmarks.timing import take_turns
from tests.oracles.mechanisms import random_tree

Array = np.ndarray[Any, Any]
SCHEMES = ("semi_implicit", "rk2", "rk4", "implicit_midpoint", "generalized_alpha")
WORLDS, STEPS = 64, 25


def tree(scheme: str) -> pysim.Scene:
    """Return the scene of the tree."""
    builder = pysim.SceneBuilder("tree")
    builder.body("mass", mass=1.0)
    builder.joint("slide", "prismatic", child="mass")
    builder.simulation(integrator=scheme, step=1e-3, duration=1.0)
    spec = builder.build().spec
    rng = np.random.default_rng(0)
    model = random_tree(rng, ["free", *(["revolute"] * 12)])
    return compile_scene(replace(spec, model=model))


def loss(q: Array, v: Array) -> tuple[Array, Array, Array]:
    return (v**2).sum((1, 2)), 0 * q, 2 * v


def main() -> None:
    """Print the table."""
    print_line(f"{WORLDS} trees of 18 coordinates, multiples of their steps")
    print_line(f"{'scheme':>18} {'step [µs]':>10} {'gradient':>9}")
    for scheme in SCHEMES:
        worlds = pysim.Worlds(tree(scheme), WORLDS)
        worlds.v[:] = np.random.default_rng(1).normal(0, 0.3, worlds.v.shape)
        start = worlds.save()

        def steps(worlds: pysim.Worlds = worlds, start: bytes = start) -> None:
            worlds.load(start)
            for _ in range(STEPS):
                worlds.step(steps=1)

        def gradient(worlds: pysim.Worlds = worlds, start: bytes = start) -> None:
            worlds.load(start)
            pysim.gradient(worlds, steps=STEPS, loss=loss)

        times = take_turns({"step": steps, "gradient": gradient}, rounds=7)
        us = 1e6 * times["step"] / WORLDS / STEPS
        print_line(f"{scheme:>18} {us:10.2f} {times['gradient'] / times['step']:9.2f}")


if __name__ == "__main__":
    main()
