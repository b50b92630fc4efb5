"""Notebooks as pages: their text as MyST, their code as blocks, without outputs; and a link to the file.

```{notebook} first_steps.ipynb
```
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from sphinx.application import Sphinx


class Notebook(SphinxDirective):
    """Insert the cells of a notebook; its first heading is left to the page."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the cells."""
        path = Path(self.env.doc2path(self.env.docname)).parent / self.arguments[0]
        self.env.note_dependency(str(path))
        found: list[nodes.Node] = []
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            text = "".join(cell["source"])
            if cell["cell_type"] == "code":
                found.append(nodes.literal_block(text, text, language="python"))
                continue
            lines = [line for line in text.splitlines() if not line.startswith("# ")]
            holder = nodes.container()
            self.state.nested_parse(StringList(lines, str(path)), 0, holder)
            found += holder.children
        return found


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("notebook", Notebook)
    return {"parallel_read_safe": True}
