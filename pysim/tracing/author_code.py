"""Calls of plugin authors' code, and the file, line and text that errors in it report."""

from __future__ import annotations

import inspect
import linecache
import sys
import traceback
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import JointError, PysimError

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = str(Path(__file__).resolve().parents[1])
RUN_TEXT = "__pysim_text__"  # attribute of a plugin file's module: the text that was run
NOT_THE_AUTHORS = (
    PACKAGE,
    str(Path(np.__file__).resolve().parent),
    "<frozen",
    "<__array_",
    "<string>",
)


def author_line() -> str:
    """Return `file:line` of the innermost line of author code, which is neither pysim's nor NumPy's."""
    file, line = innermost_line()
    return f"{file}:{line}"


def author_text() -> str:
    """Return the text of that line in backquotes, or "" if there is no source."""
    return quoted(*innermost_line())


def quoted(file: str, line: int) -> str:
    """Return a line of source in backquotes, or "" if there is none."""
    text = linecache.getline(file, line).strip()
    return f"`{text}`" if text else ""


def call(joint: object, method: str, *arguments: Any) -> Any:
    """Call a method that an author wrote.

    Raises:
        JointError: the method raises; the error names the author's line.
    """
    try:
        return getattr(joint, method)(*arguments)
    except PysimError:  # has its own place
        raise
    except Exception as error:
        owner = f"{type(joint).__qualname__}.{method}"
        raise author_error(error, getattr(joint, method), owner) from error


def owner(plugin: type[Any] | Callable[..., Any]) -> str:
    """Return the module and name of a plugin."""
    return f"{plugin.__module__}.{plugin.__qualname__}"


def shown_owner(plugin: type[Any] | Callable[..., Any]) -> str:
    """Return the module and name of a plugin; the file instead of the module if a scene names the file."""
    if hasattr(sys.modules.get(plugin.__module__), RUN_TEXT):
        return f"{source_file(plugin).name}: {plugin.__qualname__}"
    return owner(plugin)


def is_same(plugin: type[Any] | Callable[..., Any], other: type[Any] | Callable[..., Any]) -> bool:
    """Return whether two plugins are the same: of one name, defined in one file or in a file and its copy.

    One file may have two module names, as if a test imports a scene's plugin. A copy is a file of the same name and
    text in another folder, as when a scene's folder is copied.
    """
    if plugin.__qualname__ != other.__qualname__:
        return False
    files = (source_file(plugin), source_file(other))
    if files[0] == files[1]:
        return True
    texts = (_text(plugin), _text(other))
    return files[0].name == files[1].name and texts[0] is not None and texts[0] == texts[1]


def source_file(plugin: type[Any] | Callable[..., Any]) -> Path:
    """Return the file that defines a plugin, or its module's name if there is none."""
    file = getattr(sys.modules.get(plugin.__module__), "__file__", None) or plugin.__module__
    return Path(file).resolve()


def _text(plugin: type[Any] | Callable[..., Any]) -> bytes | None:
    """Return the text of a plugin's file: as it was run for a scene, else as it is on disk; None without a file."""
    file = source_file(plugin)
    run: bytes | None = getattr(sys.modules.get(plugin.__module__), RUN_TEXT, None)
    return file.read_bytes() if run is None and file.is_file() else run


def definition_place(plugin: type[Any] | Callable[..., Any]) -> str:
    """Return `file:line: Name` of a plugin, or its module and name if there is no source."""
    try:
        file, line = inspect.getsourcefile(plugin), inspect.getsourcelines(plugin)[1]
    except (OSError, TypeError):
        return owner(plugin)
    return f"{file}:{line}: {plugin.__qualname__}"


def author_error(error: Exception, function: Callable[..., Any], owner: str) -> JointError:
    """Return the JointError that reports an exception of the author's code."""
    where, text = place_of(error, function)
    problem = f"{type(error).__name__}: {error}{text and f', in {text}'}"
    return JointError(where, f"{problem}; fix {owner}")


def place_of(error: BaseException, method: Callable[..., Any]) -> tuple[str, str]:
    """Return `file:line` and text of the innermost author's line of a traceback, or those of the method."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not _is_foreign(frame.filename)
    ]
    if not frames:  # wrong arguments: the method did not start
        return defined_at(method), ""
    file, line = frames[-1].filename, frames[-1].lineno or 1
    return f"{file}:{line}", quoted(file, line)


def defined_at(method: Callable[..., Any]) -> str:
    """Return `file:line` of the beginning of a method."""
    function = getattr(method, "__func__", method)
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else repr(function)


def method_place(joint: object, method: str) -> str:
    """Return `file:line: Class.method`, the place of a fault in a method's result."""
    return f"{defined_at(getattr(joint, method))}: {type(joint).__qualname__}.{method}"


def breaking_line(joint: object, method: str, *arguments: Any) -> str:
    """Return "file:line, `text`, reason" of the first line that computes NaN or infinite values.

    The method's own place is returned if no line does.
    """
    function = getattr(joint, method)
    try:
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            function(*arguments)
    except (ArithmeticError, ValueError) as error:
        where, text = place_of(error, function)
        return ", ".join(part for part in (where, text, str(error)) if part)
    return defined_at(function)


def innermost_line() -> tuple[str, int]:
    """Return file and number of the innermost line of author code."""
    frame = sys._getframe(1)  # noqa: SLF001, the documented way to the stack
    while _is_foreign(frame.f_code.co_filename) and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


@cache
def _is_foreign(file: str) -> bool:
    return file.startswith(NOT_THE_AUTHORS) or str(Path(file).resolve()).startswith(NOT_THE_AUTHORS)
