"""Scenes with signals as text: tables, a disc on a hinge, a slide, an arm, and runs at given times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import pysim
from pysim.typing import Array
from tests.elements.reference_cases import every

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.trajectory import Trajectory
    from pysim.worlds.loading import Scene

FIXED = (
    "semi_implicit",
    "rk2",
    "rk4",
    "variational",
    "variational4",
    "implicit_midpoint",
    "generalized_alpha",
)


def table(kind: str, **keys: Any) -> str:
    """Return a table of an array, as `[[kind]]`."""
    lines = [f"{key} = {_toml(value)}" for key, value in keys.items()]
    return "\n".join([f"[[{kind}]]", *lines, ""])


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(x)}" for key, x in value.items()) + " }"
    if isinstance(value, (list, tuple, np.ndarray)):
        return f"[{', '.join(_toml(x) for x in value)}]"
    return repr(float(value)) if isinstance(value, np.floating) else repr(value)


def disc(inertia: float = 0.1, damping: float = 0.0, q: float = 0.0, v: float = 0.0) -> str:
    """Return a disc on a hinge about z, without gravity, and a sensor of its angle."""
    return (
        "gravity = [0, 0, 0]\n"
        + table("body", name="disc", mass=1, inertia={"xx": inertia, "yy": inertia, "zz": inertia})
        + table(
            "joint",
            name="hinge",
            type="revolute",
            child="disc",
            damping=damping,
            start={"q": q, "v": v},
        )
        + table("sensor", name="angle", type="coordinates", coordinates=["hinge"])
    )


def mass(m: float, q: float = 0.0, v: float = 0.0) -> str:
    """Return a mass that slides along x, without gravity, and a sensor of its place."""
    return (
        "gravity = [0, 0, 0]\n"
        + table("body", name="mass", mass=m, inertia={"xx": 1, "yy": 1, "zz": 1})
        + table(
            "joint",
            name="x",
            type="prismatic",
            axis=[1, 0, 0],
            child="mass",
            start={"q": q, "v": v},
        )
        + table("sensor", name="place", type="coordinates", coordinates=["x"])
    )


def arm(setup: dict[str, Any], q: Any, v: Any) -> str:
    """Return the two-link arm of the reference cases, and a sensor of its angles."""
    text = f"gravity = {_toml(setup['gravity_m_s2'])}\n"
    for k in range(2):
        I = setup["inertia_com_about_axis_kg_m2"][k]
        text += table(
            "body",
            name=f"link{k + 1}",
            mass=setup["mass_kg"][k],
            com=[setup["com_distance_m"][k], 0, 0],
            inertia={"xx": I, "yy": I, "zz": I},
        )
        text += table(
            "joint",
            name=f"q{k + 1}",
            type="revolute",
            axis=[0, -1, 0],
            parent="world" if k == 0 else "link1",
            child=f"link{k + 1}",
            at={"xyz": [0 if k == 0 else setup["length_m"][0], 0, 0]},
            start={"q": float(q[k]), "v": float(v[k])},
        )
    return text + table("sensor", name="arm", type="coordinates", coordinates=["q1", "q2"])


def constant(name: str, value: Any, unit: str = "1") -> str:
    return table("signal", name=name, type="constant", value=value, unit=unit)


def motor(command: str, joint: str = "hinge") -> str:
    return table("actuator", name="motor", type="force", joint=joint, command=command)


def load(torque: float, joint: str = "hinge") -> str:
    return table("actuator", name="load", joint=joint, offset=torque)


def simulation(
    integrator: str = "dopri5",
    *,
    step: float | None = None,
    duration: float = 1.0,
    interval: float = 0.1,
    **keys: Any,
) -> str:
    """Return the tables of a run; adaptive steps have a tolerance of 1e-12, fixed ones are 1 ms by default."""
    own = {"rtol": 1e-12, "atol": 1e-13} if integrator == "dopri5" else {"step": 1e-3}
    own |= {} if step is None else {"step": step}
    run = table("simulation", duration=duration, integrator=integrator, **(own | keys))
    return run.replace("[[", "[", 1).replace("]]", "]", 1) + f"[output]\nevery = {interval!r}\n"


def scene_of(folder: Path, text: str) -> Scene:
    file = folder / "scene.toml"
    file.write_text(text, "utf-8")
    return pysim.load_scene(file)


def run_at(folder: Path, text: str, times: Array, **keys: Any) -> tuple[Trajectory, list[int]]:
    """Return a run and the rows of its trajectory at these times."""
    interval = every(times)
    end = round(float(times[-1]) / interval) * interval
    run = simulation(duration=end, interval=interval, **keys)
    whole = pysim.simulate(scene_of(folder, text + run))
    rows = [int(np.argmin(np.abs(whole.t - t))) for t in times]
    np.testing.assert_allclose(whole.t[rows], times, rtol=0, atol=1e-9)
    return whole, rows


def states(whole: Trajectory, rows: list[int]) -> Array:
    """Return q and v side by side."""
    return np.hstack([whole.q, whole.v])[rows]
