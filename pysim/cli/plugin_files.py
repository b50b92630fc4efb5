"""Files of a new plugin and of its test."""

from __future__ import annotations

import keyword
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pysim.cli.messages import print_line
from pysim.errors import PysimError

if TYPE_CHECKING:
    from collections.abc import Callable


class Template(NamedTuple):
    """Texts of a plugin and of its test, with {name} and {cls} to fill in."""

    plugin: str
    test: str
    command: str  # that shows the plugin
    example: str = "cross_wind"  # of a name
    keys: str = ""  # of its table in a scene


def check_type_name(
    command: str, kind: str, name: str, example: str, is_taken: Callable[[], bool]
) -> None:
    """Reject a name that a new type of a kind cannot have.

    Raises:
        PysimError: the name cannot be a module's, or is taken.
    """
    if not name.isidentifier() or keyword.iskeyword(name) or name != name.lower():
        problem = f"{name!r} is not a valid name for a {kind}; use small letters, digits and _, such as {example}"
        raise PysimError(command, problem)
    if is_taken():
        raise PysimError(command, f"{kind} type {name!r} exists; choose another name")


def write_files(name: str, template: Template) -> None:
    """Write NAME.py and test_NAME.py here, with {name} and {cls} filled in, and say how to run and show them.

    Raises:
        PysimError: a file of that name exists.
    """
    texts = {Path(f"{name}.py"): template.plugin, Path(f"test_{name}.py"): template.test}
    for path in texts:
        if path.exists():
            raise PysimError(str(path), "exists and is not overwritten; choose another name")
    cls = "".join(word.capitalize() for word in name.split("_"))
    for path, text in texts.items():
        path.write_text(text.format(name=name, cls=cls), "utf-8")
        print_line(f"  wrote       {path}")
    print_line(f"  try         python -m pytest test_{name}.py    (pip install pytest)")
    print_line(f"              {template.command.format(name=name)}")
