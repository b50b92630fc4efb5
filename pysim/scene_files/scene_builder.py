"""Scenes written in Python: tables are added by methods, checked as those of a file, then run or saved.

import pysim

builder = pysim.SceneBuilder("pendulum")
builder.parameters(length=0.5)
builder.body("rod", mass=1.0, com=[0, 0, "= -length"], inertia={"xx": 0.1, "yy": 0.1, "zz": 0.01})
builder.joint("hinge", "revolute", child="rod", axis=[0, 1, 0], start="30 deg")
builder.simulation(duration=2.0)
scene = builder.build()
builder.save("pendulum.toml")
"""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pysim.errors import SceneError
from pysim.scene_files.loaded_scene import compile_checked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike

    from pysim.scene.spec import SceneSpec
    from pysim.worlds.loading import Scene

FILE_KEYS = {"mesh", "file", "srdf", "include", "plugins", "package_dirs"}  # values are paths


class SceneBuilder:
    """A scene in the making; keys of the methods are those of the scene's tables, also as arrays and expressions."""

    def __init__(
        self,
        name: str = "scene",
        *,
        folder: str | PathLike[str] = ".",
        **keys: Any,  # noqa: ANN401, as a table
    ) -> None:
        """Begin a scene.

        Args:
            name: its name.
            folder: folder to which the names of meshes and other files are relative.
            keys: other keys of the scene, and tables: gravity, inertia, include, plugins, package_dirs.
        """
        self._tables: dict[str, Any] = {"name": name, **_plain(keys)}
        self._folder = Path(folder)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> SceneBuilder:
        """Return a builder with the tables of a scene file; expressions and includes are kept as they are.

        Raises:
            SceneError: the file cannot be read, or is not TOML.
        """
        from pysim.scene.toml.source import read_source  # noqa: PLC0415, pydantic loads when used

        builder = cls(folder=Path(path).parent)
        builder._tables = {"name": Path(path).stem, **copy.deepcopy(read_source(Path(path)).values)}
        return builder

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{len(items)} {name}" for name, items in self._tables.items() if _is_list(items)
        )
        return f"<pysim.SceneBuilder {self._tables['name']!r}: {counts or 'empty'}>"

    @property
    def tables(self) -> dict[str, Any]:
        """A copy of the tables, in the order of a file."""
        from pysim.scene.toml.records.tables import Scene  # noqa: PLC0415, pydantic loads when used

        order = {name: k for k, name in enumerate(Scene.model_fields)}
        names = sorted(self._tables, key=lambda name: order.get(name, len(order)))
        return {name: copy.deepcopy(self._tables[name]) for name in names}

    def body(self, name: str, **keys: Any) -> str:  # noqa: ANN401, as a table
        """Add a rigid body, and return its name; keys as in `[[body]]`: mass, com, inertia, shape."""
        return self._add("body", {"name": name, **keys})

    def joint(self, name: str, type: str, *, child: str, parent: str = "world", **keys: Any) -> str:  # noqa: A002, ANN401
        """Add a joint that moves the body `child`, and return its name; keys as in `[[joint]]`: at, axis, damping."""
        return self._add("joint", _keyed(name, type, {"parent": parent, "child": child, **keys}))

    def rod(self, name: str, **keys: Any) -> str:  # noqa: ANN401, as a table
        """Add a chain of bars, and return its name; keys as in `[[rod]]`: length, section, material, bars."""
        return self._add("rod", {"name": name, **keys})

    def loop(self, name: str, type: str, a: str = "world", b: str = "world", **keys: Any) -> str:  # noqa: A002, ANN401
        """Close a loop between two bodies or frames, and return its name; keys as in `[[loop]]`."""
        return self._add("loop", _keyed(name, type, {"a": a, "b": b, **keys}))

    def coupling(self, name: str, joint: str, **keys: Any) -> str:  # noqa: ANN401, as a table
        """Couple the coordinate of a joint to others, and return the name; keys as in `[[coupling]]`: ratios."""
        return self._add("coupling", {"name": name, "joint": joint, **keys})

    def force(self, name: str, type: str, **keys: Any) -> str:  # noqa: A002, ANN401, as a table
        """Add a spring or the force of a plugin, and return its name; keys as in `[[force]]`."""
        return self._add("force", _keyed(name, type, keys))

    def frame(self, name: str, body: str, at: Mapping[str, Any] | None = None) -> str:
        """Add a named frame to a body, and return its name; `at` has xyz [m] and a rotation."""
        return self._add("frame", {"name": name, "body": body, **({"at": at} if at else {})})

    def keyframe(self, name: str, **keys: Any) -> str:  # noqa: ANN401, as a table
        """Add a named state, and return its name; keys as in `[keyframes.NAME]`: start, start_v."""
        self._tables.setdefault("keyframes", {})[name] = _plain(keys)
        return name

    def signal(self, name: str, type: str, **keys: Any) -> str:  # noqa: A002, ANN401, as a table
        """Add a source of a signal, and return its name; keys as in `[[signal]]`."""
        return self._add("signal", _keyed(name, type, keys))

    def sensor(self, name: str, type: str, **keys: Any) -> str:  # noqa: A002, ANN401, as a table
        """Add a sensor, and return its name; keys as in `[[sensor]]`."""
        return self._add("sensor", _keyed(name, type, keys))

    def controller(self, name: str, type: str, **keys: Any) -> str:  # noqa: A002, ANN401, as a table
        """Add a controller, and return its name; keys as in `[[controller]]`."""
        return self._add("controller", _keyed(name, type, keys))

    def actuator(self, name: str | None = None, **keys: Any) -> str:  # noqa: ANN401, as a table
        """Add an actuator, and return its name; keys as in `[[actuator]]`: joint, coordinates or path, type, command.

        Without any of the first three, it is that of the joint of this name.
        """
        acts = any(keys.get(key) is not None for key in ("joint", "coordinates", "path"))
        own = {} if name is None else {"name" if acts else "joint": name}
        return self._add("actuator", {**own, **keys})

    def event(self, name: str, **keys: Any) -> str:  # noqa: ANN401, as a table
        """Detect an event, and return its name; keys as in `[[event]]`."""
        return self._add("event", {"name": name, **keys})

    def model(self, file: str | PathLike[str], **keys: Any) -> None:  # noqa: ANN401, as a table
        """Attach the mechanism of another file; keys as in `[[model]]`: name, parent, at, count."""
        self._add("model", {"file": str(file), **keys})

    def material(self, name: str, **keys: Any) -> str:  # noqa: ANN401, as a table
        """Define a material of surfaces, and return its name; keys as in `[materials.NAME]`."""
        self._tables.setdefault("materials", {})[name] = _plain(keys)
        return name

    def ground(self, normal: Iterable[float] = (0, 0, 1), offset: float = 0.0, **keys: Any) -> None:  # noqa: ANN401
        """Add a plane of the world, normal · x = offset [m], that bodies touch; keys as in `[[ground]]`."""
        self._add("ground", {"plane": {"normal": list(normal), "offset": offset}, **keys})

    def contact(self, first: str, second: str, **keys: Any) -> None:  # noqa: ANN401, as a table
        """Change the contact of two links; keys as in `[[contact]]`."""
        self._add("contact", {"between": [first, second], **keys})

    def exclude(self, first: str, second: str) -> None:
        """Let two links not touch each other."""
        self._add("exclude", {"between": [first, second]})

    def parameters(self, **values: float | str) -> None:
        """Set numbers for expressions, as `parameters(length=0.5)` for "= 2 * length"."""
        self._set("parameters", values)

    def assembly(self, **keys: Any) -> None:  # noqa: ANN401, as a table
        """Set keys of `[assembly]`: the joints that keep their start, hold."""
        self._set("assembly", keys)

    def simulation(self, **keys: Any) -> None:  # noqa: ANN401, as a table
        """Set keys of `[simulation]`: duration, step, integrator."""
        self._set("simulation", keys)

    def output(self, **keys: Any) -> None:  # noqa: ANN401, as a table
        """Set keys of `[output]`: every [s]."""
        self._set("output", keys)

    def render(self, **keys: Any) -> None:  # noqa: ANN401, as a table
        """Set keys of `[render]`."""
        self._set("render", keys)

    def sweep(self, **keys: Any) -> None:  # noqa: ANN401, as a table
        """Set keys of `[sweep]`: the values or distributions of keys that `pysim sweep` varies."""
        self._set("sweep", keys)

    def environment(self, **keys: Any) -> None:  # noqa: ANN401, as a table
        """Set keys of `[environment]`: what a learner sees, does and is rewarded for."""
        self._set("environment", keys)

    def text(self) -> str:
        """Return the text of the scene file, without checks.

        Raises:
            SceneError: a value has no place in TOML.
        """
        return self._text(self.tables)

    def _text(self, tables: dict[str, Any]) -> str:
        from pysim.scene.toml.text import scene_text  # noqa: PLC0415, loads when first used

        try:
            return scene_text(tables)
        except TypeError as error:
            raise SceneError(
                f"scene {tables.get('name', 'scene')!r}",
                f"{error}; give a number, text, list or dict",
            ) from None

    def build(
        self,
        *,
        allow_code: bool = False,
        package_dirs: Iterable[str | PathLike[str]] = (),
    ) -> Scene:
        """Return the compiled scene, as `load_scene` does of a file.

        Raises:
            SceneError, ModelError: as in `load_scene`; places are the keys, without lines.
        """
        return compile_checked(self._spec(self._folder, self.tables, allow_code, package_dirs))

    def save(
        self,
        path: str | PathLike[str],
        *,
        overwrite: bool = False,
        allow_code: bool = False,
        package_dirs: Iterable[str | PathLike[str]] = (),
    ) -> Path:
        """Write the scene file after the checks of `load_scene`, and return its path.

        Names of meshes and other files become relative to the new file.

        Raises:
            SceneError: the file exists, or the scene is invalid.
            ModelError: bodies and joints do not form a tree.
        """
        target = Path(path)
        if target.exists() and not overwrite:
            raise SceneError(str(target), "exists; name another file, or pass overwrite=True")
        tables = _moved(self.tables, self._folder.resolve(), target.parent.resolve())
        self._spec(target.parent, tables, allow_code, package_dirs)
        target.write_text(self._text(tables), "utf-8")
        return target

    def _spec(
        self,
        folder: Path,
        tables: dict[str, Any],
        allow_code: bool,
        package_dirs: Iterable[str | PathLike[str]],
    ) -> SceneSpec:
        from pysim.scene.toml.reader import read_built  # noqa: PLC0415, pydantic loads when used

        text = self._text(tables)
        label = f"scene {tables.get('name', 'scene')!r}"
        return read_built(text, folder, label, allow_code=allow_code, package_dirs=package_dirs)

    def _add(self, array: str, table: dict[str, Any]) -> str:
        self._tables.setdefault(array, []).append(_plain(table))
        return str(table.get("name") or table.get("joint") or "")

    def _set(self, name: str, keys: Mapping[str, Any]) -> None:
        self._tables.setdefault(name, {}).update(_plain(keys))


def _keyed(name: str, kind: str, keys: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "type": kind, **keys}


def _is_list(value: object) -> bool:
    """Return whether a key holds tables, unlike gravity and file names."""
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _plain(value: Any) -> Any:  # noqa: ANN401, any TOML value
    """Return a value with arrays, tuples and paths as lists and texts, and without keys whose value is None."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, os.PathLike):
        return str(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _moved(value: Any, old: Path, new: Path, key: str = "") -> Any:  # noqa: ANN401
    """Return tables whose relative file names lead from the folder `new` where they led from `old`."""
    if isinstance(value, dict):
        return {name: _moved(inner, old, new, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_moved(item, old, new, key) for item in value]
    is_name = key in FILE_KEYS and isinstance(value, str) and "://" not in value
    if not is_name or old == new or Path(value).is_absolute():
        return value
    return Path(os.path.relpath(old / value, new)).as_posix()
