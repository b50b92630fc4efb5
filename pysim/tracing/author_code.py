"""The author's code, called so that what it raises is told by the author's file, line and text."""

from __future__ import annotations

import inspect
import linecache
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import JointError, PysimError

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = str(Path(__file__).resolve().parents[1])
RUN_TEXT = "__pysim_text__"  # of the module of a scene's plugin: the text that was run
NOT_THE_AUTHORS = (
    PACKAGE,
    str(Path(np.__file__).resolve().parent),
    "<frozen",
    "<__array_",
    "<string>",
)


def author_line() -> str:
    """`file:line` of the innermost line that is neither pysim's nor NumPy's: the author's."""
    file, line = _innermost()
    return f"{file}:{line}"


def author_text() -> str:
    """Return that line itself, in backquotes, "" where there is no source."""
    return quoted(*_innermost())


def quoted(file: str, line: int) -> str:
    """A line of source in backquotes, "" where there is none."""
    text = linecache.getline(file, line).strip()
    return f"`{text}`" if text else ""


def call(joint: object, method: str, *arguments: Any) -> Any:
    """Call a method that an author wrote.

    Raises:
        JointError: whatever it raises, with the author's line.
    """
    try:
        return getattr(joint, method)(*arguments)
    except PysimError:  # knows its place
        raise
    except Exception as error:
        owner = f"{type(joint).__qualname__}.{method}"
        raise author_error(error, getattr(joint, method), owner) from error


def owner(plugin: type[Any] | Callable[..., Any]) -> str:
    """Where a plugin comes from: its module and name."""
    return f"{plugin.__module__}.{plugin.__qualname__}"


def is_same(plugin: type[Any] | Callable[..., Any], other: type[Any] | Callable[..., Any]) -> bool:
    """Whether two plugins are one: of one name, in one file, which a test may import too, or in a file and its copy.

    A copy is a file of the same name and text in another folder, as where a scene's folder is copied.
    """
    if plugin.__qualname__ != other.__qualname__:
        return False
    files = (source_file(plugin), source_file(other))
    if files[0] == files[1]:
        return True
    texts = (_text(plugin), _text(other))
    return files[0].name == files[1].name and texts[0] is not None and texts[0] == texts[1]


def source_file(plugin: type[Any] | Callable[..., Any]) -> Path:
    """The file that defines a plugin; its module's name where there is none."""
    file = getattr(sys.modules.get(plugin.__module__), "__file__", None) or plugin.__module__
    return Path(file).resolve()


def _text(plugin: type[Any] | Callable[..., Any]) -> bytes | None:
    """What a plugin's file says: what was run of a scene's, and what stands there of another; None of no file."""
    file = source_file(plugin)
    run: bytes | None = getattr(sys.modules.get(plugin.__module__), RUN_TEXT, None)
    return file.read_bytes() if run is None and file.is_file() else run


def definition_place(plugin: type[Any] | Callable[..., Any]) -> str:
    """`file:line: Name` of a plugin; its module and name where there is no source."""
    try:
        file, line = inspect.getsourcefile(plugin), inspect.getsourcelines(plugin)[1]
    except (OSError, TypeError):
        return owner(plugin)
    return f"{file}:{line}: {plugin.__qualname__}"


def author_error(error: Exception, function: Callable[..., Any], owner: str) -> JointError:
    """Return an error of the author's code in pysim's words."""
    where, text = place_of(error, function)
    problem = f"{type(error).__name__}: {error}{text and f', in {text}'}"
    return JointError(where, f"{problem}; fix {owner}")


def place_of(error: BaseException, method: Callable[..., Any]) -> tuple[str, str]:
    """`file:line` and text of the author's line that an error came through, else of the method."""
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
    """`file:line` where a method begins."""
    function = getattr(method, "__func__", method)
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else repr(function)


def method_place(joint: object, method: str) -> str:
    """`file:line: Class.method`, where a fault of what a method returns is told."""
    return f"{defined_at(getattr(joint, method))}: {type(joint).__qualname__}.{method}"


def breaking_line(joint: object, method: str, *arguments: Any) -> str:
    """Return "file:line, `text`, complaint" where plain arithmetic first leaves the finite numbers.

    The method's own place where it does not complain.
    """
    function = getattr(joint, method)
    try:
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            function(*arguments)
    except (ArithmeticError, ValueError) as error:
        where, text = place_of(error, function)
        return ", ".join(part for part in (where, text, str(error)) if part)
    return defined_at(function)


def _innermost() -> tuple[str, int]:
    frame = sys._getframe(1)  # noqa: SLF001, the documented way to the stack
    while _is_foreign(frame.f_code.co_filename) and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _is_foreign(file: str) -> bool:
    return file.startswith(NOT_THE_AUTHORS) or str(Path(file).resolve()).startswith(NOT_THE_AUTHORS)
