"""Scenes of contact tests: one body that moves freely over a ground, and what a run of it shows."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import pysim
from tests.contact.body_scenes import GROUND, world
from tests.robots import REFERENCE

G = 9.81  # [m/s²]
STIFF = "stiffness = 2e7"  # near the rigid limit: a body of 1 kg sinks by less than 1 μm


def case(name: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Setup of a reference case, and its expectations by quantity."""
    found = json.loads((REFERENCE / "contact" / f"{name}.json").read_text("utf-8"))
    return found["setup"], {entry["quantity"]: entry for entry in found["expect"]}


def within(entry: dict[str, Any], value: float) -> bool:
    """Whether a value is what a case expects, within its tolerance."""
    scale = abs(entry["value"]) if entry["tolerance_kind"] == "relative" else 1.0
    return bool(abs(value - entry["value"]) <= entry["tolerance"] * scale)


def free_body(
    tmp_path: Path,
    *,
    shape: str,
    mass: float,
    start: str,
    surface: str,
    gravity: Any = (0, 0, -G),
    duration: float = 1.0,
    step: float = 1e-3,
    every: float | None = None,
    body: str = "collision = true",
    extra: str = "",
    run: str = "",
) -> pysim.Scene:
    """One body on a free joint above the plane z = 0; `surface` is the material of both."""
    text = f"""
[[body]]
name = "body"
shape = {shape}
mass = {mass}
{body}
[[joint]]
name = "free"
type = "free"
child = "body"
start = {start}
{GROUND}
{extra}
"""
    return world(
        tmp_path,
        text,
        surface=surface,
        gravity=gravity,
        duration=duration,
        step=step,
        every=every,
        run=run,
    )


def ball(tmp_path: Path, setup: dict[str, Any], velocity: str = "", **changes: Any) -> pysim.Scene:
    """The ball of a case on the plane, near the rigid limit."""
    r = setup["radius_m"]
    return free_body(
        tmp_path,
        shape=f"{{ sphere = {{ radius = {r} }} }}",
        mass=setup["mass_kg"],
        start=f"{{ xyz = [0, 0, {r}]{velocity} }}",
        surface=f"friction = {setup['mu']}\n{STIFF}",
        **changes,
    )


def ran(scene: pysim.Scene) -> pysim.Trajectory:
    """The trajectory of a scene, its warnings left aside."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pysim.PysimWarning)
        return pysim.simulate(scene)


def on_slope(angle: float) -> tuple[float, float, float]:
    """Gravity of a slope along x, seen from it."""
    return G * np.sin(angle), 0.0, -G * np.cos(angle)


def at(trajectory: pysim.Trajectory, time: float) -> int:
    """Row of a time."""
    return int(np.abs(trajectory.t - time).argmin())


def velocity(trajectory: pysim.Trajectory) -> np.ndarray:
    """Velocity (n, 3) of the body's origin in the world, by central differences."""
    found: np.ndarray = np.gradient(trajectory.q[:, :3], trajectory.t, axis=0)
    return found
