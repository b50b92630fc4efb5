"""Scenes of many bodies: pairs found by sweep and prune, and solutions by conjugate gradients.

Oracles: the same steps with a list of the pairs that are near each other, and scenes of a part of the bodies alone,
whose coupled trees are factored.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim import _engine
from pysim.contact.compiler import engine_contacts
from tests.contact.convex_worlds import ConvexWorlds
from tests.contact.scenes import GROUND, free, world

Array = np.ndarray[Any, Any]

STEP = 1e-3
SHAPES = (
    "{ sphere = { radius = 0.1 } }",
    "{ box = [0.2, 0.1, 0.15] }",
    "{ capsule = { radius = 0.05, length = 0.2 } }",
    "{ cylinder = { radius = 0.08, length = 0.15 } }",
    "{ cone = { radius = 0.1, length = 0.2 } }",
    "{ ellipsoid = { a = 0.12, b = 0.1, c = 0.07 } }",
)


def mixed(
    folder: Path, seed: int, bodies: int = 100, more: str = "", surface: str = ""
) -> pysim.Scene:
    """Shapes of all kinds that fly about between a plane, hills and a wall that is fixed to the world."""
    rng = np.random.default_rng(seed)
    np.save(folder / "hills.npy", 0.1 * rng.random((9, 9)))
    text = ""
    for n in range(bodies):
        xyz = rng.uniform([-2, -2, 0.3], [2, 2, 1.2]).round(3).tolist()
        rpy = rng.uniform(-3, 3, 3).round(3).tolist()
        text += free(f"b{n}", SHAPES[n % 6], 1.0, f"{{ xyz = {xyz}, rpy = {rpy} }}")
    text += '[[body]]\nname = "wall"\nshape = { box = [0.2, 4, 2] }\nmass = 1\ncollision = true\n'
    text += '[[joint]]\nname = "stands"\ntype = "fixed"\nchild = "wall"\n'
    text += '[[ground]]\nheight_field = { file = "hills.npy", size = [5, 5] }\n'
    return world(folder, text + GROUND + more, surface=f"friction = 0.5\n{surface}")


def advance(
    engine: _engine.Contacts, scene: pysim.Scene, v: Array, calls: tuple[int, ...], **solver: Any
) -> tuple[Array, Array]:
    """Return q and v after steps in calls of these lengths, the contacts' memory carried on."""
    worlds = ConvexWorlds(scene, scene.state.q[None], v[None], STEP, engine, **solver)
    for steps in calls:
        worlds.step(steps)
    return worlds.q[0], worlds.v[0]


