"""Storage of a trajectory's header: attributes, names, units, texts, and the empty datasets of its rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.trajectory.contacts import GROUP as POINTS, create_points
from pysim.trajectory.events import GROUP, create_events
from pysim.trajectory.header import (
    COUPLING_FORCES,
    ELEMENTS,
    LOOP_WRENCHES,
    SIGNALS,
    TrajectoryHeader,
)
from pysim.trajectory.parts import (
    create_rows,
    dataset,
    flag,
    has,
    has_attribute,
    numbers,
    parsed,
    real_numbers,
    text,
    text_attribute,
    texts,
    write_attribute,
    write_texts,
)

if TYPE_CHECKING:
    import h5py
    from numpy.typing import NDArray

FORMAT = "pysim-trajectory"
FORMAT_VERSION = 1
CHUNK_BYTES = 1 << 16  # of one dataset
UNITS = {
    "time": "s",
    "energy": "J",
    "poses": "m (x y z), quaternion (x y z w)",
    "work": "J",
    "loops": "N (x y z), N·m (x y z)",
    "couplings": "N or N·m",
    "contacts/pairs/force": "N",
    "contacts/pairs/impulse": "N·s",
    "forces": "see units/forces",
}


def write_header(file: h5py.File, header: TrajectoryHeader) -> None:
    """Write everything but the rows, for which it makes the datasets."""
    attributes = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "complete": False,
        "pysim_version": header.version,
        "name": header.name,
        "scene_sha256": header.scene_hash,
        "integrator": header.integrator,
        "step": header.step,
        "gravity": np.asarray(header.gravity, float),
        "imported": header.imported,
    }
    for key, value in attributes.items():
        write_attribute(file, key, value)
    for key, shape in header.row_shapes.items():
        create_rows(file, key, shape, chunk_rows(header, key), _unit(key, header))
    for key, words in _named_texts(header).items():
        write_texts(file, key, words)
    if header.event_names:
        create_events(file, header)
    if header.contact_names:
        create_points(file)
    _write_numbers(file, "frames/body", np.asarray(header.frame_bodies, int))
    _write_numbers(file, "frames/pose", np.asarray(header.frame_poses, float))
    write_attribute(file["frames/pose"], "unit", "m")


def _write_numbers(file: h5py.File, key: str, values: NDArray[Any]) -> None:
    checked = {"chunks": values.shape, "fletcher32": True} if values.size else {}
    file.create_dataset(key, data=values, **checked)


def _named_texts(header: TrajectoryHeader) -> dict[str, str | tuple[str, ...]]:
    """Return the header's names, units and texts, by the names of their datasets."""
    optional = {
        "names/events": header.event_names,
        "names/loops": header.loop_names,
        "names/couplings": header.coupling_names,
        "names/contacts": header.contact_names,
        "names/forces": header.force_names,
        "units/forces": header.force_units,
        "names/signals": header.signal_names,
        "units/signals": header.signal_units,
        "names/work": header.work_names,
    }
    return {
        "names/joints": header.joint_names,
        "names/bodies": header.body_names,
        "names/frames": header.frame_names,
        "names/coordinates": header.coordinate_names,
        "names/velocities": header.velocity_names,
        "units/coordinates": header.coordinate_units,
        "units/velocities": header.velocity_units,
        "scene/text": header.scene_text,
        "scene/overrides": _json(header.overrides),
        "visuals": _json(list(header.visuals)),
        "render": _json(header.render),
        **({"connections": _json(list(header.connections))} if header.connections else {}),
        **{key: names for key, names in optional.items() if names},
    }


