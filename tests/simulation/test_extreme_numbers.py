"""Numbers of any size in a scene: it runs, or the error names the body. No oracle but the type of the error."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import pysim

SCENE = """name = "s"
[[body]]
name = "a"
shape = {{ box = {box}, density = {density} }}
[[body]]
name = "b"
mass = {mass}
inertia = {{ xx = {inertia}, yy = {inertia}, zz = {inertia} }}
[[joint]]
name = "first"
type = "{kind}"
child = "a"
[[joint]]
name = "second"
type = "revolute"
parent = "a"
child = "b"
at = {{ xyz = [0, {at}, 0] }}
[[loop]]
name = "loop"
type = "point_on_plane"
b = "b"
at_a = {{ xyz = [0.2, 0, 0.1] }}
at_b = {{ xyz = [0, {at}, 1] }}
[simulation]
duration = 0.002
step = 1e-3
"""
USUAL = {
    "box": "[0.1, 0.1, 1]",
    "density": "100",
    "mass": "1",
    "inertia": "0.1",
    "kind": "revolute",
    "at": "1",
}


def run(folder: Path, **numbers: str) -> None:
    path = folder / "s.toml"
    path.write_text(SCENE.format(**(USUAL | numbers)), "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", pysim.PysimWarning)
        pysim.simulate(pysim.load_scene(path))


@pytest.mark.parametrize("side", ["1e30", "1e25"])
@pytest.mark.parametrize("kind", ["revolute", "ball", "free"])
def test_a_box_whose_inertia_is_too_large_is_named(tmp_path: Path, side: str, kind: str) -> None:
    text = r"body 'a': its mass or inertia, \S+ \[kg or kg·m²\], is beyond 1e\+60; check the units of its lengths"
    with pytest.raises(pysim.ModelError, match=text):
        run(tmp_path, box=f"[{side}, {side}, {side}]", kind=kind)


def test_numbers_of_any_size_run_or_are_an_error(tmp_path: Path, rng: np.random.Generator) -> None:
    sizes = ["1e-300", "1e-160", "1e-30", "1e-8", "1", "1e8", "1e20", "1e30"]
    kinds = ["revolute", "ball", "free", "universal", "planar"]
    failed = 0
    for _ in range(40):
        a, b, c, d, e = rng.choice(sizes, 5)
        numbers = {"density": a, "mass": b, "inertia": c, "at": d, "box": f"[{e}, {e}, 1]"}
        try:
            run(tmp_path, kind=str(rng.choice(kinds)), **numbers)
        except pysim.PysimError:
            failed += 1
    assert 0 < failed < 40
