"""The element reference, generated from the registries: equation, source and keys of every type of a kind.

```{element-types} force
```

A kind is `force`, `actuator`, `controller`, `sensor` or `signal`. Equations and sources are those of the docstrings.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from docstring_markup import blocks, is_example
from docutils import nodes
from scene_reference import build_table
from sphinx.util.docutils import SphinxDirective

import pysim.trajectory.source  # noqa: F401, registers its type
from pysim.elements.block import KINDS
from pysim.elements.force import FORCES, method_of
from pysim.elements.library import load_library
from pysim.joints.documentation import comments_of
from pysim.plugins.fields import field_type, fields_of, spelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

load_library()
COLUMNS = ("key", "type", "unit", "default", "meaning")
ACTS = {"frames": "between frames", "path": "along a path", "coordinates": "on coordinates"}


class ElementTypes(SphinxDirective):
    """Insert a section for every type of one kind."""

    required_arguments = 1
    has_content = False

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        kind = self.arguments[0]
        registered = (FORCES if kind == "force" else KINDS[kind]).registered
        own = {name: cls for name, cls in registered.items() if cls.__module__.startswith("pysim.")}
        return [section(kind, name, own[name]) for name in sorted(own)]


def section(kind: str, name: str, plugin: type[Any]) -> nodes.section:
    """Return the section of one type."""
    label = f"{kind}-{name.replace('_', '-')}"
    part = nodes.section(ids=[label], names=[label])
    part += nodes.title("", "", nodes.literal("", name))
    lines = textwrap.dedent(plugin.__doc__ or "")
    first, _, rest = lines.strip().partition("\n")
    part += described([first, *textwrap.dedent(rest).splitlines()])
    facts = list(channels(plugin))
    if kind == "force":
        facts.insert(0, f"acts {ACTS[method_of(plugin).acts]}")
    if facts:
        part += nodes.paragraph("", f"{'; '.join(facts)[0].upper()}{'; '.join(facts)[1:]}.")
    rows = list(keys(plugin))
    if rows:
        part += build_table(COLUMNS, iter(rows))
    return part


def described(lines: list[str]) -> Iterator[nodes.Node]:
    """Yield paragraphs, and formulas that are indented, of a docstring."""
    for block in blocks(lines):
        if block == [""]:
            continue
        if is_example(block):
            yield nodes.literal_block("", textwrap.dedent("\n".join(block)))
        else:
            pieces = " ".join(block).split("`")
            code = (
                nodes.literal("", p) if i % 2 else nodes.Text(p) for i, p in enumerate(pieces) if p
            )
            yield nodes.paragraph("", "", *code)


def channels(plugin: type[Any]) -> Iterator[str]:
    """Yield the inputs, outputs and states of a type."""
    for word in ("inputs", "outputs", "states", "memory"):
        own = getattr(plugin, word, ())
        if own:
            names = (f"{c.name} [{c.unit}]" if c.unit not in {"", "1"} else c.name for c in own)
            yield f"{word} {', '.join(names)}"


def keys(plugin: type[Any]) -> Iterator[tuple[str, ...]]:
    """Yield the keys of a type."""
    comments = comments_of(plugin)
    for key, field in fields_of(plugin).items():
        unit, doc = comments.get(key, ("", ""))
        required = field.default is field.default_factory  # both missing
        default = "required" if required else repr(field.default)
        kind = spelled(field_type(plugin, field))
        yield key, kind, unit, default, doc.removeprefix(",").strip()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("element-types", ElementTypes)
    return {"parallel_read_safe": True}
