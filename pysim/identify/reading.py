"""Recordings: comma-separated text with named columns, or a pysim trajectory with the scene's own actuators.

| column | unit | |
|---|---|---|
| `t` | s | time, increasing |
| `q.NAME` | m or rad | every coordinate, by the names of `model.coordinate_names` |
| `tau.NAME` | N or N·m | every velocity, by `model.velocity_names`; missing ones are zero: joints no motor drives |
| `v.NAME`, `a.NAME` | | all of them or none; what is missing is differentiated |
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import IdentificationError, did_you_mean
from pysim.identify.samples import Samples, make_samples
from pysim.mechanism.actuation import actuator_forces
from pysim.trajectory import load_trajectory
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from pysim.mechanism.model import Model
    from pysim.worlds.loading import Scene

_HEADER_LINES = 1


def read_samples(model: Model, path: str | PathLike[str], *, window: float = 0.2) -> Samples:
    """Return what a comma-separated file recorded; its rows are numbered as the file's lines.

    Args:
        model: the mechanism.
        path: the file, its first line the names of the columns.
        window: length of the differentiating filter [s], used where v or a are missing.

    Raises:
        IdentificationError: names the file, the row and the column, and says what to do.
    """
    source = str(path)
    names, values = _table(Path(path), source)
    expected = {
        "t": ("t",),
        "q": tuple(f"q.{name}" for name in model.coordinate_names),
        **{k: tuple(f"{k}.{name}" for name in model.velocity_names) for k in ("v", "a", "tau")},
    }
    known = [name for group in expected.values() for name in group]
    for name in names:
        if name not in known:
            raise IdentificationError(source, f"unknown column {name!r}{did_you_mean(name, known)}")
        if names.count(name) > 1:
            raise IdentificationError(source, f"column {name!r} occurs twice; keep one")
    columns = {
        key: _columns(key, wanted, names, values, source) for key, wanted in expected.items()
    }
    time, q, tau = columns["t"], columns["q"], columns["tau"]
    if time is None or q is None or tau is None:
        missing = next(key for key in ("t", "q", "tau") if columns[key] is None)
        q_first, v_first, a_first, tau_first = (expected[key][0] for key in ("q", "v", "a", "tau"))
        problem = (
            f"column {expected[missing][0]!r} is missing; give the columns t, {q_first}, … and {tau_first}, …, and "
            f"{v_first}, … and {a_first}, … if they were measured"
        )
        raise IdentificationError(source, problem)
    return make_samples(
        model,
        time[:, 0],
        q,
        tau,
        columns["v"],
        columns["a"],
        window=window,
        source=source,
        first_row=1 + _HEADER_LINES,
    )


def read_run(scene: Scene, path: str | PathLike[str]) -> Samples:
    """Return the rows of a trajectory of a scene, driven by the scene's actuators.

    Raises:
        IdentificationError: the trajectory is of another mechanism.
        TrajectoryError: it cannot be read.
    """
    model, run = scene.model, load_trajectory(path)
    if run.header.coordinate_names != model.coordinate_names:
        problem = (
            f"has the coordinates {', '.join(run.header.coordinate_names)}, the scene "
            f"{', '.join(model.coordinate_names)}; give the scene that was run"
        )
        raise IdentificationError(str(path), problem)
    tau = actuator_forces(scene.actuation, run.t)
    return make_samples(model, run.t, run.q, tau, run.v, run.a, source=str(path))


def _columns(
    key: str, wanted: tuple[str, ...], names: Sequence[str], values: Array, source: str
) -> Array | None:
    """Return the columns of a group in the model's order; None if the file has none of them."""
    present = [name for name in wanted if name in names]
    if not present:
        return None
    if key == "tau":
        whole = np.zeros((len(values), len(wanted)))
        for k, name in enumerate(wanted):
            if name in names:
                whole[:, k] = values[:, names.index(name)]
        return whole
    if len(present) < len(wanted):
        missing = next(name for name in wanted if name not in names)
        others = "" if key in {"t", "q"} else f", or remove all columns of {key}"
        problem = f"column {missing!r} is missing, but {present[0]!r} is present; add it{others}"
        raise IdentificationError(source, problem)
    return values[:, [names.index(name) for name in wanted]]


def _table(path: Path, source: str) -> tuple[list[str], Array]:
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise IdentificationError(source, f"cannot be read: {reason}; check the path") from None
    except UnicodeDecodeError:
        raise IdentificationError(source, "is not UTF-8 text; save it as UTF-8") from None
    lines = text.splitlines()
    if len(lines) <= _HEADER_LINES:
        raise IdentificationError(source, "has no rows below the names of the columns")
    names = [name.strip().strip('"') for name in lines[0].split(",")]
    try:
        values = np.loadtxt(lines[_HEADER_LINES:], delimiter=",", ndmin=2, comments=None)
    except ValueError:
        values = None
    if values is None or values.shape[1] != len(names):
        _blame(lines, names, source)
    return names, np.asarray(values)


def _blame(lines: list[str], names: list[str], source: str) -> None:
    """Raise the error of the first cell that is not a number, or the first row of a wrong length."""
    for number, line in enumerate(lines[_HEADER_LINES:], 1 + _HEADER_LINES):
        cells = line.split(",")
        where = f"{source}: row {number}"
        if len(cells) != len(names):
            problem = f"has {len(cells)} columns, the first line names {len(names)}; complete it or leave it out"
            raise IdentificationError(where, problem)
        for name, cell in zip(names, cells, strict=True):
            try:
                float(cell)
            except ValueError:
                problem = (
                    f"column {name!r} must be a number, got {cell.strip()!r}; leave the row out"
                )
                raise IdentificationError(where, problem) from None
    raise IdentificationError(
        source, "is not a table of numbers; check that commas separate its columns"
    )
