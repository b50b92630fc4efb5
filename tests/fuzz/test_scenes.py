"""Changed scenes are read, compiled, judged and stepped, or rejected with an error that a user can read."""

from __future__ import annotations

import shutil
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pysim
from pysim.diagnosis.stability import step_bounds
from tests.fuzz.budget import fuzz, result_or_error
from tests.fuzz.mutations import changed_tables, changed_text, document
from tests.scene_runs import SCENES

NAMES = [
    "pendulum",
    "four_bar",
    "spring",
    "servo_pid",
    "rope_and_pulley",
    "cable_robot",
    "falling_box",
    "governor",
    "cam",
    "gyroscope",
    "timed_pendulum",
    "driven_pendulum",
    "instrumented_top",
    "lissajous",
    "drive_shaft",
    "differential",
    "quarter_car",
    "rolling_disk",
    "wrecking_ball",
    "conveyor",
    "bouncing_balls",
    "tracking_arm",
]
FILES = [SCENES / f"{name}.toml" for name in NAMES if (SCENES / f"{name}.toml").is_file()]
KEPT = Path(__file__).parent / "corpus" / "scenes"
FOLDER = Path(tempfile.mkdtemp(prefix="pysim-fuzz-"))
shutil.copytree(SCENES / "meshes", FOLDER / "meshes")
MOST_STEPS = 2000


def short(tables: dict[str, Any]) -> dict[str, Any]:
    """Return a scene with a short run."""
    run = {**tables.get("simulation", {}), "duration": 0.01}
    return {**tables, "simulation": run, "output": {**tables.get("output", {}), "every": 0.005}}


def tables_of(path: Path) -> dict[str, Any]:
    return short(tomllib.loads(path.read_text("utf-8")))


TABLES = [tables_of(path) for path in FILES]
TEXTS = [path.read_text("utf-8") for path in FILES]
WORDS = sorted({word for text in TEXTS for word in text.split() if word.isidentifier()})


def use(text: str) -> None:
    """Read a scene and, if it is short, run it."""
    path = FOLDER / "s.toml"
    path.write_text(text, "utf-8", errors="replace")
    scene = result_or_error(lambda: pysim.load_scene(path))
    if scene is None:
        return
    result_or_error(lambda: step_bounds(scene))
    settings = scene.settings
    if settings.duration / settings.step < MOST_STEPS and settings.duration / settings.every < 100:
        result_or_error(lambda: pysim.simulate(scene))


@fuzz(changed_tables(TABLES))
def test_a_scene_with_other_values_runs_or_is_an_error(tables: dict[str, Any]) -> None:
    use(document(tables))


@fuzz(changed_text(TEXTS, WORDS))
def test_a_scene_with_other_words_is_read_or_is_an_error(text: str) -> None:
    path = FOLDER / "s.toml"
    path.write_text(text, "utf-8", errors="replace")
    result_or_error(lambda: pysim.load_scene(path))


def test_scenes_that_once_failed_run_or_are_errors() -> None:
    for path in sorted(KEPT.glob("*.toml")):
        use(path.read_text("utf-8"))
