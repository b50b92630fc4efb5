"""`pysim format`: lays out scene files uniformly, in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.cli.messages import print_line
from pysim.errors import PysimError
from pysim.scene.toml.formatter import format_toml

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def format_files(files: Sequence[Path], *, check: bool) -> int:
    """Lay out files, and return 1 if `check` is true and one would change."""
    if not files:
        raise PysimError("format", "needs a file; name one, as in pysim format scene.toml")
    changed = 0
    for file in files:
        try:
            text = file.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise PysimError(str(file), "is not UTF-8 text; save it as UTF-8") from None
        formatted = format_toml(str(file), text)
        if formatted == text:
            continue
        changed += 1
        print_line(f"  {'would change' if check else 'formatted'}  {file}")
        if not check:
            file.write_bytes(formatted.encode())
    if not changed:
        print_line("  nothing to change")
    return int(check and changed > 0)
