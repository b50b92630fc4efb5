"""The joint reference, generated from the registry: coordinates, velocities, keys and motion of every built-in type.

```{joint-types} tree
```

`loop` in place of `tree` lists the types that close loops only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes
from scene_reference import build_table
from sphinx.util.docutils import SphinxDirective

from pysim.joints import BUILTIN
from pysim.joints.loop_joints import LOOP_ONLY_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

    from pysim.joints import JointType

TYPES = {"tree": BUILTIN, "loop": LOOP_ONLY_TYPES}
COLUMNS = ("key", "type", "unit", "default", "meaning")


def with_units(names: tuple[str, ...], units: tuple[str, ...]) -> str:
    """Return names with their units."""
    pairs = zip(names, units, strict=True)
    return ", ".join(f"{name} [{unit}]" if unit != "1" else name for name, unit in pairs) or "none"


def keys(kind: JointType) -> Iterator[tuple[str, ...]]:
    """Yield the keys that only this type has."""
    for key in kind.keys:
        yield key.name, key.type, key.unit, key.default, key.doc


class JointTypes(SphinxDirective):
    """Insert a section for every joint type of one family."""

    required_arguments = 1
    has_content = False

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        return [section(kind) for kind in TYPES[self.arguments[0]].values()]


def section(kind: JointType) -> nodes.section:
    """Return the section of one joint type."""
    part = nodes.section(ids=[f"joint-{kind.name.replace('_', '-')}"], names=[kind.name])
    part += nodes.title("", "", nodes.literal("", kind.name))
    part += nodes.paragraph("", kind.doc)
    facts = [("motion", nodes.literal("", kind.motion))]
    if kind.q_names or kind.v_names:
        facts += [
            ("coordinates q", nodes.Text(with_units(kind.q_names, kind.q_units))),
            ("velocities v", nodes.Text(with_units(kind.v_names, kind.v_units))),
        ]
    part += nodes.field_list("", *(fact(name, value) for name, value in facts))
    if kind.keys:
        part += build_table(COLUMNS, keys(kind))
    return part


def fact(name: str, value: nodes.Node) -> nodes.field:
    """Return one line of a list of facts."""
    return nodes.field(
        "", nodes.field_name("", name), nodes.field_body("", nodes.paragraph("", "", value))
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("joint-types", JointTypes)
    return {"parallel_read_safe": True}
