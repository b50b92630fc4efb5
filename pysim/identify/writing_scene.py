"""Writing of changed numbers into a scene file; tomlkit preserves comments, order and layout.

Bodies and joints of a [[model]]'s file change in that table, under `body` and `joint`: the robot's file stays as it is.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pysim.errors import IdentificationError
from pysim.inertia import center_of_mass, central_inertia
from pysim.scene.inertia_text import ENTRIES, rounded
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.identify.file_changes import Changes
    from pysim.scene.spec import ModelSpec


def changed_scene(text: str, changes: Changes, spec: ModelSpec) -> str:
    """Return the scene's text with the changes in it."""
    import tomlkit  # noqa: PLC0415, loads where a scene is written

    document: Any = tomlkit.parse(text)
    for name, theta in changes.links.items():
        own = _named(document.get("body", []), name)
        if own is not None:
            _weigh(own, theta)
            for shape in _listed(own.get("shape", [])):
                shape.pop("density", None)
        else:
            where = next(body.where for body in spec.bodies if body.name == name)
            _weigh(_inside(document, "body", name, where), theta)
    for name, keys in changes.joints.items():
        where = next(joint.where for joint in spec.joints if joint.name == name)
        table = _named(document.get("joint", []), name)
        table = _inside(document, "joint", name, where) if table is None else table
        for key, values in keys.items():
            numbers = [rounded(value) for value in values]
            table[key] = numbers[0] if len(numbers) == 1 else numbers
    return tomlkit.dumps(document)


def _weigh(table: Any, theta: Array | None) -> None:  # noqa: ANN401, tomlkit's tables
    """Write mass, com and inertia; a body that gave its mass up has none."""
    import tomlkit  # noqa: PLC0415

    for key in ("mass", "com", "inertia"):
        table.pop(key, None)
    table["mass"] = 0.0 if theta is None else rounded(theta[0])
    if theta is None:
        return
    table["com"] = [rounded(value) for value in center_of_mass(theta)]
    inertia, I_C = tomlkit.inline_table(), central_inertia(theta)
    inertia.update({name: rounded(I_C[at]) for name, at in ENTRIES.items()})
    table["inertia"] = inertia


def _inside(document: Any, kind: str, name: str, where: str) -> Any:  # noqa: ANN401
    """Return the table of a body or joint inside the [[model]] that it comes from; create it if it is missing."""
    import tomlkit  # noqa: PLC0415

    models = _listed(document.get("model", []))
    prefixed = [m for m in models if m.get("name") and name.startswith(f"{m['name']}/")]
    plain = [m for m in models if not m.get("name")]
    same_file = [m for m in plain if Path(str(m["file"])).name in where]
    if not (prefixed or plain):
        problem = f"{kind} {name!r} is defined in another file or in a copy of one, which is not rewritten"
        raise IdentificationError(where, f"{problem}; identify a scene that defines it itself")
    model = (prefixed or same_file or plain)[0]
    key = name.removeprefix(f"{model['name']}/") if model.get("name") else name
    tables = model.setdefault(kind, tomlkit.table())
    if key not in tables:
        tables[key] = tomlkit.inline_table()
    return tables[key]


def _named(tables: Any, name: str) -> Any:  # noqa: ANN401
    return next((table for table in _listed(tables) if table.get("name") == name), None)


def _listed(value: Any) -> list[Any]:  # noqa: ANN401
    return list(value) if isinstance(value, list) else [value]