def velocities(scene: pysim.Scene, seed: int) -> Array:
    """Random velocities, those of every ninth body about 30 m/s."""
    rng = np.random.default_rng(seed)
    v = rng.normal(0, 1, (scene.model.nv // 6, 6))
    v[::9, :3] *= 20
    return v.ravel()


BELTS = """
[[contact]]
between = ["b3", "b9"]
surface_velocity = [0.5, -0.3, 0.1]
[[contact]]
between = ["wall", "b4"]
friction = 0.9
surface_velocity = [0, 1, 0.2]
[[contact]]
between = ["world", "b6"]
surface_velocity = [1, 0, 0]
"""


@pytest.mark.filterwarnings("ignore:contact")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_swept_pairs_give_the_bits_of_listed_ones(tmp_path: Path, seed: int) -> None:
    compare_with_listed_pairs(mixed(tmp_path, seed), seed)


@pytest.mark.filterwarnings("ignore:contact")
def test_belts_and_turning_friction_among_many_pairs_give_the_bits_of_listed_ones(
    tmp_path: Path,
) -> None:
    scene = mixed(tmp_path, 5, more=BELTS, surface="rolling = 1e-3\nspinning = 2e-3\n")
    compare_with_listed_pairs(scene, 5)


def compare_with_listed_pairs(scene: pysim.Scene, seed: int) -> None:
    contacts, v = scene.contacts, velocities(scene, seed)
    assert contacts is not None
    assert len(contacts.shapes) > 4096
    poses = np.asarray(pysim.forward_kinematics(scene.model, scene.state.q))
    places = [p.moving.body for p in contacts.shapes], [p.opposite for p in contacts.shapes]
    near = [
        pair
        for pair, own, other in zip(contacts.shapes, *places, strict=True)
        if other is None
        or other.body < 0
        or np.linalg.norm(poses[own, :3, 3] - poses[other.body, :3, 3]) < 2.5
    ]
    assert len(near) <= 4096
    listed = engine_contacts(scene.model, near, 0.01)
    for calls in ((40,), (1,) * 5 + (35,)):
        swept, expected = (advance(e, scene, v, calls) for e in (contacts.engine, listed))
        assert swept[0].tobytes() == expected[0].tobytes()
        assert swept[1].tobytes() == expected[1].tobytes()


def heap(shift: float) -> str:
    """128 spheres in layers, each a little beside the one below it."""
    rng, text = np.random.default_rng(7), ""
    for n in range(128):
        at = np.array([n % 6, n // 6 % 6, n // 36]) * [0.1, 0.1, 0.097] + [shift, 0, 0.0485]
        at += np.append(rng.uniform(-0.0015, 0.0015, 2), 0)
        start = f"{{ xyz = {at.round(6).tolist()} }}"
        text += free(f"b{shift:g} {n}", "{ sphere = { radius = 0.0485 } }", 0.5, start)
    return text


def test_conjugate_gradients_give_the_motion_of_factored_trees(tmp_path: Path) -> None:
    """Two heaps of 128 spheres are more coupled trees than are factored, one is not. Radii of friction are not
    renewed here, since that is done when normal impulses of the whole world are known well enough.
    """
    texts = [heap(0.0), heap(5.0)]
    together, first, second = (
        world(tmp_path, text + GROUND, surface="friction = 0.6")
        for text in (texts[0] + texts[1], *texts)
    )
    found = []
    for scene in (together, first, second):
        assert scene.contacts is not None
        start = np.tile([0.3, 0.1, -0.2, 1, 2, 3], scene.model.nv // 6)
        engine = scene.contacts.engine
        found.append(advance(engine, scene, start, (40,), passes=1, solver_tolerance=1e-12))
    for part, bound in ((0, 1e-11), (1, 1e-9)):
        expected = np.concatenate([found[1][part], found[2][part]])
        np.testing.assert_allclose(found[0][part], expected, rtol=0, atol=bound)


def test_a_pile_of_boxes_comes_to_rest_without_sinking(tmp_path: Path) -> None:
    """216 boxes in stacks of three: energy at rest is that of gravity, and no corner is deeper than a few sinks."""
    text = ""
    for n in range(216):
        x, y, z = 0.13 * (n % 8), 0.13 * (n // 8 % 9), 0.0505 + 0.1005 * (n // 72)
        text += free(
            f"b{n}", "{ box = [0.1, 0.1, 0.1] }", 1.0, f"{{ xyz = [{x:.3f}, {y:.3f}, {z:.4f}] }}"
        )
    scene = world(tmp_path, text + GROUND, surface="friction = 0.6")
    assert scene.contacts is not None
    q, v = advance(scene.contacts.engine, scene, np.zeros(scene.model.nv), (700,))
    assert np.abs(v).max() < 1e-3
    height = q.reshape(-1, 7)[:, 2]
    layers = np.repeat([0.05, 0.15, 0.25], 72)
    assert np.abs(height - layers).max() < 4 * 3e-4
    assert (height < layers).all()


LOADING = """
import resource, sys, tempfile
from pathlib import Path
from tests.contact.scenes import GROUND, free, world

def load(bodies: int) -> tuple[float, int]:
    text = GROUND
    for n in range(bodies):
        at = f"{{ xyz = [{0.2 * (n % 40):g}, {0.2 * (n // 40):g}, 1] }}"
        text += free(f"b{n}", "{ sphere = { radius = 0.05 } }", 1.0, at)
    scene = world(Path(tempfile.mkdtemp()), text)
    return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, len(scene.contacts.shapes)

load(1)  # imports what loading needs
print(*load(int(sys.argv[1])))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the largest memory in KiB")
def test_a_pair_of_many_takes_less_than_a_hundred_bytes() -> None:
    """A pair of shapes had 240 bytes in the engine alone, of more than 450 while a scene was loaded."""
    root = Path(__file__).parents[2]
    found = []
    for bodies in (400, 1200):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", LOADING, str(bodies)],
            check=True, capture_output=True, text=True, cwd=root,
        )  # fmt: skip
        found.append([float(x) for x in done.stdout.split()])
    memory, pairs = np.array(found).T
    of_bodies = 40e3 * 800  # [B] of what is proportional to them
    assert (memory[1] - memory[0] - of_bodies) / (pairs[1] - pairs[0]) < 100


@pytest.mark.filterwarnings("ignore:contact")
def test_copied_worlds_go_on_with_the_bits_of_the_original(tmp_path: Path) -> None:
    scene = mixed(tmp_path, 4)
    bits = []
    for threads in (1, 2):
        worlds = pysim.Worlds(scene, 3, threads=threads)
        worlds.step(steps=30)
        worlds.copy([0], [1])
        for _ in range(5):
            worlds.step(steps=3)
        q = np.array(worlds.q)
        assert q[0].tobytes() == q[1].tobytes() == q[2].tobytes()
        bits.append(q.tobytes())
    assert bits[0] == bits[1]


def test_too_many_pairs_share_one_item_of_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Oracle: the record of each pair, while there are no more than MOST_PAIRS."""
    text = "".join(
        free(
            f"b{n}",
            "{ sphere = { radius = 0.1 } }",
            1.0,
            f"{{ xyz = [0.05, {0.2 * n:g}, {0.13 - 0.01 * n:g}] }}",
        )
        for n in range(4)
    )
    scene = world(tmp_path, text + GROUND, surface="friction = 0.5", duration=0.1)
    each = pysim.simulate(scene)
    assert scene.contacts is not None
    assert len(scene.contacts.pairs) == 10
    for name in ("trajectory.header", "worlds.accelerations", "worlds.ledger"):
        monkeypatch.setattr(f"pysim.{name}.MOST_PAIRS", 9)
    pysim.simulate(scene, tmp_path / "run.h5")
    found = pysim.load_trajectory(tmp_path / "run.h5")

    assert found.q.tobytes() == each.q.tobytes()
    assert found.contacts.force.tobytes() == each.contacts.force.tobytes()
    assert found.contact_forces.shape == found.contact_impulses.shape == (len(found), 0, 3)
    assert found.names["contacts"] == each.names["contacts"]
    total = sum(each.work[pair.name] for pair in scene.contacts.pairs)
    assert np.abs(total).max() > 1e-3
    np.testing.assert_allclose(found.work["contacts"], total, atol=1e-13)
    np.testing.assert_allclose(found.energy_balance, each.energy_balance, atol=1e-12)
