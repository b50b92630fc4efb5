"""Units, labels and bounds of the numbers in which worlds may differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.elements.block import find_block
from pysim.elements.force import find_force
from pysim.plugins.bounds import bounded_fields

if TYPE_CHECKING:
    from pysim.typing import Array
    from pysim.worlds.loading import Scene
    from pysim.worlds.parameters.parameter import Parameter

_ENDS = {
    "gravity": ("x", "y", "z"),
    "com": ("x", "y", "z"),
    "inertia": ("xx", "yy", "zz", "xy", "yz", "xz"),
    "EI": ("y", "z"),
}


def unit_of(scene: Scene, parameter: Parameter) -> str:
    """Return the unit of a parameter's numbers; empty for none, or if its key has none."""
    from pysim.scene.toml.records import contact_tables, tables  # noqa: PLC0415, pydantic takes long to import

    kind, key = parameter.kind, parameter.name.rpartition(".")[2]
    if kind == "gravity":
        return "m/s²"
    if kind == "body":
        return dict(tables.Body.units())[key]
    if kind == "rod":
        return {"EI": "N·m²", "GJ": "N·m²", "damping": "s", "length": "m"}[parameter.field]
    if kind == "joint":
        paths = {field: path for path, field, _ in tables.Passive.number_keys()}
        unit = dict(tables.Passive.units())[paths[parameter.field]]
        return _unit_of_joint(scene, parameter.part, unit)
    if kind in ("materials", "contact"):
        known = dict(contact_tables.Surface.units())
        return next((known[path] for path in known if parameter.name.endswith(f".{path}")), "")
    return ""


def _unit_of_joint(scene: Scene, joint: int, unit: str) -> str:
    """Return the unit, of "linear or angular" ones, of a joint's numbers; empty if it has coordinates of both kinds."""
    linear, _, angular = unit.partition(" or ")
    sizes = [len(own.start_v) for own in scene.model.joints]
    first = sum(sizes[:joint])
    rates = set(scene.model.velocity_units[first : first + sizes[joint]])
    if not angular or len(rates) != 1:
        return "" if angular else linear
    return angular if "rad" in rates.pop() else linear


def labels_of(parameter: Parameter) -> tuple[str, ...]:
    """Return the ends of the names of a parameter's numbers; none for one number."""
    if not parameter.is_list:
        return ()
    size = len(parameter.start)
    ends = _ENDS.get(parameter.field, ())
    return (
        tuple(f".{end}" for end in ends)
        if len(ends) == size
        else tuple(f"[{k}]" for k in range(size))
    )


def bounds_of(scene: Scene, parameter: Parameter) -> tuple[Array, Array]:
    """Return the bounds (size,) of what a parameter may be."""
    low, high = parameter.bounds
    if parameter.kind != "element":
        return low, high
    kind, name = parameter.part
    plugin: type
    if kind == "force":
        plugin = next(find_force(own.type) for own in scene.spec.model.forces if own.name == name)
    else:
        plugin = next(
            find_block(kind, own.type)
            for own in scene.spec.blocks
            if (own.kind, own.name) == (kind, name)
        )
    if parameter.field in bounded_fields(plugin, "positive"):
        low = np.maximum(low, np.nextafter(0, 1))
    elif parameter.field in bounded_fields(plugin, "not_negative"):
        low = np.maximum(low, 0.0)
    return low, high
