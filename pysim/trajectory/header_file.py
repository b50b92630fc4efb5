"""The header of a trajectory in its file: what it is of, names, units, and the empty datasets of its rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.trajectory.events import create_events
from pysim.trajectory.record import TrajectoryHeader

if TYPE_CHECKING:
    import h5py

FORMAT = "pysim-trajectory"
FORMAT_VERSION = 1
CHUNK_BYTES = 1 << 16  # of one dataset
UNITS = {
    "time": "s",
    "energy": "J",
    "poses": "m (x y z), quaternion (x y z w)",
    "loops": "N (x y z), N·m (x y z)",
    "couplings": "N or N·m",
}


def write_header(file: h5py.File, header: TrajectoryHeader) -> None:
    """Everything but the rows, for which it makes the datasets."""
    file.attrs.update(
        {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "complete": False,
            "pysim_version": header.version,
            "name": header.name,
            "scene_sha256": header.scene_hash,
            "integrator": header.integrator,
            "step": header.step,
            "gravity": np.asarray(header.gravity, float),
        }
    )
    for key, shape in header.row_shapes.items():
        dataset = file.create_dataset(
            key,
            shape=(0, *shape),
            maxshape=(None, *(length or None for length in shape)),
            chunks=(chunk_rows(header, key), *(max(1, length) for length in shape)),
            dtype="f8",
            fillvalue=np.nan,
        )
        dataset.attrs["unit"] = _unit(key)
    for key, text in _named_texts(header).items():
        _write_text(file, key, text)
    if header.event_names:
        create_events(file, len(header.coordinate_names), len(header.velocity_names))
    file["frames/body"] = np.asarray(header.frame_bodies, int)
    file["frames/pose"] = np.asarray(header.frame_poses, float)
    file["frames/pose"].attrs["unit"] = "m"


def _named_texts(header: TrajectoryHeader) -> dict[str, str | tuple[str, ...]]:
    """The header's names, units and texts, by the names of their datasets."""
    optional = {
        "names/events": header.event_names,
        "names/loops": header.loop_names,
        "names/couplings": header.coupling_names,
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
        **{key: names for key, names in optional.items() if names},
    }


def chunk_rows(header: TrajectoryHeader, key: str) -> int:
    """How many rows of a dataset HDF5 keeps together."""
    numbers = int(np.prod(header.row_shapes[key], dtype=int))
    return max(1, min(1024, CHUNK_BYTES // (8 * max(1, numbers))))


def _unit(key: str) -> str:
    """One unit for the whole dataset, or where to look for those of its columns."""
    if key not in {"q", "v", "a"}:
        return UNITS[key.partition("/")[0]]
    where = "coordinates" if key == "q" else "velocities"
    return f"see units/{where}" + (", each per s" if key == "a" else "")


def _json(value: Any) -> str:  # noqa: ANN401, whatever a scene key may hold
    return json.dumps(value, default=_plain)


def _plain(value: Any) -> Any:  # noqa: ANN401
    """Turn NumPy numbers and arrays, and anything else that JSON lacks, into what it has."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def _write_text(file: h5py.File, key: str, text: str | tuple[str, ...]) -> None:
    import h5py  # noqa: PLC0415

    if isinstance(text, str):
        file.create_dataset(key, data=text, dtype=h5py.string_dtype())
    else:
        file.create_dataset(key, data=list(text), shape=(len(text),), dtype=h5py.string_dtype())


def read_header(file: h5py.File) -> TrajectoryHeader:
    """What a file says of itself."""
    attributes = file.attrs
    x, y, z = (float(number) for number in attributes["gravity"])
    return TrajectoryHeader(
        joint_names=_texts(file, "names/joints"),
        body_names=_texts(file, "names/bodies"),
        coordinate_names=_texts(file, "names/coordinates"),
        velocity_names=_texts(file, "names/velocities"),
        coordinate_units=_texts(file, "units/coordinates"),
        velocity_units=_texts(file, "units/velocities"),
        frame_names=_texts(file, "names/frames"),
        frame_bodies=tuple(int(body) for body in file["frames/body"][()]),
        frame_poses=np.asarray(file["frames/pose"][()], float),
        gravity=(x, y, z),
        integrator=str(attributes["integrator"]),
        step=float(attributes["step"]),
        name=str(attributes["name"]),
        scene_text=str(file["scene/text"].asstr()[()]),
        overrides=json.loads(file["scene/overrides"].asstr()[()]),
        version=str(attributes["pysim_version"]),
        visuals=json.loads(file["visuals"].asstr()[()]),
        render=json.loads(file["render"].asstr()[()]),
        event_names=_optional_texts(file, "names/events"),
        loop_names=_optional_texts(file, "names/loops"),
        coupling_names=_optional_texts(file, "names/couplings"),
    )


def _optional_texts(file: h5py.File, key: str) -> tuple[str, ...]:
    return _texts(file, key) if key in file else ()


def _texts(file: h5py.File, key: str) -> tuple[str, ...]:
    return tuple(str(text) for text in file[key].asstr()[()])
