"""Faults of a finished run that leave no error: judged from its rows, each reported once by name.

    limit        a coordinate that stays beyond its limit by more than PASSED times what its default stop allows
    sinking      a pair that rests deeper than its law says, see `pysim.diagnosis.contact_faults`
    seam         a contact against the sliding of a body on a face that continues there
    unrest       a body that nothing drives and that moves to and fro on what it touches, without getting slower

Rows are the outputs, so that what is shorter than an interval between them passes unseen.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from pysim.diagnosis.contact_faults import count_of_more, seam, sunk_pair, unrest
from pysim.diagnosis.step_checks import acting_on
from pysim.errors import PysimWarning
from pysim.joints import find_joint
from pysim.scene.stop_defaults import allowed_depth

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pysim.trajectory import Trajectory
    from pysim.worlds.loading import Scene

PASSED = 2.0  # times `allowed_depth`
DWELL = 0.1  # [s] beyond a limit
LEAST_ROWS = 5  # of a run that is judged


def warn_of_silent_faults(scene: Scene, trajectory: Trajectory, stacklevel: int = 2) -> None:
    """Warn of faults that a finished run shows without an error."""
    with np.errstate(all="ignore"):
        for text in silent_faults(scene, trajectory):
            warnings.warn(text, PysimWarning, stacklevel=stacklevel + 1)


def silent_faults(scene: Scene, trajectory: Trajectory) -> Iterator[str]:
    """Describe the faults of a finished run, at most one of each kind."""
    if len(trajectory) < LEAST_ROWS or not np.isfinite(trajectory.q).all():
        return
    for found in (
        _passed_limit(scene, trajectory),
        sunk_pair(scene, trajectory),
        seam(scene, trajectory),
        unrest(scene, trajectory),
    ):
        if found is not None:
            yield found


def _passed_limit(scene: Scene, trajectory: Trajectory) -> str | None:
    """Describe the coordinate that stays farthest beyond its limit."""
    model, t = scene.model, trajectory.t
    passed: list[tuple[float, str, str]] = []
    for joint, at_q, at_v in zip(model.joints, model.q_offsets, model.v_offsets, strict=True):
        if at_q < 0 or at_v < 0 or not joint.stop_stiffness.any():
            continue
        kind = find_joint(joint.type)
        for k in np.flatnonzero(np.isfinite(joint.lower) | np.isfinite(joint.upper)).tolist():
            q = trajectory.q[:, at_q + k]
            beyond = np.maximum(joint.lower[k] - q, q - joint.upper[k])
            allowed = float(allowed_depth(joint)[k])
            first, last = _longest(beyond > PASSED * allowed)
            if first == 0 or t[last] - t[first] < DWELL:  # a start beyond it is reported before
                continue
            depth = float(np.median(beyond[first : last + 1]))
            name = model.velocity_names[at_v + k]
            unit = "rad" if kind.v_units[k] == "rad/s" else "m"
            drives = ", ".join(map(repr, acting_on(scene, joint.name)))
            by = f" under {drives}" if drives else ""
            limit = "lower" if q[first] < joint.lower[k] else "upper"
            stiffness = float(joint.stop_stiffness[k]) * depth / allowed
            text = (
                f"joint {name!r} stays {depth:.2g} {unit} beyond its {limit} limit{by}, from t = {t[first]:.4g} to "
                f"{t[last]:.4g} s; give limits.stiffness = {stiffness:.2g} or more, or a smaller load"
            )
            passed.append((depth / allowed, name, text))
    if not passed:
        return None
    passed.sort(reverse=True)
    return passed[0][2] + count_of_more([name for _, name, _ in passed])


def _longest(mask: NDArray[np.bool_]) -> tuple[int, int]:
    """Return the first and last row of the longest stretch of true rows; (0, 0) without one of two rows."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    begins, ends = edges[::2], edges[1::2] - 1
    if not len(begins):
        return 0, 0
    k = int((ends - begins).argmax())
    return int(begins[k]), int(ends[k])
