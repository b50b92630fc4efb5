"""Expansion of robots written in xacro, the macro language of ROS, by the package `xacro`.

Expressions of xacro are Python, so that a file is expanded only with the user's consent.
"""

from __future__ import annotations

import contextlib
import io
import re
import threading
from typing import TYPE_CHECKING

from pysim.errors import SceneError
from pysim.scene.packages import package_folder
from pysim.scene.urdf.xml import parse_xml

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike
    from pathlib import Path

    from pysim.scene.urdf.xml import Element

_DEFINITIONS = ("xacro:macro", "xacro:property", "xacro:arg")
_SUBSTITUTED = re.compile(r"\$\{|\$\((?:arg|eval)\b")  # of an expression or an argument
_one_at_a_time = threading.Lock()  # xacro keeps its state in module variables


def is_xacro(robot: Element) -> bool:
    """Return whether elements of a robot depend on the expansion: more than macros and properties that nothing uses."""
    return any(
        child.tag.startswith("xacro:")
        or any(_SUBSTITUTED.search(text) for text in (*child.attributes.values(), child.content))
        or is_xacro(child)
        for child in robot.children
        if child.tag not in _DEFINITIONS
    )


def expand_xacro(
    path: Path, robot: Element, package_dirs: Iterable[str | PathLike[str]], *, allow_code: bool
) -> Element:
    """Return the root element of the expanded file.

    Raises:
        SceneError: the user does not allow code, the package is not installed, or it rejects the file.
    """
    if not allow_code:
        problem = (
            "is written in xacro, whose expressions are Python code; expand it with `xacro FILE > robot.urdf`, or "
            "allow it with --allow-code, or allow_code=True from Python"
        )
        robot.fail(problem)
    try:
        import xacro  # noqa: PLC0415, an extra
        from xacro import substitution_args  # noqa: PLC0415
    except ImportError:
        robot.fail("is written in xacro; install the package with `pip install xacro`")

    def find(name: str) -> str:
        return str(package_folder(name, path.parent, package_dirs))

    with _one_at_a_time, contextlib.redirect_stderr(io.StringIO()):
        before = substitution_args._eval_find  # noqa: SLF001, ROS is not needed to find packages
        substitution_args._eval_find = find  # noqa: SLF001
        try:
            text = xacro.process_file(str(path)).toprettyxml(indent="  ")
        except (Exception, SystemExit) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            problem = f"cannot be expanded by xacro: {reason}; fix the file"
            raise SceneError(str(path), problem) from error
        finally:
            substitution_args._eval_find = before  # noqa: SLF001
    return parse_xml(text.encode(), f"{path} (expanded)")
