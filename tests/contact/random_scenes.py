"""Random scenes of convex steps: bodies, arms with limits, dry friction and servos, and robots with a free root."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import brentq

import pysim
from pysim.typing import Array
from tests.elements.blocks import constant, table
from tests.oracles.contact_geometry import lowest_points, nearest
from tests.oracles.free_velocity import Servo

Random = np.random.Generator
STEPS = 3  # of each problem: later ones begin with deflections, and with points that slid


def unit(rng: Random) -> Array:
    n = rng.normal(size=3)
    return n / np.linalg.norm(n)


def shape(rng: Random, *kinds: str) -> dict[str, Any]:
    kind = rng.choice(kinds)
    if kind == "sphere":
        return {"sphere": {"radius": rng.uniform(0.05, 0.2)}}
    if kind == "capsule":
        return {"capsule": {"radius": rng.uniform(0.03, 0.1), "length": rng.uniform(0.1, 0.4)}}
    return {"box": rng.uniform(0.1, 0.4, 3)}


def material(rng: Random, *, turning: bool = False, hertz: bool = False) -> str:
    """Surfaces of all bodies; about half of the numbers are those that a scene without them has."""
    dynamic = rng.choice([0.0, rng.uniform(0, 1.5)], p=[0.1, 0.9])
    keys: dict[str, Any] = {
        "friction": {"static": dynamic * rng.choice([1.0, 1.3]), "dynamic": dynamic}
    }
    if hertz:
        keys["stiffness"] = {"young": 10 ** rng.uniform(5, 8), "poisson": rng.uniform(0.1, 0.5)}
    elif rng.random() < 0.6:
        keys["stiffness"] = 10 ** rng.uniform(3, 6)
    if rng.random() < 0.5:
        keys["dissipation"] = rng.choice([0.0, rng.uniform(0, 2)])
    if rng.random() < 0.3:
        keys["tangential_stiffness"] = 10 ** rng.uniform(3, 5)
    if rng.random() < 0.3:
        keys["relaxation_time"] = 10 ** rng.uniform(-4, -1)
    if turning:
        keys |= {"rolling": rng.uniform(0, 0.02), "spinning": rng.uniform(0, 0.02)}
    return table("materials.default", **keys).replace("[[", "[").replace("]]", "]")


def body(rng: Random, name: str, own: dict[str, Any], **keys: Any) -> str:
    return table("body", name=name, shape=own, mass=10 ** rng.uniform(-1, 1), **keys)


def free_body(rng: Random, name: str, own: dict[str, Any], **keys: Any) -> str:
    v = np.concatenate([rng.normal(size=3), rng.normal(0, 3, 3)])
    start = {"rpy": rng.uniform(-3, 3, 3), "v": v}
    joint = table("joint", name=f"{name} moves", type="free", child=name, start=start)
    return body(rng, name, own, **keys) + joint


def arm(rng: Random, name: str, parent: str, links: int, **keys: Any) -> str:
    """Links on joints one after the other; the last one collides. `keys` are functions of each joint."""
    text = ""
    for k in range(links):
        link, last = f"{name} {k}", k == links - 1
        own = shape(rng, "sphere", "capsule") if last else shape(rng, "box")
        text += body(rng, link, own, collision=last)
        text += table(
            "joint",
            name=f"{link} moves",
            type=str(rng.choice(["revolute", "prismatic"], p=[0.8, 0.2])),
            parent=parent,
            child=link,
            axis=unit(rng),
            at={"xyz": 0.4 * unit(rng), "rpy": rng.uniform(-3, 3, 3)},
            start={"q": rng.uniform(-0.5, 0.5), "v": rng.normal(0, 2)},
            **{key: make() for key, make in keys.items()},
        )
        parent = link
    return text


def limits(rng: Random) -> dict[str, float]:
    """Limits of a joint that starts between −0.5 and 0.5."""
    keys = {"lower": rng.uniform(-0.5, -0.2), "upper": rng.uniform(0.2, 0.5)}
    keys = {k: x for k, x in keys.items() if rng.random() < 0.8} or {"upper": 0.0}
    return keys | {"stiffness": 10 ** rng.uniform(2, 5), "damping": rng.uniform(0, 20)}


def sometimes(rng: Random, low: float, high: float, share: float = 0.6) -> Callable[[], float]:
    return lambda: rng.uniform(low, high) if rng.random() < share else 0.0


@dataclass
class Problem:
    """A scene whose start touches, which runs for some steps, and its servos."""

    scene: pysim.Scene
    servos: tuple[Servo, ...] = ()


def load(
    folder: Path, text: str, planes: list[tuple[Array, float]], step: float, passes: int
) -> Any:
    grounds = "".join(table("ground", plane={"normal": n, "offset": x}) for n, x in planes)
    run = table(
        "simulation",
        integrator="convex",
        step=step,
        duration=STEPS * step,
        passes=passes,
        solver_tolerance=1e-13,
    )
    path = folder / "scene.toml"
    path.write_text(
        text
        + grounds
        + run.replace("[[", "[", 1).replace("]]", "]", 1)
        + f"[output]\nevery = {step}\n",
        "utf-8",
    )
    return pysim.load_scene(path)


def problem(
    folder: Path,
    rng: Random,
    text: str,
    passes: int,
    *,
    planes: int = 1,
    touching: tuple[tuple[str, str], ...] = (),
    servos: tuple[Servo, ...] = (),
) -> Problem:
    """Place free bodies on others, and planes that the lowest points of all shapes touch."""
    step = 10 ** rng.uniform(-3.7, -2.4)
    normals = [unit(rng) for _ in range(planes)]
    scene = load(folder, text, [(n, -1e3) for n in normals], step, passes)
    model, q = scene.model, scene.state.q.copy()
    of_link = {placed.link: placed for placed in scene.contacts.shapes.placed}
    for first, second in touching:
        place_on(model, q, of_link[first], of_link[second], unit(rng), depth(rng))
    X = pysim.forward_kinematics(model, q)
    grounds = []
    for n in normals:
        points = [lowest_points(own.shape, X[own.body] @ own.pose, n) for own in of_link.values()]
        grounds.append((n, min(float(n @ p) for some in points for p in some) + depth(rng)))
    scene = load(folder, text, grounds, step, passes)
    return Problem(replace(scene, state=replace(scene.state, q=q)), servos)


def depth(rng: Random) -> float:
    """Penetration at the start [m]."""
    return rng.uniform(-5e-4, 2e-3)


def place_on(model: pysim.Model, q: Array, first: Any, second: Any, n: Array, x: float) -> None:
    """Move a free body along n until it penetrates another one by x."""
    at = sum(model.joint_nq[: second.body])
    X = pysim.forward_kinematics(model, q)
    X_A, X_B = X[first.body] @ first.pose, X[second.body] @ second.pose
    start = X_B[:3, 3].copy()

    def beyond(distance: float) -> float:
        X_B[:3, 3] = X_A[:3, 3] + distance * n
        return nearest(first.shape, X_A, second.shape, X_B)[2] + x

    low = next(distance for distance in np.linspace(1.0, 0.0, 101) if beyond(distance) < 0)
    distance = brentq(beyond, low, low + 0.01, xtol=1e-12)
    q[at : at + 3] += X_A[:3, 3] + distance * n - start


def one_body(folder: Path, rng: Random, passes: int) -> Problem:
    text = material(rng) + free_body(
        rng, "body", shape(rng, "sphere", "capsule", "box"), collision=True
    )
    if rng.random() < 0.3:
        text += table("contact", between=["world", "body"], surface_velocity=rng.normal(size=3))
    return problem(folder, rng, text, passes, planes=int(rng.integers(1, 4)))


def two_bodies(folder: Path, rng: Random, passes: int) -> Problem:
    """Two bodies: one is a sphere, or both are capsules."""
    pair = [shape(rng, "sphere"), shape(rng, "sphere", "capsule", "box")]
    if rng.random() < 0.3:
        pair = [shape(rng, "capsule"), shape(rng, "capsule")]
    rng.shuffle(pair)
    bodies = [
        free_body(rng, name, own, collision=True) for name, own in zip("ab", pair, strict=True)
    ]
    text = material(rng, turning=passes != 2 and rng.random() < 0.3) + "".join(bodies)
    planes = int(rng.integers(0, 3))
    return problem(folder, rng, text, passes, planes=planes, touching=(("a", "b"),))


def rolling_bodies(folder: Path, rng: Random, passes: int) -> Problem:
    text = material(rng, turning=passes != 2, hertz=rng.random() < 0.4) + free_body(
        rng, "body", shape(rng, "sphere", "capsule"), collision=True
    )
    return problem(folder, rng, text, passes, planes=int(rng.integers(1, 3)))


def arms(folder: Path, rng: Random, passes: int) -> Problem:
    """An arm with springs, limits and dry friction, a sphere that touches it, and a plane."""
    text = material(rng) + arm(
        rng,
        "arm",
        "world",
        links := int(rng.integers(2, 6)),
        limits=lambda: limits(rng),
        friction=sometimes(rng, 0.02, 0.5),
        damping=sometimes(rng, 0, 2),
        stiffness=sometimes(rng, 0, 50),
        armature=lambda: rng.uniform(0.02, 0.5),
    )
    text += free_body(rng, "ball", shape(rng, "sphere"), collision=True)
    return problem(folder, rng, text, passes, touching=((f"arm {links - 1}", "ball"),))


def servo_arms(folder: Path, rng: Random, passes: int) -> Problem:
    """An arm with servos whose force has bounds, and a plane."""
    links = int(rng.integers(2, 5))
    text = material(rng) + arm(
        rng,
        "arm",
        "world",
        links,
        friction=sometimes(rng, 0.02, 0.5, 0.3),
        armature=lambda: rng.uniform(0.02, 0.1),
    )
    servos = []
    for k in range(links):
        kp, kd, bound = 10 ** rng.uniform(0, 4), 10 ** rng.uniform(-1, 2), 10 ** rng.uniform(0, 2)
        servos.append(Servo(k, rng.uniform(-0.5, 0.5), kp, kd, bound))
        text += constant(f"target{k}", servos[k].target)
        text += table(
            "actuator",
            name=f"servo{k}",
            type="position_servo",
            joint=f"arm {k} moves",
            command=f"target{k}",
            kp=kp,
            kd=kd,
            force_range=[-bound, bound],
        )
    return problem(folder, rng, text, passes, servos=tuple(servos))


def robots(folder: Path, rng: Random, passes: int) -> Problem:
    """A body that moves freely with two or three limbs, between planes."""
    text = material(rng, turning=passes != 2 and rng.random() < 0.3) + free_body(
        rng, "root", shape(rng, "box")
    )
    for k in range(rng.integers(2, 4)):
        text += arm(
            rng,
            f"limb{k}",
            "root",
            int(rng.integers(1, 4)),
            limits=lambda: limits(rng),
            armature=lambda: rng.uniform(0.02, 0.1),
            friction=sometimes(rng, 0.02, 0.5, 0.3),
            damping=sometimes(rng, 0, 2, 0.3),
        )
    return problem(folder, rng, text, passes, planes=int(rng.integers(1, 4)))


def deep_arms(folder: Path, rng: Random, passes: int) -> Problem:
    """An arm of 33 links, whose matrices are solved by recursion, a sphere that touches its end, and a plane."""
    text = material(rng) + arm(
        rng,
        "arm",
        "world",
        33,
        friction=sometimes(rng, 0.02, 0.5, 0.2),
        damping=lambda: rng.uniform(0.5, 2),
        armature=lambda: rng.uniform(0.02, 0.5),
    )
    text += free_body(rng, "ball", shape(rng, "sphere"), collision=True)
    return problem(folder, rng, text, passes, touching=(("arm 32", "ball"),))


Family: TypeAlias = Callable[[Path, Random, int], Problem]
FAMILIES: tuple[Family, ...] = (
    one_body, two_bodies, rolling_bodies, arms, servo_arms, robots, deep_arms,
)  # fmt: skip
