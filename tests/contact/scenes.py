"""Scenes of contact tests: one body that moves freely over a ground, and what a run of it shows."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import pysim
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
        gravity = {[float(g) for g in gravity]}
        [materials.default]
        {surface}
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
        [[ground]]
        plane = {{ normal = [0, 0, 1], offset = 0.0 }}
        {extra}
        [simulation]
        duration = {duration}
        step = {step}
        {run}
        [output]
        every = {every or step}
    """
    path = tmp_path / "scene.toml"
    path.write_text("\n".join(line.strip() for line in text.splitlines()), "utf-8")
    return pysim.load_scene(path)


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
