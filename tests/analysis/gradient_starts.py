"""Gradients from random starts: how many agree with differences of the engine's own steps.

    python -m tests.analysis.gradient_starts [starts of a family]

Derivatives by q, v and inputs along six random directions, of a weighted sum of the state at the end, are compared with
the best of central differences of sixth order, of thirteen sizes. Differences over a corner, where a point begins to
touch or to slide, a feature changes or a motor reaches its bound, are no derivatives: such starts do not agree. In
mechanisms with closed loops, directions are those of v and inputs.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import pysim
from pysim.typing import Array
from tests.analysis.test_gradient_contacts import (
    FIELD,
    HEIGHTS,
    MATERIAL,
    PLANE,
    ROLLING,
    ROOT,
    body,
)
from tests.analysis.test_gradients import RUN, WEIGHTS, covector
from tests.benchmarks.report import print_line

EXACT = 1e-7
SIZES = 10.0 ** -np.arange(2.0, 8.5, 0.5)
DIRECTIONS = 6
STEPS = (20, 100)
LEAST = {20: 0.9, 100: 0.6}  # shares of starts that agree
FLAT = "[[ground]]\nplane = { normal = [0, 0, 1], offset = -0.15 }\n"
SLOPE = f"[[ground]]\n{PLANE}\n"
PLUGINS = f'plugins = ["{(ROOT / "scenes" / "shapes" / "gyroid.py").as_posix()}"]\n'
GYROID = 'field = { type = "gyroid", cell = 0.2, thickness = 0.03, edge = 0.24 }'
LAWS = {
    "hertz": MATERIAL.replace("stiffness = 3e4", "stiffness = { young = 2e6, poisson = 0.3 }", 1),
    "dissipation 0": MATERIAL.replace("dissipation = 0.4", "dissipation = 0.0"),
    "rolling": ROLLING,
}
BELT = '[[contact]]\nbetween = ["world", "b0"]\nsurface_velocity = [0.5, 0.2, 0]\n'


@dataclass
class Start:
    """A state from which steps are made, and the inputs of every step (steps, inputs)."""

    q: Array
    v: Array
    controls: Array


Family = Callable[[Path, np.random.Generator], tuple[pysim.Scene, Start]]


def thrown(shapes: list[str], surroundings: str, head: str = MATERIAL, plugins: str = "") -> Family:
    """Return bodies that fall onto their surroundings, or onto each other."""

    def draw(folder: Path, rng: np.random.Generator) -> tuple[pysim.Scene, Start]:
        shutil.copy(ROOT / "scenes" / "meshes" / "box.obj", folder)
        np.save(folder / "heights.npy", np.random.default_rng(2).normal(0, 0.02, (33, 33)))
        bodies = "".join(body(f"b{k}", shape, 0.18 * k, rng) for k, shape in enumerate(shapes))
        path = folder / "scene.toml"
        run = RUN.format(passes=1 + rng.integers(2))
        path.write_text(plugins + head + bodies + surroundings + run, "utf-8")
        scene = pysim.load_scene(path, allow_code=True)
        v = rng.normal(0, 0.5, scene.model.nv)
        v[-4] -= 1.5
        return scene, Start(scene.state.q, v, np.zeros((max(STEPS), 0)))

    return draw


def cassie() -> str:
    """Return Cassie, whose legs are closed by ball joints, on its feet.

    Contacts are soft: rounding of stiff ones is 1e-9 of the velocities of a step, in which differences show no 1e-7.
    """
    robot = "package://example-robot-data/robots/cassie_description/robots/cassie_v2.sdf"
    return (
        f'[[model]]\nname = "cassie"\nfile = "{robot}"\n'
        "[[ground]]\nplane = { normal = [0, 0, 1] }\n"
        "[materials.default]\nfriction = 0.8\nstiffness = 2e4\n"
        '[simulation]\nintegrator = "convex"\nstep = 0.002\n'
    )


LEG = {  # [rad] of Cassie's on its feet
    "pitch-op": 0.19,
    "knee-op": -0.23,
    "shin-tarsus-joint": 0.69,
    "tarsus-spring-joint": -0.63,
    "tarsus-crank-joint": -1.75,
    "crank-rod-joint": 1.75,
    "foot-op": -1.75,
}


def robot(path: Path | str, home: dict[str, float] | None = None, turn: float = 0.1) -> Family:
    """Return a robot near its start, whose loops are closed and whose targets move every five steps.

    Args:
        path: of the scene, or its text.
        home: coordinates that replace those of the scene, by name.
        turn: deviation of coordinates and targets.
    """
    scenes: list[pysim.Scene] = []

    def draw(folder: Path, rng: np.random.Generator) -> tuple[pysim.Scene, Start]:
        if not scenes:
            own = path
            if isinstance(path, str):
                own = folder / "scene.toml"
                own.write_text(path, "utf-8")
            changes = {"simulation.solver_tolerance": 1e-13}
            scenes.append(pysim.load_scene(own, changes))
        scene = scenes[0]
        worlds, nv = pysim.Worlds(scene, 1), scene.model.nv
        names = scene.model.coordinate_names
        for name, x in (home or {}).items():
            if name in names:
                worlds.q[0, names.index(name)] = x
        moved = rng.normal(0, turn, nv)
        if names[0].endswith(".x"):  # a base near the ground
            moved[:3] = [0, 0, rng.uniform(0, 0.01)]
        q, v = scene.model.integrate(worlds.q[0], moved), rng.normal(0, 0.3, nv)
        if scene.model.loop_names:
            closed = pysim.loops.assemble(scene.model, q, v)
            q, v = closed.q, closed.v
        targets = worlds.inputs.all[0]
        moves = rng.normal(0, turn, (max(STEPS) // 5, len(targets))) * (targets != 0)
        controls = targets + np.repeat(moves, 5, axis=0)
        return scene, Start(q, v, controls)

    return draw


def families() -> dict[str, Family]:
    """Return families of scenes by name."""
    by_name = {}
    for shape in ("box", "capsule", "cylinder", "mesh"):
        by_name[f"{shape} on a plane"] = thrown([shape], FLAT)
        by_name[f"{shape} on a slope"] = thrown([shape], SLOPE)
    for shape in ("box", "capsule", "cylinder"):
        by_name[f"{shape} on heights"] = thrown([shape], f"[[ground]]\n{HEIGHTS}\n")
    for shape in ("sphere", "capsule", "cylinder"):
        field = f"[[ground]]\n{FIELD}\n"
        by_name[f"{shape} on a signed distance"] = thrown([shape], field, plugins=PLUGINS)
    for pair in ("sphere box", "capsule capsule", "box box", "cylinder box", "mesh capsule"):
        by_name[f"pair {pair}"] = thrown(pair.split(), "")
    for name, head in LAWS.items():
        by_name[name] = thrown(["capsule", "sphere"], SLOPE, head)
    by_name["conveyor"] = thrown(["box"], SLOPE + BELT)
    environments = ROOT / "scenes" / "environments"
    by_name["gripper"] = robot(environments / "gripper.toml", {"closes": 0.03}, 0.005)
    by_name["ANYmal"] = robot(environments / "anymal.toml")
    by_name["Go1"] = robot(environments / "go1.toml")
    by_name["G1"] = robot(environments / "humanoid.toml")
    both = {f"cassie/{side}-{name}": x for side in ("left", "right") for name, x in LEG.items()}
    by_name["Cassie"] = robot(cassie(), {"cassie/pelvis/free.z": 0.93} | both, 0.02)
    return by_name


class Comparison:
    """Derivatives from a start by both."""

    def __init__(self, scene: pysim.Scene, start: Start, steps: int, seed: int) -> None:
        self.scene, self.start, self.steps = scene, start, steps
        rng = np.random.default_rng([11, seed])
        self.by_q, self.by_v = rng.normal(size=(2, scene.model.nv))
        size = 2 * scene.model.nv + start.controls[:steps].size
        self.directions = rng.normal(size=(DIRECTIONS, size)) / np.sqrt(size)
        if scene.model.loop_names:  # which stay closed
            self.directions[:, : scene.model.nv] = 0.0

    def worlds(self, moved: Array) -> tuple[pysim.Worlds, Array]:
        """Return worlds moved along rows from the start, and their controls."""
        nv, steps = self.scene.model.nv, self.steps
        worlds = pysim.Worlds(self.scene, len(moved), numbers=[0] * len(moved))
        q = np.tile(self.start.q, (len(moved), 1))
        worlds.q[:] = self.scene.model.integrate(q, np.ascontiguousarray(moved[:, :nv]))
        worlds.v[:] = self.start.v + moved[:, nv : 2 * nv]
        controls = self.start.controls[:steps]
        return worlds, controls + moved[:, 2 * nv :].reshape(len(moved), *controls.shape)

    def by_product(self) -> Array:
        """Return the derivatives along the directions by `pysim.gradient`."""
        worlds, controls = self.worlds(np.zeros((1, self.directions.shape[1])))

        def loss(q: Array, v: Array) -> tuple[Array, Array, Array]:
            by_q, by_v = np.zeros_like(q), np.zeros_like(v)
            by_v[:, -1] = self.by_v
            by_q[:, -1] = covector(self.scene.model, q[:, -1], self.by_q)
            return np.zeros(len(q)), by_q, by_v

        found = pysim.gradient(worlds, controls, loss=loss)
        assert found.controls is not None
        own = np.concatenate([found.q[0], found.v[0], found.controls[0].ravel()])
        return self.directions @ own

    def by_differences(self) -> list[Array]:
        """Return those by differences, of every size."""
        steps = np.outer(SIZES, list(WEIGHTS)).ravel()
        moved = np.concatenate(
            [
                np.zeros((1, self.directions.shape[1])),
                *(np.outer(steps, d) for d in self.directions),
            ]
        )
        worlds, controls = self.worlds(moved)
        worlds.step(steps=self.steps, controls=controls)
        at = np.tile(worlds.q[0], (len(moved), 1))
        ends = self.scene.model.difference(at, np.array(worlds.q)) @ self.by_q
        ends += (worlds.v - worlds.v[0]) @ self.by_v
        ends[np.asarray(worlds.lost)] = np.nan
        values = ends[1:].reshape(DIRECTIONS, len(SIZES), len(WEIGHTS)) @ list(WEIGHTS.values())
        return list((values / 60 / SIZES).T)

    def error(self) -> float:
        """Return the relative error of the derivatives; infinite if the engine rejects or loses the worlds."""
        try:
            found = self.by_product()
        except pysim.SimulationError:
            return np.inf
        errors = [
            np.linalg.norm(found - own) / np.linalg.norm(own) for own in self.by_differences()
        ]
        return float(np.nanmin([*errors, np.inf]))


def touches(scene: pysim.Scene, start: Start) -> int:
    """Return the number of steps after which something touches, or more than are made."""
    worlds = pysim.Worlds(scene, 1)
    worlds.q[:], worlds.v[:] = start.q, start.v
    for n in range(max(STEPS)):
        worlds.step(steps=1, controls=start.controls[None, n : n + 1])
        if np.asarray(worlds.lost).any() or np.abs(np.array(worlds.contacts)).any():
            return n + 1
    return max(STEPS) + 1


@dataclass
class Errors:
    """Errors of random starts by the number of steps, and how many steps it takes until something touches."""

    of: dict[int, list[float]]
    touching: list[int]

    def shares(self) -> dict[int, float]:
        """Return the shares of starts that agree."""
        return {steps: float(np.mean(np.array(own) < EXACT)) for steps, own in self.of.items()}

    def __str__(self) -> str:
        touching = [np.mean(np.array(self.touching) <= steps) for steps in STEPS]
        return " ".join(f"{x:10.2f}" for x in [*self.shares().values(), *touching])


def errors_of(family: Family, folder: Path, starts: int, seed: int) -> Errors:
    """Return the errors of random starts of a family."""
    found = Errors({steps: [] for steps in STEPS}, [])
    for k in range(starts):
        scene, start = family(folder, np.random.default_rng([seed, k]))
        found.touching.append(touches(scene, start))
        for steps, errors in found.of.items():
            errors.append(Comparison(scene, start, steps, k).error())
    return found


def errors_by_family(starts: int, only: str = "") -> dict[str, Errors]:
    """Return the errors of starts of all families whose names have a part; prints each."""
    found = {}
    for number, (name, family) in enumerate(families().items()):
        if only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found[name] = errors_of(family, Path(folder), starts, number)
        print_line(f"{name:>28} {found[name]}")
    return found


def together(found: dict[str, Errors]) -> Errors:
    """Return the errors of all families."""
    of = {steps: [x for own in found.values() for x in own.of[steps]] for steps in STEPS}
    return Errors(of, [n for own in found.values() for n in own.touching])


def main(starts: int = 20, only: str = "") -> None:
    """Print the shares of starts that agree, and in which something touches by then."""
    warnings.simplefilter("ignore", pysim.PysimWarning)
    heads = [f"{what} {steps}" for what in ("agree", "touch") for steps in STEPS]
    print_line(f"{'family':>28} " + " ".join(f"{head:>10}" for head in heads))
    print_line(f"{'all':>28} {together(errors_by_family(starts, only))}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20, sys.argv[2] if len(sys.argv) > 2 else "")
