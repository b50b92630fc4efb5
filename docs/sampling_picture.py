"""Picture of the page "Sampling controllers": runs its code, and draws the humanoid that stands up.

    python docs/sampling_picture.py

Takes some ten seconds. Needs the extra `robots`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import pysim

DOCS = Path(__file__).parent
INSTANTS = (0, 0.16, 0.24, 0.6, 0.76, 0.88, 1.2)  # [s]
PERIOD = 0.04  # between states of the page [s]
SIZE = (240, 260)

names: dict[str, Any] = {}
for block in re.findall(
    r"^```python\n(.*?)^```",
    (DOCS / "sampling-controllers.md").read_text("utf-8"),
    re.MULTILINE | re.DOTALL,
):
    exec(block.replace('"scenes/', f'"{DOCS.parent}/scenes/'), names)
states = np.array(names["states"])
model = pysim.load_scene(DOCS.parent / "scenes" / "environments" / "humanoid.toml").model
run = pysim.Trajectory.of(model, PERIOD * np.arange(len(states)), states)
pixels = [
    pysim.render.still(run, time=time, size=SIZE, label=False, azimuth=-60, elevation=8, zoom=1.15)
    for time in INSTANTS
]
path = DOCS / "_static" / "humanoid_stands_up.webp"
Image.fromarray(np.hstack(pixels)).save(path, quality=82, method=6)
print(f"{path.name}: {path.stat().st_size / 1e3:.1f} kB")  # noqa: T201
