"""Checkpoints of a run: when they are written, what they hold, and what the run is made of.

A checkpoint is the world as `Worlds.save` returns it (saved_worlds.py) with what runs keep beside it: the last rows'
impulses of contacts, what monitors of adaptive steps have counted, and the sums of the guard against unstable steps.
"""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import pysim
from pysim import _engine
from pysim.algorithms import crba, forward_kinematics
from pysim.diagnosis.last_state import has_diverged
from pysim.scene.toml.overrides import UNSET
from pysim.worlds.controller_memory import without_state
from pysim.worlds.saved_parts import packed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pysim.diagnosis.unstable_steps import StepGuard
    from pysim.simulation.record_runs import RecordRun
    from pysim.simulation.recorder import Recorder
    from pysim.worlds.loading import Scene
    from pysim.worlds.segment import Segment

REMOVED = "UNSET"  # an override that removes a key, in JSON


class Checkpoints:
    """Writes the checkpoints of a run into the file of its recorder, at most one in `simulation.checkpoint` [s]."""

    def __init__(self, scene: Scene, recorder: Recorder, run: RecordRun, guard: StepGuard) -> None:
        self._interval = scene.settings.checkpoint
        self._recorder, self._run, self._guard = recorder, run, guard
        self._last, self._has_diverged = time.monotonic(), False

    def after_segment(self, segment: Segment, steps: int, last: float) -> None:
        """Write a checkpoint after a recorded segment if it is time for one, and the run has not diverged.

        Args:
            segment: that was recorded.
            steps: made so far.
            last: time of the last row [s].
        """
        if len(segment.t):
            self._has_diverged = has_diverged(segment.q[-1], segment.v[-1])
        if self._has_diverged or time.monotonic() - self._last < self._interval:
            return
        saved = self._run.saved()
        if saved is None:
            return
        parts = {f"run.{name}": value for name, value in saved.items()}
        parts |= {f"guard.{name}": value for name, value in self._guard.saved().items()}
        self._recorder.checkpoint(
            packed({**parts, "steps": np.array(steps), "last": np.array(last)})
        )
        self._last = time.monotonic()


def why_not(scene: Scene) -> str:
    """Return why runs of a scene have no checkpoints; an empty text if they have."""
    reason = without_state(scene.signals)
    return f"{reason}, and checkpoints do not hold its memory" if reason else ""


def origin_of(scene: Scene) -> str:
    """Return what a run is made of, as JSON: what `resume` loads, and what it compares."""
    return json.dumps(
        {
            "path": str(Path(scene.spec.path).resolve()) if scene.spec.text else "",
            "overrides": {
                key: REMOVED if value is UNSET else value
                for key, value in scene.spec.overrides.items()
            },
            "refused": why_not(scene),
            "version": pysim.__version__,
            "instruction set": _engine.isa(),
            "plugins": _plugins(scene),
            "model": _digest(scene),
        },
        default=_plain,
    )


def differences(origin: Mapping[str, Any], text: str, scene: Scene) -> list[str]:
    """Return what differs between a run, with the text of its scene, and the scene as it is now."""
    now = json.loads(origin_of(scene))
    changes = [
        f"{what} was {origin[key]}, and is {now[key]}"
        for key, what in (("version", "pysim"), ("instruction set", "the instruction set"))
        if origin[key] != now[key]
    ]
    if text != scene.spec.text:
        changes.append(f"the text of {scene.spec.path} has changed")
    before, after = origin["plugins"], now["plugins"]
    changes += [
        f"the plugin file {file} has changed"
        for file in sorted({*before, *after})
        if before.get(file) != after.get(file)
    ]
    if not changes and origin["model"] != now["model"]:
        changes.append("a file that the scene reads has changed, and so have bodies or their start")
    return changes


def _plugins(scene: Scene) -> dict[str, str]:
    """Return the SHA-256 of the plugin files that the scene names."""
    import tomllib  # noqa: PLC0415, only runs into a file need it

    try:
        named = tomllib.loads(scene.spec.text).get("plugins", [])
    except tomllib.TOMLDecodeError:
        return {}
    folder = Path(scene.spec.path).resolve().parent
    files = [folder / str(name) for name in named]
    return {
        str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()
    }


def _digest(scene: Scene) -> str:
    """Return a SHA-256 of the numbers of the model at its start."""
    model, state = scene.model, scene.state
    start = np.zeros(0) if scene.signals is None else np.asarray(scene.signals.start, float)
    numbers = (
        state.q,
        state.v,
        state.loop_q,
        start,
        np.asarray(crba(model, state.q)),
        np.asarray(forward_kinematics(model, state.q)),
    )
    digest = hashlib.sha256()
    for array in numbers:
        digest.update(np.ascontiguousarray(array, float).tobytes())
    return digest.hexdigest()


def _plain(value: Any) -> Any:  # noqa: ANN401, whatever an override may be
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)