def chunk_rows(header: TrajectoryHeader, key: str) -> int:
    """Return the number of rows of a dataset in one HDF5 chunk."""
    numbers = int(np.prod(header.row_shapes[key], dtype=int))
    return max(1, min(1024, CHUNK_BYTES // (8 * max(1, numbers))))


def _unit(key: str, header: TrajectoryHeader) -> str:
    """Return the unit of a whole dataset, or a reference to the units of its columns."""
    if key.startswith(SIGNALS):
        return header.signal_units[header.signal_names.index(key.removeprefix(SIGNALS))]
    if key not in {"q", "v", "a"}:
        return UNITS.get(key) or UNITS[key.partition("/")[0]]
    where = "coordinates" if key == "q" else "velocities"
    return f"see units/{where}" + (", each per s" if key == "a" else "")


def _json(value: Any) -> str:  # noqa: ANN401, whatever a scene key may hold
    return json.dumps(value, default=_plain)


def _plain(value: Any) -> Any:  # noqa: ANN401
    """Turn NumPy numbers and arrays, and anything else that JSON lacks, into what it has."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def read_header(file: h5py.File) -> TrajectoryHeader:
    """Read the header of a trajectory file.

    Raises:
        ValueError: a part is missing or invalid.
    """
    x, y, z = real_numbers(file, "gravity", (3,))
    (step,) = real_numbers(file, "step", ())
    bodies, frames = texts(file, "names/bodies"), texts(file, "names/frames")
    forces = _names_of(file, "names/forces", ELEMENTS)
    signals = texts(file, "names/signals") if has(file, "names/signals") else ()
    return TrajectoryHeader(
        joint_names=texts(file, "names/joints"),
        body_names=bodies,
        coordinate_names=texts(file, "names/coordinates"),
        velocity_names=texts(file, "names/velocities"),
        coordinate_units=texts(file, "units/coordinates"),
        velocity_units=texts(file, "units/velocities"),
        frame_names=frames,
        frame_bodies=_frame_bodies(file, len(frames), len(bodies)),
        frame_poses=_frame_poses(file, len(frames)),
        gravity=(x, y, z),
        integrator=text_attribute(file, "integrator"),
        step=step,
        name=text_attribute(file, "name"),
        scene_text=text(file, "scene/text"),
        overrides=parsed(file, "scene/overrides", dict),
        version=text_attribute(file, "pysim_version"),
        visuals=_objects(file, "visuals"),
        connections=_objects(file, "connections") if has(file, "connections") else (),
        imported=has_attribute(file, "imported") and flag(file, "imported"),
        render=parsed(file, "render", dict),
        event_names=_names_of(file, "names/events", GROUP),
        loop_names=_names_of(file, "names/loops", LOOP_WRENCHES),
        coupling_names=_names_of(file, "names/couplings", COUPLING_FORCES),
        contact_names=_names_of(file, "names/contacts", f"{POINTS}/offsets"),
        force_names=forces,
        force_units=texts(file, "units/forces") if forces else (),
        signal_names=signals,
        signal_units=texts(file, "units/signals") if signals else (),
        signal_sizes=tuple(_size(file, SIGNALS + name) for name in signals),
        work_names=texts(file, "names/work") if has(file, "names/work") else (),
    )


def _size(file: h5py.File, key: str) -> int:
    """Return how many numbers a signal has in a row, 0 for one number."""
    shape = dataset(file, key).shape
    if shape is None or len(shape) not in (1, 2):
        raise ValueError(f"{key!r} has shape {shape}, and a signal (rows,) or (rows, size)")
    return int(shape[1]) if len(shape) == 2 else 0


def _frame_bodies(file: h5py.File, frames: int, bodies: int) -> tuple[int, ...]:
    found = numbers(file, "frames/body", (frames,))[()]
    if not np.isin(found, np.arange(-1, bodies)).all():
        raise ValueError(f"'frames/body' must be from -1, the world, to {bodies - 1}")
    return tuple(int(body) for body in found)


def _frame_poses(file: h5py.File, frames: int) -> NDArray[np.float64]:
    found = np.asarray(numbers(file, "frames/pose", (frames, 4, 4))[()], float)
    if not np.isfinite(found).all():
        raise ValueError("'frames/pose' must be finite")
    return found


def _objects(file: h5py.File, key: str) -> list[dict[str, Any]]:
    """Return a JSON array of objects."""
    found: list[Any] = parsed(file, key, list)
    if not all(isinstance(entry, dict) for entry in found):
        raise ValueError(f"{key!r} must be a JSON array of objects")
    return found


def _names_of(file: h5py.File, key: str, rows: str) -> tuple[str, ...]:
    """Return the names of optional items; there are as many as rows of the dataset."""
    names = texts(file, key) if has(file, key) else ()
    if bool(names) != has(file, rows):
        there, missing = (key, rows) if names else (rows, key)
        raise ValueError(f"it has {there!r} and lacks {missing!r}")
    return names
