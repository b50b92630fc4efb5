"""Pictures of the gallery: one of every scene, at an instant that shows its motion.

    python docs/gallery_pictures.py [NAME ...]

A name is that of a file in `scenes` without its suffix, as in `pendulum` and `environments/reacher`. All of them take
ten minutes. Needs the extra `robots`.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

from PIL import Image

import pysim

DOCS = Path(__file__).parent
SCENES = DOCS.parent / "scenes"
PICTURES = DOCS / "_static" / "scenes"
SIZE = (640, 400)
QUALITY = 82  # of WebP
INSTANT = 0.4  # share of the duration
INSTANTS = {
    "billiards": 0.2,
    "catapult": 0.3,
    "humanoid_fall": 0.12,
    "quadruped": 0.2,
    "princeton_strip": 0.95,
    "rotor_blade": 0.45,
    "rough_road": 0.09,
    "tendon_finger": 0.9,
    "twisted_ring": 0.76,
    "whip": 0.6,
    "wrecking_ball": 0.36,
}
VIEWS: dict[str, dict[str, Any]] = {
    "billiards": {"zoom": 1.5},
    "catapult": {"zoom": 1.5},
    "falling_box": {"follow": True},
    "humanoid_fall": {"follow": True},
    "quadrotor": {"follow": True, "zoom": 2.5, "trails": ()},
    "quadruped": {"follow": True, "zoom": 1.4, "trails": ()},
    "screw_spline": {"zoom": 1.6},
    "stick_slip": {"zoom": 2.0, "follow": True},
}


def picture_of(name: str) -> Path:
    """Return the path of a scene's picture."""
    return PICTURES / f"{name.replace('/', '-')}.webp"


def draw(name: str) -> None:
    """Run a scene up to its instant and draw it."""
    scene = pysim.load_scene(SCENES / f"{name}.toml", allow_code=True)
    time = INSTANTS.get(name, INSTANT) * scene.settings.duration
    run = pysim.simulate(scene)
    pixels = pysim.render.still(run, time=time, size=SIZE, label=False, **VIEWS.get(name, {}))
    PICTURES.mkdir(exist_ok=True)
    path = picture_of(name)
    Image.fromarray(pixels).save(path, quality=QUALITY, method=6)
    print(f"{name}: t = {time:.3g} s, {path.stat().st_size / 1e3:.1f} kB")  # noqa: T201


if __name__ == "__main__":
    every = [str(path.relative_to(SCENES).with_suffix("")) for path in SCENES.glob("**/*.toml")]
    warnings.simplefilter("ignore", pysim.PysimWarning)
    for each in sys.argv[1:] or sorted(every):
        draw(each)
