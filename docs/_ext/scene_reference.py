"""The scene reference, generated from the JSON Schema of the scene tables: key, type, unit, default, meaning.

```{scene-table} Body
```
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from pysim.scene import scene_schema
from pysim.scene.toml.records.schema import TEXT_NUMBER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sphinx.application import Sphinx

SHORT = {"number": "number", "integer": "integer", "string": "text", "boolean": "true or false"}
SCENE = "Scene"
CODE = re.compile(r"""("[^"]*"|\{[^}]*\}|--\w[\w-]*|\[[-\d][^]]*\]|\w+_\w+|package://\S+)""")


def tables() -> dict[str, dict[str, Any]]:
    """Return the schema of every table under its name; the scene itself is `Scene`."""
    schema = scene_schema()
    return {SCENE: schema, **schema["$defs"]}


def rows(name: str) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield key, type, unit, default and meaning of every key of a table."""
    table = tables()[name]
    without_plugin = table.get("then", {}).get(
        "properties", {}
    )  # types of keys that plugins may redefine
    for key, described in table["properties"].items():
        field = without_plugin.get(key, {}) | described
        if "description" not in field:
            continue
        if key in table.get("required", ()):
            default = "required"
        else:
            default = shown(field["default"]) if "default" in field else ""
        unit = field.get("unit", "")
        yield key, kind(field), unit, default, field["description"]


def shown(value: object) -> str:
    """Return a default as TOML writes it, nothing for an empty table or list."""
    return "" if value in ({}, [], None) else json.dumps(value)


def kind(field: dict[str, Any]) -> str:
    """Return the type of a key in words."""
    if "$ref" in field:
        return f"{field['$ref'].rpartition('/')[2]} table"
    if "enum" in field:
        return alternatives(json.dumps(value) for value in field["enum"])
    if "const" in field:
        return json.dumps(field["const"])
    for several in ("anyOf", "oneOf", "allOf"):
        if several in field:
            return alternatives(kind(one) for one in field[several] if one != TEXT_NUMBER)
    if field.get("type") == "array":
        return listed(field)
    if field.get("type") == "object":
        inner = field.get("additionalProperties")
        return f"by name: {kind(inner)}" if isinstance(inner, dict) else "table"
    names = field.get("type", "any value")
    names = [names] if isinstance(names, str) else names
    return alternatives(SHORT.get(name, name) for name in names)


def alternatives(kinds: Iterable[str]) -> str:
    """Join different types with commas and "or"; null is omitted."""
    *first, last = [one for one in dict.fromkeys(kinds) if one != "null"]
    return f"{', '.join(first)} or {last}" if first else last


def listed(field: dict[str, Any]) -> str:
    """Return the type of a list in words."""
    count = field.get("minItems") if field.get("minItems") == field.get("maxItems") else None
    if "items" not in field:
        return "list" if count is None else f"list of {count}"
    inner = kind(field["items"])
    several = f"{inner}s" if inner in SHORT.values() or inner.endswith("table") else inner
    return f"list of {several}" if count is None else f"list of {count} {several}"


class SceneTable(SphinxDirective):
    """Insert the reference of one table."""

    required_arguments = 1
    has_content = False
    columns: ClassVar = ("key", "type", "unit", "default", "meaning")

    def run(self) -> list[nodes.Node]:
        """Return the table's description and its keys."""
        name = self.arguments[0]
        paragraph = nodes.paragraph("", tables()[name].get("description", "").partition("\n")[0])
        return [paragraph, build_table(self.columns, rows(name))]


def build_table(columns: tuple[str, ...], lines: Iterator[tuple[str, ...]]) -> nodes.table:
    """Return a table whose first column is code."""
    group = nodes.tgroup(cols=len(columns))
    group += [nodes.colspec(colwidth=1) for _ in columns]
    body = nodes.tbody()
    body += [row([[nodes.literal("", line[0])], *map(marked, line[1:])]) for line in lines]
    group += [nodes.thead("", row([[nodes.Text(column)] for column in columns])), body]
    return nodes.table("", group, classes=["reference-table"])


def marked(text: str) -> list[nodes.Node]:
    """Return a text in which quoted values, tables in braces, dotted names and options are code."""
    pieces = CODE.split(text)
    return [nodes.literal("", p) if i % 2 else nodes.Text(p) for i, p in enumerate(pieces) if p]


def row(cells: list[list[nodes.Node]]) -> nodes.row:
    """Return one row of a table."""
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", *cell)) for cell in cells))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("scene-table", SceneTable)
    return {"parallel_read_safe": True}
